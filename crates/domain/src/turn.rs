//! The turn: its open state as stored, and the record of its end.
//!
//! An open turn holds the id of the one effect or due entry it waits for, never a flag of its own;
//! what was said stands in the log.

use crate::attempt::TokenUsage;
use crate::authority::AuthorityClass;
use crate::effect::EffectId;
use crate::id::{MessageId, RunId, TaskId, WorkItemId};
use crate::message::MessageKind;
use crate::model::ModelRef;
use crate::provider::ReasoningEffort;
use crate::queue::MessageSeq;
use crate::send::SendId;
use crate::time::Timestamp;
use crate::timer::DueId;
use crate::workspace::WorkspaceEntry;
use serde::{Deserialize, Serialize};

/// Position in an agent's log; dense, first is 1.
pub type LogSeq = u64;

/// What an open turn waits for. Data lives in the variant where it is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// A model's answer.
    CallingModel {
        /// The effect that asks for it.
        effect: EffectId,
    },
    /// The end of a pause before the next try.
    BackingOff {
        /// The entry in the due-queue.
        due: DueId,
        /// When it is over.
        until: Timestamp,
        /// What the pause is for.
        #[serde(default, skip_serializing_if = "crate::skip::is_default")]
        cause: PauseCause,
    },
    /// Better conditions: no model of the chain could answer, and nobody waits on the line for the turn's end.
    Suspended {
        /// Why no model could answer.
        reason: SuspensionReason,
        /// The model that failed for this reason.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model_ref: String,
        /// What is known of its failure, shortened.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        error: String,
        /// The pause after which the models are asked again. Absent when only an operator's message, a start or a
        /// change of the model ends the suspension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<SuspensionPause>,
    },
    /// A tool's result. The calls stand in the log entry of their round.
    RunningTool {
        /// The log entry of the round.
        round_entry: LogSeq,
        /// Which of its calls runs, from 0.
        call_index: usize,
        /// The effect that runs it.
        effect: EffectId,
    },
    /// Another agent's verdict on what a call sends it. Comes in the same commit, unless that had no room for it.
    Sending {
        /// The log entry of the round.
        round_entry: LogSeq,
        /// Which of its calls sends, from 0.
        call_index: usize,
        /// The send whose verdict is expected.
        send: SendId,
    },
}

/// The place of a call: the round that made it, and its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPlace {
    /// The log entry of the round.
    pub round_entry: LogSeq,
    /// Position in the round, from 0.
    pub call_index: usize,
}

impl Phase {
    /// The call that is under way, if one is.
    #[must_use]
    pub const fn call(&self) -> Option<CallPlace> {
        match self {
            Self::RunningTool {
                round_entry,
                call_index,
                ..
            }
            | Self::Sending {
                round_entry,
                call_index,
                ..
            } => Some(CallPlace {
                round_entry: *round_entry,
                call_index: *call_index,
            }),
            Self::CallingModel { .. } | Self::BackingOff { .. } | Self::Suspended { .. } => None,
        }
    }

    /// The entry of the due-queue that ends this phase, if one does.
    #[must_use]
    pub fn due(&self) -> Option<DueId> {
        match self {
            Self::BackingOff { due, .. } => Some(*due),
            Self::Suspended { pause, .. } => pause.map(|pause| pause.due),
            Self::CallingModel { .. } | Self::RunningTool { .. } | Self::Sending { .. } => None,
        }
    }
}

/// The pause of a suspended turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspensionPause {
    /// The entry in the due-queue.
    pub due: DueId,
    /// When it is over.
    pub until: Timestamp,
    /// How long it lasts.
    pub length_ms: u64,
    /// Whether it lasts until a renewal that the provider named.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub renewal: bool,
}

/// Why a turn is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionReason {
    /// A provider had trouble that may pass: no connection, no answer in time, overload, an answer it garbled.
    ProviderTrouble,
    /// This machine has no network.
    Network,
    /// An allowance is used up.
    Quota,
    /// A credential is missing or refused.
    Auth,
    /// No model is chosen, or no provider knows the one that is.
    ModelUnavailable,
}

impl SuspensionReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [
        Self::ProviderTrouble,
        Self::Network,
        Self::Quota,
        Self::Auth,
        Self::ModelUnavailable,
    ];

    /// The stored spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProviderTrouble => "provider_trouble",
            Self::Network => "network",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::ModelUnavailable => "model_unavailable",
        }
    }
}

/// Whether a model has said anything in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speech {
    /// Not a word so far.
    #[default]
    Silent,
    /// It ended the turn without a word and was asked again.
    AskedAgain,
    /// It has said something.
    Spoken,
}

/// How long the round in hand has been waited for, and what the operator was told about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Patience {
    /// When its first try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Length of the suspensions without a named end that ran to their end, as planned and not by the clock: a machine
    /// that sleeps loses no patience, and neither does an agent whose operator keeps writing.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub waited_ms: u64,
    /// The same for suspensions until a renewal that the provider named.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub renewal_waited_ms: u64,
    /// When the last try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// Why the operator was told that only they can end the suspension. Reset when they have mended something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_requested: Option<SuspensionReason>,
}

/// Why a turn pauses before it asks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// The provider had trouble.
    #[default]
    Retry,
    /// This machine reaches no provider.
    Network,
    /// The allowance is used up until then.
    Quota,
}

