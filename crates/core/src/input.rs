//! What can happen to an agent, and what a decision may know: the closed set of inputs and the bounded view.

use crate::ingress::Ingress;
use holon_domain::agent::{AgentIdentity, AgentRecord, RunTerms};
use holon_domain::attempt::TokenUsage;
use holon_domain::block::{Block, OpaqueData, ToolCall, calls_of, text_beginning};
use holon_domain::consequence::Consequence;
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::intent::{Intent, NewTimer, NewWorkItem, WorkItemChange};
use holon_domain::log::{FrameRecord, Intents, InterjectionBoundary, LogEntry};
use holon_domain::model::{
    ModelChain, ModelChoice, ModelFailure, ModelRef, ReplyBlock, StopReason,
};
use holon_domain::needs::LoadedRows;
use holon_domain::provider::LearnedLimits;
use holon_domain::queue::{MessageSeq, QueueEntry};
use holon_domain::send::AgentSend;
use holon_domain::task::TaskReport;
use holon_domain::timer::{DueAction, DueId, MissedSlotPolicy, Pause, TimerRecord};
use holon_domain::tool::{ToolEnvelope, ToolError};
use holon_domain::trigger::WakeHint;
use holon_domain::turn::LogSeq;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{PlanArtifact, WorkItemRecord};
use holon_domain::workspace::{ReservedDirs, WorkspaceEntry};
use holon_domain::{
    AgentId, CallId, Entropy, MessageId, TaskId, TimerId, Timestamp, WaitId, WorkItemId, limits,
    text,
};
use std::sync::Arc;

/// What the host knows that no agent row holds.
#[derive(Debug, Clone)]
pub struct HostFacts {
    /// Whom agents ask.
    pub models: ModelChain,
    /// How long a suspended turn asks again by itself while its provider names no end of the trouble.
    pub provider_patience_ms: u64,
    /// When the host was started. Nobody waits on the line for what was admitted before.
    pub started_at: Timestamp,
    /// Directories that no workspace of a new agent may hold or lie in.
    pub reserved: ReservedDirs,
}

impl HostFacts {
    /// The facts of a host with these models and otherwise the defaults.
    #[must_use]
    pub const fn new(models: ModelChain) -> Self {
        Self {
            models,
            provider_patience_ms: limits::PROVIDER_PATIENCE_MS,
            started_at: Timestamp::from_millis(0),
            reserved: ReservedDirs::none(),
        }
    }
}

/// What a decision about one agent may know: its row, and the rows that were asked for.
#[derive(Debug, Clone)]
pub struct AgentView {
    /// The agent's row.
    pub agent: AgentRecord,
    /// What was loaded beside it. Reading a part that was not makes the decision ask for it.
    pub loaded: LoadedRows,
}

/// A pause of an agent as its row in the due-queue has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningPause {
    /// The number of its entry.
    pub id: DueId,
    /// When it was set, and for how long.
    pub pause: Pause,
    /// What happens when it is over.
    pub due: DueAction,
}

/// A round with its calls.
#[derive(Debug, Clone)]
pub(crate) struct RoundInHand {
    /// Its log entry.
    pub(crate) entry: LogSeq,
    blocks: Arc<Vec<Block>>,
    intents: Arc<Intents>,
}

impl RoundInHand {
    pub(crate) const fn new(entry: LogSeq, blocks: Arc<Vec<Block>>, intents: Arc<Intents>) -> Self {
        Self {
            entry,
            blocks,
            intents,
        }
    }

    /// A round as the log holds it.
    pub(crate) fn of_entry(seq: LogSeq, entry: &LogEntry) -> Option<Self> {
        match entry {
            LogEntry::AssistantRound {
                blocks, intents, ..
            } => Some(Self::new(seq, Arc::clone(blocks), Arc::clone(intents))),
            LogEntry::IncomingMessage { .. }
            | LogEntry::Frame(_)
            | LogEntry::Interjection { .. }
            | LogEntry::ToolResult { .. }
            | LogEntry::ContinuationPrompt { .. }
            | LogEntry::RuntimeFailure { .. } => None,
        }
    }

