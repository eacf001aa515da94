//! What can happen to an agent, and what a decision may know: the closed set of inputs and the bounded view.

use crate::ingress::Ingress;
use holon_domain::agent::{AgentIdentity, AgentRecord, RunTerms};
use holon_domain::attempt::AttemptRecord;
use holon_domain::block::ToolCall;
use holon_domain::effect::EffectId;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::log::{FrameRecord, InterjectionBoundary};
use holon_domain::model::{
    ModelChain, ModelChoice, ModelFailure, ModelRef, ModelReply, ReplyBlock,
};
use holon_domain::provider::LearnedLimits;
use holon_domain::queue::{MessageSeq, QueueEntry, QueueView};
use holon_domain::task::{CommandTaskSpec, TaskRecord, TaskReport};
use holon_domain::timer::{Due, DueId};
use holon_domain::tool::{ToolEnvelope, ToolError};
use holon_domain::turn::LogSeq;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{MessageId, TaskId, Timestamp};

/// What the host knows that no agent row holds.
#[derive(Debug, Clone)]
pub struct HostFacts {
    /// Whom agents ask.
    pub models: ModelChain,
}

/// What a decision about one agent may know. Bounded: one row, the queue's head, the round in hand, the tasks that are
/// not over and those a call names.
#[derive(Debug, Clone)]
pub struct AgentView {
    /// The agent's row.
    pub agent: AgentRecord,
    /// Its queue.
    pub queue: QueueView,
    /// The calls of the round whose tools run, when they do.
    pub round: Option<RoundInHand>,
    /// What the shell does for the call that runs, when one does.
    pub in_hand: Option<(ToolCall, HostAction)>,
    /// Its tasks that are not over, those that calls of the round name, and those whose ends are still to be told.
    pub tasks: Vec<TaskRecord>,
    /// The failed attempts of the round in hand, in order.
    pub attempts: Vec<AttemptRecord>,
}

/// The round whose calls are being run.
#[derive(Debug, Clone)]
pub struct RoundInHand {
    /// Its log entry.
    pub entry: LogSeq,
    /// The first words the model said with them; empty when it said none.
    pub words: String,
    /// Its calls, in order, understood or refused.
    pub calls: Vec<(ToolCall, Result<Intent, ToolError>)>,
}

/// Which effect an outcome belongs to. A stamp that is not current is recorded and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The effect.
    pub effect: EffectId,
    /// The agent's generation when it was opened.
    pub generation: u64,
}

/// A model's answer with everything its request held and cost.
#[derive(Debug, Clone)]
pub struct RoundAnswer {
    /// The answer.
    pub reply: ModelReply,
    /// What each of its calls asks for, in order.
    pub intents: Vec<Result<Intent, ToolError>>,
    /// Queued operator messages the request held.
    pub interjected: Vec<QueueEntry>,
    /// Where in the turn they entered.
    pub boundary: InterjectionBoundary,
    /// The frame of the request.
    pub frame: FrameRecord,
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
    /// What it weighs: its words and the texts kept with it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let said = self.reply.blocks.iter().map(|block| match block {
            ReplyBlock::Text { text } | ReplyBlock::Reasoning { text, .. } => text.len(),
            ReplyBlock::Call(call) => call.input.to_string().len(),
        });
        let kept = self.kept.iter().map(|(_, body)| body.len());
        said.chain(kept).sum()
    }
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
    },
    /// A call came to its end.
    ToolFinished {
        /// Of which effect.
        stamp: Stamp,
        /// What it came to.
        envelope: ToolEnvelope,
        /// How long it took.
        duration_ms: u64,
        /// The command that goes on without the call, if it does.
        goes_on: Option<Box<CommandTaskSpec>>,
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
    /// A time has come.
    DueCame {
        /// The entry.
        id: DueId,
        /// When it was to come.
        planned_at: Timestamp,
        /// What for.
        due: Due,
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
    },
    /// A commit about the agent could not be confirmed, so what it asked for may be done by nobody. The process lives.
    TakeUp,
    /// The runtime broke a rule of its own while deciding; the turn is given up.
    GiveUp {
        /// Which.
        message: String,
    },
    /// Decide on: the queue may hold more.
    Continue,
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
