//! The turn: its open state as stored, and the record of its end.
//!
//! An open turn holds the id of the one effect or due entry it waits for; it has no flag for that. Texts are in the
//! log.

mod form;
mod phase;
mod terminal;

pub use form::{RefusedRequest, RequestForm, ShownContent};
pub use phase::{CallPlace, Patience, PauseCause, Phase, SuspensionPause, SuspensionReason};
pub use terminal::{TerminalKind, TerminalReason, TerminalRecord};

use crate::attempt::TokenUsage;
use crate::authority::AuthorityClass;
use crate::brief::BriefAttachment;
use crate::budget::CallTerms;
use crate::id::{DeliverySummaryId, MessageId, RunId, TaskId, WaitId, WorkItemId};
use crate::limits;
use crate::memory::TurnEvidence;
use crate::message::MessageKind;
use crate::model::{ModelPrice, ModelRef};
use crate::operator_transport::ReplyRoute;
use crate::provider::ReasoningEffort;
use crate::queue::{MessageSeq, QueueEntry};
use crate::time::Timestamp;
use crate::timer::LateTick;
use crate::usage::{CallEstimate, Spending};
use crate::wait::WaitNote;
use crate::workspace::WorkspaceEntry;
use serde::{Deserialize, Serialize};

/// Position in an agent's log. Dense, the first is 1.
pub type LogSeq = u64;

/// Tells whether a model has written text in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speech {
    /// No text so far.
    #[default]
    Silent,
    /// The model ended the turn without text and was asked again.
    AskedAgain,
    /// The model has written text.
    Spoken,
}

/// An operator message for which the turn still has to produce an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedOutcome {
    pub seq: MessageSeq,
    pub id: MessageId,
}

/// Counts of the restarts after an unclean exit that found no new log entry, by the state in which each found the turn.
/// `core::restart_policy` alone decides what follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResumeMark {
    /// Restarts that found nothing of what the turn had begun.
    pub count: u32,
    /// Restarts that found a command of the current call running.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub alive: u32,
    /// Restarts in a row that found the commands of the call ended although the call has no result.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub ended: u32,
    /// Last position of the log at the last restart.
    pub log_end: LogSeq,
}

/// Bound on the prompts of a turn after one was refused for its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCeiling {
    /// Most estimated tokens of a prompt. Answers raise it again, up to `most`.
    pub tokens: u64,
    /// Bound that follows from the refusals alone; 0 in turns of earlier builds, which raise nothing.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub most: u64,
    /// Round whose request was refused, counted from 1. A second refusal of the same round ends the turn.
    pub round: u32,
    /// Estimated tokens of the smallest request that was refused; 0 in turns of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub refused: u64,
    /// Output tokens that the request refused last allowed; 0 in turns of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub refused_answer: u32,
    /// True if that refusal was about the request and its answer together.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub counts_answer: bool,
}

impl PromptCeiling {
    /// Raises the bound to a quarter above a request that was answered.
    pub fn raise(&mut self, answered_tokens: u64) {
        let tried = answered_tokens.saturating_add(answered_tokens / 4);
        self.tokens = self.tokens.max(tried.min(self.most));
    }
}

/// A queued message that may not join the open turn and gets one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApartMessage {
    pub seq: MessageSeq,
    /// True if it is an operator's, for which a turn otherwise goes on.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub operator: bool,
}