impl PauseCause {
    /// The stored spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Network => "network",
            Self::Quota => "quota",
        }
    }
}

/// An operator message the turn owes an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedOutcome {
    /// Its position.
    pub seq: MessageSeq,
    /// Its id.
    pub id: MessageId,
}

/// How often the turn was resumed after an unclean exit without a new log entry since, by what each resumption found.
/// What the counts lead to is decided in `core::resumption` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResumeMark {
    /// Resumptions that found nothing of what the turn had begun.
    pub count: u32,
    /// Resumptions that found a command of the call in hand running.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub alive: u32,
    /// Resumptions in a row that found the commands of the call over, although the call has no result.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub ended: u32,
    /// The log's end at the last resumption.
    pub log_end: LogSeq,
}

/// The one open turn of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// Its run.
    pub run_id: RunId,
    /// Counted from 1.
    pub turn_index: u64,
    /// The message it answers.
    pub message_seq: MessageSeq,
    /// Its id.
    pub message_id: MessageId,
    /// Its kind.
    pub message_kind: MessageKind,
    /// The task that message belongs to. Absent when it belongs to none, and in turns of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The authority everything the turn makes is capped by.
    pub authority: AuthorityClass,
    /// When it began.
    pub started_at: Timestamp,
    /// The model the turn asks. Absent when none was chosen: then its rounds fail with the next step to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// The model it asked first, once it has had to turn to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<ModelRef>,
    /// Whom it turns to when that one fails, in order; settled when it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelRef>,
    /// How hard its model should think, when somebody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Whether somebody sits and waits for its end, so that it fails rather than pause for long.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub attended: bool,
    /// Where its calls run: what was the agent's workspace when it began.
    pub workspace: WorkspaceEntry,
    /// Operator messages its end settles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owes: Vec<OwedOutcome>,
    /// Its first log entry.
    pub first_entry: LogSeq,
    /// Model rounds answered so far.
    pub rounds: u32,
    /// The most it may take.
    pub max_rounds: u32,
    /// Answers cut off by the output limit, in a row.
    #[serde(default)]
    pub output_limit_hits: u32,
    /// Follow-ups it queued.
    #[serde(default)]
    pub followups: u32,
    /// What it cost so far.
    pub usage: TokenUsage,
    /// How many failed attempts of the round in hand are on record, each a row of its own.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub failed_attempts: u32,
    /// How many of its tries the current model has used up in the round in hand.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub tries: u32,
    /// How long the round in hand has waited for a network, as planned and not by the clock: a machine that sleeps
    /// loses no patience.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub offline_ms: u64,
    /// How often the round in hand was parked for a new allowance.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub parks: u32,
    /// How long the round in hand has been waited for.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub patience: Patience,
    /// A request was refused while messages had joined it, so no more messages join this turn: each gets its own.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub closed_to_joining: bool,
    /// Whether the model has said anything in this turn.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub speech: Speech,
    /// Resumptions.
    #[serde(default)]
    pub resume: ResumeMark,
    /// The work item this turn is about: the current one when the turn began, or the one its message names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The item that a tick was for, whatever the turn was about later. A turn without progress counts against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticked_item: Option<WorkItemId>,
    /// Whether the turn changed a fact about the work: an item, its plan, its waits or tasks, or a file by a patch.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub progress: bool,
    /// Items that calls of the round in hand have completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<Completion>,
    /// The round whose text was promoted to a completion report, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<LogSeq>,
    /// What it waits for.
    #[serde(flatten)]
    pub phase: Phase,
}

/// An item that a call has completed, until its round is over and its report can be promoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub work_item_id: WorkItemId,
    /// Whether the item had the focus.
    pub focused: bool,
}

impl OpenTurn {
    /// The model it asked first.
    #[must_use]
    pub fn requested(&self) -> Option<&ModelRef> {
        self.requested_model.as_ref().or(self.model.as_ref())
    }

    /// The model the turn asks, as events and records spell it.
    #[must_use]
    pub fn model_ref(&self) -> String {
        ModelRef::spell(self.model.as_ref())
    }
}

/// The two ways a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalKind {
    /// The provider and tool loop drained.
    Completed,
    /// A failure or an abort ended it.
    Aborted,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The model had nothing more to call.
    Finished,
    /// The model asked to rest.
    Slept,
    /// The round bound of its message was reached.
    MaxRounds,
    /// The provider failed.
    ProviderFailed,
    /// The prompt does not fit the model.
    ContextLengthExceeded,
    /// The model kept hitting its output limit.
    OutputLimit,
    /// It was resumed too often without progress.
    Poisoned,
    /// An operator stopped it.
    OperatorAborted,
    /// The agent was stopped.
    AgentStopped,
    /// The runtime broke one of its own rules and gave up the turn.
    RuntimeFault,
}

/// The record of a turn's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalRecord {
    /// Which turn.
    pub turn_index: u64,
    /// How it ended.
    pub kind: TerminalKind,
    /// Why.
    pub reason: TerminalReason,
    /// When.
    pub completed_at: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// The log entry of the last assistant round, whose words are the terminal message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_round_entry: Option<LogSeq>,
    /// What it cost.
    pub usage: TokenUsage,
    /// Rounds it took.
    pub rounds: u32,
}