    /// Its calls in order, each with what it asks for. A call without an intent was not interpreted.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&ToolCall, Option<&Planned>)> {
        let intents = self.intents.iter().map(Some);
        calls_of(&self.blocks).zip(intents.chain(std::iter::repeat(None)))
    }

    /// All the model said with the calls, for a completion report.
    pub(crate) fn report(&self) -> String {
        text_beginning(&self.blocks, limits::RESULT_SUMMARY_BYTES)
            .trim()
            .to_owned()
    }

    /// The beginning of what the model said with the calls; empty when it said nothing.
    pub(crate) fn words(&self) -> String {
        let beginning = text_beginning(&self.blocks, limits::EVENT_PREVIEW_BYTES);
        text::preview(beginning.trim(), limits::EVENT_PREVIEW_BYTES)
    }
}

/// What a call asks for, or why it was refused.
pub(crate) type Planned = Result<Intent, ToolError>;

/// Which effect an outcome belongs to. A stamp that is not current is recorded and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The effect.
    pub effect: EffectId,
    /// The agent's generation when it was opened.
    pub generation: u64,
}

impl Stamp {
    /// The stamp of an open effect's outcome.
    #[must_use]
    pub const fn of(record: &EffectRecord) -> Self {
        Self {
            effect: record.id,
            generation: record.generation,
        }
    }
}

/// A model's answer with everything its request held and cost.
#[derive(Debug, Clone)]
pub struct RoundAnswer {
    /// What the model said; calls carry the runtime's ids. See [`blocks`].
    pub blocks: Arc<Vec<Block>>,
    /// What each of its calls asks for, in order.
    pub intents: Arc<Intents>,
    /// Why the model ended the answer: done, calls to run, or cut off by its output limit.
    pub stop_reason: StopReason,
    /// What it cost.
    pub usage: TokenUsage,
    /// Queued operator messages the request held.
    pub interjected: Vec<QueueEntry>,
    /// Where in the turn they entered.
    pub boundary: InterjectionBoundary,
    /// The frame of the request.
    pub frame: FrameRecord,
    /// The work items that the request showed, on the turn's first round. A recheck is consumed by being shown.
    pub shown_items: Vec<WorkItemId>,
    /// The plan file of the turn's item as the request found it. Absent when it is as the record has it.
    pub plan: Option<(WorkItemId, PlanArtifact)>,
    /// The texts the frame refers to, on the turn's first round.
    pub kept: Vec<(String, String)>,
    /// Size of the context, for the record.
    pub context: ContextSize,
    /// What the answer taught: that the window is wider than was learned.
    pub learned: Option<LearnedLimits>,
    /// How long things took.
    pub timing: RoundTiming,
}

impl RoundAnswer {
    /// What it weighs in a batch: its words and the texts kept with it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let said = self.blocks.iter().map(|block| match block {
            Block::Text { text } | Block::Reasoning { text, .. } => text.len(),
            Block::ToolCall(call) => call.input.to_string().len(),
        });
        let kept = self.kept.iter().map(|(_, body)| body.len());
        said.chain(kept).sum()
    }
}

/// A model's answer as the log keeps it: calls get ids of the runtime, opaque data the lineage of the model that was
/// asked. Done before the commit, so that the writer copies no answer.
#[must_use]
pub fn blocks(lineage: &str, reply: Vec<ReplyBlock>, entropy: &mut dyn Entropy) -> Arc<Vec<Block>> {
    let sealed = |data: String| OpaqueData {
        lineage: lineage.to_owned(),
        data,
    };
    let blocks = reply.into_iter().filter_map(|block| match block {
        ReplyBlock::Text { text } if text.is_empty() => None,
        ReplyBlock::Text { text } => Some(Block::Text { text }),
        ReplyBlock::Reasoning { text, opaque } => Some(Block::Reasoning {
            text,
            opaque: opaque.map(sealed),
        }),
        ReplyBlock::Call(call) => Some(Block::ToolCall(ToolCall {
            id: CallId::mint(entropy),
            name: call.name,
            input: call.input,
            provider_id: call.provider_id.map(sealed),
        })),
    });
    Arc::new(blocks.collect())
}