/// Open turn of an agent. An agent has at most one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "stored facts that are independent of each other"
)]
pub struct OpenTurn {
    pub run_id: RunId,
    /// Number of the turn, counted from 1 over the life of the agent.
    pub turn_index: u64,
    /// Message that the turn answers.
    pub message_seq: MessageSeq,
    pub message_id: MessageId,
    pub message_kind: MessageKind,
    /// Task that the message belongs to. Absent if it belongs to none, and in turns of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Upper bound for the authority of everything that the turn creates.
    pub authority: AuthorityClass,
    pub started_at: Timestamp,
    /// Model that the turn asks. Absent if none was chosen: then its rounds fail with the next step to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Model that the turn asked first. Absent unless it has fallen back to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<ModelRef>,
    /// Models that have not been asked yet in this pass of the chain, in their order. A fallback takes the first one; a
    /// new pass starts with the whole chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelRef>,
    /// Absent if the provider's default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Most tokens that the model may think in one answer, by the agent's own choice; 0 turns thinking off. Absent if
    /// the setting of the model applies, and in turns of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// True if a caller waits for the turn's end. Then the turn fails instead of pausing for long.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub attended: bool,
    /// The agent's workspace when the turn began. Its calls run there.
    pub workspace: WorkspaceEntry,
    /// Operator messages that get their outcome at the end of the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owes: Vec<OwedOutcome>,
    /// Position of the turn's first log entry.
    pub first_entry: LogSeq,
    /// Answered model rounds so far.
    pub rounds: u32,
    /// Most model rounds that the turn may take.
    pub max_rounds: u32,
    /// Answers in a row that were cut off by the output limit.
    #[serde(default)]
    pub output_limit_hits: u32,
    /// The last round, if all of its calls were invalid. Absent after any other round, and in turns of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_round: Option<InvalidRound>,
    /// True if a call of the current round failed or looked something up, so that the model reads its result before it
    /// rests. Turns of earlier builds rest with their only call.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub unread_results: bool,
    /// Follow-ups that the turn has queued.
    #[serde(default)]
    pub followups: u32,
    /// Tokens used so far.
    pub usage: TokenUsage,
    /// Largest prompt that the turn still sends. Absent until a request was refused for its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_ceiling: Option<PromptCeiling>,
    /// Refusals of the current round's request as invalid, and the form of the next one. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedRequest>,
    /// Estimated tokens of the last request that the turn's model answered; 0 before its first answer, and in turns of
    /// earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub answered_tokens: u64,
    /// Everything that the turn was charged for.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub spending: Spending,
    /// Estimate of the model call that the turn has open. Absent while none is open, and in turns of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallEstimate>,
    /// Price of that call as it stood when the call was opened. Absent if it was not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_price: Option<ModelPrice>,
    /// Terms of that call.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub call_terms: CallTerms,
    /// Measured estimate of the request that the turn asks next. Absent unless a budget wanted to know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<CallEstimate>,
    /// Stored failed attempts of the current round, each a row of its own.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub failed_attempts: u32,
    /// Attempts that the current model has used up in the current round.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub tries: u32,
    /// Milliseconds that the current round has waited for a network. Planned lengths count, not the clock, so a machine
    /// that sleeps does not use up the patience.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub offline_ms: u64,
    /// Times that the current round was parked for a new allowance.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub parks: u32,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub patience: Patience,
    /// Queued messages that do not join this turn: a request with them was refused, or they are too long. At most
    /// `limits::APART_MESSAGES`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<ApartMessage>,
    /// True if no message joins this turn any more, because more were set apart than are listed. Turns of earlier builds
    /// set it with the first refusal.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub closed_to_joining: bool,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub speech: Speech,
    /// Beginning of the last text that a model wrote in the turn, at most `limits::EVENT_PREVIEW_BYTES`. Kept here
    /// because the turn may end when the round is no longer at hand. Absent before the first text, and in turns of
    /// earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// True if the operator's message was shortened to fit the window of the model, so that the outcome says so.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub input_shortened: bool,
    /// Files that notifications of the turn named. The brief of the turn names them too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<BriefAttachment>,
    #[serde(default)]
    pub resume: ResumeMark,
    /// Work item that the turn is about: the one that its message names, or else the first one that a call of the turn
    /// names. A pick changes it. Turns of earlier builds have the current item here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Item that the turn's tick was for, or else the current one when the turn began. It stays the same if the turn
    /// switches to another item. A turn of the agent's own without progress counts against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticked_item: Option<WorkItemId>,
    /// True if the turn changed something about `ticked_item`: the item, its plan, its waits or tasks, or a file by a
    /// patch while the turn was bound to the item.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub progress: bool,
    /// The same about `work_item_id`. Cleared when the turn is bound to another item.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub bound_progress: bool,
    /// What the message that began the turn did to waits, for the model. Empty in turns of earlier builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitNote>,
    /// Waits that messages of the turn have interrupted and that no call of the turn has decided about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupted_waits: Vec<WaitId>,
    /// Items that calls of the current round have completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<Completion>,
    /// Last round whose text became a completion report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<LogSeq>,
    /// Delivery summary with that report. Absent in turns of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_summary_id: Option<DeliverySummaryId>,
    /// Files and commands of the turn's calls, from which memory is derived when it ends.
    #[serde(default, skip_serializing_if = "TurnEvidence::is_empty")]
    pub evidence: TurnEvidence,
    /// Set if a tick of a timer began the turn late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_tick: Option<LateTick>,
    /// Notifications that the turn has sent.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub notifications: u32,
    /// Route of the operator transport that brought the turn's message. Absent for every other message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_route: Option<ReplyRoute>,
    /// Caller-supplied id of the turn's message; copied unchanged into deliveries. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(flatten)]
    pub phase: Phase,
}

