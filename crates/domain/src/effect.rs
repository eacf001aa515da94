//! Effects: work that the shell performs. The open effects are the only record of outstanding work.
//!
//! Each variant says how often it may be performed and what happens after a crash.

use crate::delivery::{DeliveryRoute, DeliverySeq};
use crate::id::{AgentId, CallId, RunId, TaskId};
use crate::queue::MessageSeq;
use crate::send::AgentSend;
use crate::time::Timestamp;
use crate::turn::LogSeq;
use serde::{Deserialize, Serialize};

/// Number of an effect, unique for its agent and never used again. An outcome names it, and a stale outcome is dropped.
pub type EffectId = u64;

/// Work that the shell performs outside of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Check whether the agent's home exists or can be created, and make what a lasting agent starts with. Performed at
    /// least once; after a crash it is repeated.
    PrepareHome,
    /// Ask the model for the turn's next round. The provider may be paid more than once, but an answer takes effect at
    /// most once: nothing of it counts before its commit. After a crash the model is asked again.
    CallModel {
        turn_index: u64,
        /// Number of the try of the current model in its round, counted from 1. It begins again with another model and
        /// does not count pauses for a network or an allowance. For inspection only.
        attempt: u32,
    },
    /// Run a tool call. After a crash the action decides
    /// ([`HostAction::restart_policy`](crate::intent::HostAction::restart_policy)): an idempotent call is repeated; for
    /// any other the executor proves the outcome, or the result is "outcome unknown", written once.
    ///
    /// The effect names the call by its place. The call and its intent are in the log. Effects of older builds lack
    /// the place; then it is the one that the open turn names.
    RunTool {
        turn_index: u64,
        /// Log entry of the round that made the call.
        #[serde(default)]
        round_entry: LogSeq,
        /// Position of the call in its round, counted from 0.
        #[serde(default)]
        call_index: usize,
    },
    /// Start the command of a queued task. Performed at least once; a shim claims the command, so it starts at most once,
    /// and a repeated start finds the one that runs. In a restored home no claim exists, so it is not started there.
    StartTask { task_id: TaskId },
    /// Watch a task's command until it ends. Performed at least once; watching changes nothing.
    WatchTask { task_id: TaskId },
    /// Stop a task's command with all its processes, and watch it until it ends. Performed at least once; stopping an
    /// ended command does nothing.
    StopTask {
        task_id: TaskId,
        /// True if the command is killed at once, without asking it to stop first.
        force: bool,
    },
    /// Finish or undo a patch whose turn was aborted, and remove its journal. Performed at least once; a patch without
    /// a journal has changed nothing or is finished.
    FinishPatch {
        /// Call that applies the patch. The journal has its id.
        call_id: CallId,
    },
    /// Stop the commands of a batch whose turn was aborted, and find out which of them had begun. Performed at least once;
    /// stopping an ended command does nothing, and one that had not begun never begins.
    StopBatch {
        /// Call that runs the batch.
        call_id: CallId,
        /// Number of its items.
        items: u32,
        turn_index: u64,
        run_id: RunId,
        /// Queue position of the message that the turn answered.
        message_seq: MessageSeq,
    },
    /// Remove the worktree of a child that has ended, unless it holds work. Performed at least once; a worktree that is
    /// gone needs nothing, and one that is kept is only looked at again.
    CleanWorktree { worktree_path: String },
    /// Submit the delivery at the head of a lane of the agent's outbox. Performed at least once, always with the id of
    /// the delivery as idempotency key; after a crash it is submitted again.
    SubmitDelivery {
        route: DeliveryRoute,
        seq: DeliverySeq,
    },
    /// Remove the agent's home and its claims. Performed at least once; idempotent.
    RemoveHome,
    /// Deliver sends for which one commit had no room. Performed exactly once: the commit that hands the sends over
    /// closes the effect.
    Deliver {
        /// Receiver and content of each send, in order.
        sends: Vec<(AgentId, AgentSend)>,
    },
}

impl Effect {
    /// Returns a short name for logs and crash points.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PrepareHome => "prepare_home",
            Self::CallModel { .. } => "call_model",
            Self::RunTool { .. } => "run_tool",
            Self::StartTask { .. } => "start_task",
            Self::WatchTask { .. } => "watch_task",
            Self::StopTask { .. } => "stop_task",
            Self::FinishPatch { .. } => "finish_patch",
            Self::StopBatch { .. } => "stop_batch",
            Self::CleanWorktree { .. } => "clean_worktree",
            Self::SubmitDelivery { .. } => "submit_delivery",
            Self::RemoveHome => "remove_home",
            Self::Deliver { .. } => "deliver",
        }
    }
}

/// An open effect as the store keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRecord {
    pub agent_id: AgentId,
    pub id: EffectId,
    /// Fencing generation of the agent when the effect was opened. An outcome of an older generation is dropped.
    pub generation: u64,
    pub opened_at: Timestamp,
    pub effect: Effect,
}