/// How large the built context was.
#[derive(Debug, Clone, Copy, Default)]
pub struct ContextSize {
    /// Sections.
    pub sections: usize,
    /// Characters of context.
    pub context_chars: usize,
    /// Characters of system prompt.
    pub system_chars: usize,
}

/// How long a round took.
#[derive(Debug, Clone, Copy)]
pub struct RoundTiming {
    /// Building the request.
    pub context_build_ms: u64,
    /// When it was sent.
    pub started_at: Timestamp,
    /// When its answer was complete.
    pub completed_at: Timestamp,
    /// The time between, by a clock that does not jump.
    pub provider_ms: u64,
}

/// What a call came to that was under way when a process died, as its executor can prove.
#[derive(Debug, Clone)]
pub struct Proven {
    /// The effect it was run by.
    pub effect: EffectId,
    /// What it came to.
    pub envelope: ToolEnvelope,
}

/// What a new process found of the commands behind an effect, before it performed anything of it again.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A command runs, which is proven.
    Alive {
        /// What the call comes to if its command goes on as a task. `None` where it cannot: a batch has no task, and each
        /// of its commands is bounded by a timeout of its own.
        as_task: Option<Box<Consequence>>,
    },
    /// Commands were begun, and all of them are over.
    Ended,
    /// No command was begun, or none that can be accounted for.
    Nothing,
}

/// What was found for one open effect. The effects of calls and tasks have a finding; the others run no command.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The open effect. Named by what it performs and not by its number, which changes when a recovery is sent again.
    pub effect: Effect,
    /// What was found.
    pub found: Found,
}

/// Everything that can happen to an agent.
#[derive(Debug, Clone)]
pub enum Input {
    /// A message stands at the door.
    Admit(Box<Ingress>),
    /// The agent is to work elsewhere, or ask another model, from its next turn on.
    Configure {
        /// Where.
        workspace: Option<WorkspaceEntry>,
        /// Whom.
        model: Option<ModelChoice>,
    },
    /// Its home was made, or could not be.
    HomePrepared {
        /// Of which effect.
        stamp: Stamp,
        /// How it went.
        result: Result<(), String>,
    },
    /// Its home was removed, or could not be.
    HomeRemoved {
        /// Of which effect.
        stamp: Stamp,
        /// How it went.
        result: Result<(), String>,
    },
    /// A model answered.
    RoundAnswered {
        /// Of which effect.
        stamp: Stamp,
        /// The answer.
        answer: Box<RoundAnswer>,
    },
    /// A model failed.
    RoundFailed {
        /// Of which effect.
        stamp: Stamp,
        /// How.
        failure: ModelFailure,
        /// How long it took to.
        timing: RoundTiming,
        /// Messages that had joined the request. They are still queued.
        joined: Vec<QueueEntry>,
    },
    /// A call came to its end.
    ToolFinished {
        /// Of which effect.
        stamp: Stamp,
        /// What the call comes to.
        consequence: Consequence,
        /// How long it took.
        duration_ms: u64,
    },
    /// Another agent's decision sends something.
    Received(AgentSend),
    /// A delivery that one commit had no room for is made now.
    Deliver {
        /// Of which effect.
        stamp: Stamp,
        /// What it delivers.
        sends: Vec<(AgentId, AgentSend)>,
    },
    /// The commit has no room for these sends of the agent's decision: they are kept as effects.
    Defer {
        /// In order, each with its receiver.
        sends: Vec<(AgentId, AgentSend)>,
    },
    /// A task's command came to its end, or is lost.
    TaskEnded {
        /// Of which effect.
        stamp: Stamp,
        /// Which task.
        task_id: TaskId,
        /// How.
        report: Box<TaskReport>,
    },
    /// A patch whose turn was called off is through or taken back, and its journal is forgotten.
    PatchFinished {
        /// The effect this outcome belongs to. A stale stamp is recorded and dropped.
        stamp: Stamp,
    },
    /// A time has come.
    DueCame {
        /// The entry.
        id: DueId,
        /// When it was to come.
        planned_at: Timestamp,
        /// What for.
        due: DueAction,
    },
    /// The wall clock was set back while pauses of the agent ran. None of them may get longer by it.
    ClockSetBack {
        /// How far, as far as it is known; 0 after a restart, when nobody saw the step.
        by_ms: u64,
        /// The pauses that ran when the step was noticed.
        pauses: Vec<RunningPause>,
    },
    /// It may run again.
    Start,
    /// It may not run.
    Stop,
    /// It is to be removed.
    Delete,
    /// A new process took over. Only sent at boot.
    Recover {
        /// Whether the last process closed in order.
        clean_exit: bool,
        /// What its tool call came to, if that can be proven.
        proven: Option<Box<Proven>>,
        /// What was found for its open effects. An effect without a finding counts as one of which nothing was found.
        found: Vec<Finding>,
    },
    /// A commit about the agent could not be confirmed, so what it asked for may be done by nobody. The process lives.
    TakeUp,
    /// The runtime broke a rule of its own while deciding; the turn is given up.
    GiveUp {
        /// Which.
        message: String,
    },
    /// The caller of a run no longer waits for the answer to this message.
    CallerLeft {
        /// Its position.
        message_seq: MessageSeq,
    },
    /// The host's models or credentials have changed, so a suspended turn asks again.
    ModelsChanged,
    /// Something outside, or an operator by hand, asks the agent to look.
    WakeHint(Box<WakeHint>),
    /// An operator changes the agent's work.
    Work(Box<WorkCommand>),
    /// Decide on: the queue may hold more.
    Continue,
}