/// A round whose calls were all invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidRound {
    /// SHA-256 of the names and arguments of the calls, in hex.
    pub calls: String,
    /// Rounds in a row with these calls, this one included.
    pub count: u32,
}

/// An item that a call has completed. Kept until the round is over and its text can become the completion report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub work_item_id: WorkItemId,
    /// True if the item had the focus.
    pub focused: bool,
}

impl OpenTurn {
    /// Returns the form of the turn's next request.
    #[must_use]
    pub fn request_form(&self) -> RequestForm {
        self.refused
            .as_ref()
            .map_or_else(RequestForm::default, |refused| refused.form)
    }

    /// Notes that the turn changed something about a work item.
    pub fn note_progress(&mut self, id: &WorkItemId) {
        self.progress |= self.ticked_item.as_ref() == Some(id);
        self.bound_progress |= self.work_item_id.as_ref() == Some(id);
    }

    /// Notes a change that belongs to the item the turn is bound to, such as a patch.
    pub fn note_bound_progress(&mut self) {
        match self.work_item_id.clone() {
            Some(id) => self.note_progress(&id),
            None => self.progress = true,
        }
    }

    /// Notes that a call names a work item. A turn without an item is about this one from now on.
    pub fn name_item(&mut self, id: &WorkItemId) {
        self.work_item_id.get_or_insert_with(|| id.clone());
    }

    /// Notes that an operator's instruction joined the turn: what the turn makes from now on may be what they asked for.
    /// A turn that something outside began keeps its authority, because its content could be the reason as well.
    pub fn raise_authority(&mut self) {
        if self.authority == AuthorityClass::RuntimeInstruction {
            self.authority = AuthorityClass::OperatorInstruction;
        }
    }

    /// Returns the message that asked for what the turn does now, under the authority of the turn: the newest one of an
    /// operator if the turn has theirs, else the one that began it.
    #[must_use]
    pub fn asked_by(&self) -> &MessageId {
        let newest = self.owes.last().map(|owed| &owed.id);
        let newest = newest.filter(|_| self.authority == AuthorityClass::OperatorInstruction);
        newest.unwrap_or(&self.message_id)
    }

    /// Binds the rest of the turn to another work item.
    pub fn bind(&mut self, id: WorkItemId) {
        self.bound_progress &= self.work_item_id.as_ref() == Some(&id);
        self.work_item_id = Some(id);
    }

    /// Excludes a queued message from joining the turn.
    pub fn set_apart(&mut self, entry: &QueueEntry) {
        if self.keeps_apart(entry.seq) {
            return;
        }
        if self.apart.len() >= limits::APART_MESSAGES {
            self.closed_to_joining = true;
            return;
        }
        self.apart.push(ApartMessage {
            seq: entry.seq,
            operator: entry.envelope.operator_interjects(),
        });
    }

    /// Returns true if a queued message may not join the turn.
    #[must_use]
    pub fn keeps_apart(&self, seq: MessageSeq) -> bool {
        self.closed_to_joining || self.apart.iter().any(|apart| apart.seq == seq)
    }

    /// Returns what a brief about the turn says of its spending.
    #[must_use]
    pub fn brief_spending(&self) -> Option<Spending> {
        Some(self.spending).filter(|spending| *spending != Spending::default())
    }

    /// Returns the model that the turn asked first.
    #[must_use]
    pub fn requested(&self) -> Option<&ModelRef> {
        self.requested_model.as_ref().or(self.model.as_ref())
    }

    /// Returns the model that the turn asks, as events and records spell it.
    #[must_use]
    pub fn model_ref(&self) -> String {
        ModelRef::spell(self.model.as_ref())
    }
}