/// What an operator may do with an agent's work, past the agent's own calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkCommand {
    /// Make an item. The agent picks it by itself.
    Create(NewWorkItem),
    /// Change fields of an item.
    Update {
        work_item_id: WorkItemId,
        change: WorkItemChange,
    },
    Complete {
        work_item_id: WorkItemId,
    },
    /// Give a stalled item another chance.
    Resume {
        work_item_id: WorkItemId,
    },
    CancelWait {
        wait_id: WaitId,
    },
    CreateTimer(NewTimer),
    /// A timer whose first slot is counted from the commit that makes it.
    CreateTimerAfter {
        delay_ms: u64,
        /// Absent for a timer that fires once.
        interval_ms: Option<u64>,
        missed: MissedSlotPolicy,
        summary: Option<String>,
    },
    CancelTimer {
        timer_id: TimerId,
    },
}

/// What the sender of an input is told after the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The message is in the queue.
    Admitted {
        /// Its id.
        message_id: MessageId,
        /// Its position.
        message_seq: MessageSeq,
    },
    /// It took effect.
    Done,
    /// The hint is kept. Whether it joined one that was pending.
    Woken { coalesced: bool },
    /// The work item as it stands now.
    WorkItem(Box<WorkItemRecord>),
    /// The wait as it stands now.
    Wait(Box<WaitRecord>),
    /// The timer as it stands now.
    Timer(Box<TimerRecord>),
    /// It changed nothing: a stale outcome, a start of a running agent.
    Unchanged,
    /// The agent's rows may go.
    RowsMayGo,
}

/// A new agent, before it has a row.
#[derive(Debug, Clone)]
pub struct NewAgent {
    /// Who it is.
    pub identity: AgentIdentity,
    /// Where its home will be.
    pub agent_home: String,
    /// Where it works.
    pub workspace: WorkspaceEntry,
    /// Which model it asks.
    pub model: Option<ModelRef>,
    /// The terms of the run it is made for, if it is made for one.
    pub run: Option<RunTerms>,
}
