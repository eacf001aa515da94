//! Effects: what the shell is asked to do. The open effects are the only record of outstanding work.
//!
//! Each variant says how often it may be performed and what a crash before, during and after it means.

use crate::id::{AgentId, CallId, TaskId};
use crate::send::AgentSend;
use crate::time::Timestamp;
use crate::turn::LogSeq;
use serde::{Deserialize, Serialize};

/// Number of an effect, unique for its agent and never used again: an outcome names it, and a stale one is dropped.
pub type EffectId = u64;

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Look whether the agent's home is there or can be made. At least once; a crash at any point means: look again.
    PrepareHome,
    /// Ask the model for the turn's next round. At least once for money, at most once for consequences:
    /// nothing of an answer holds before its commit, so a crash at any point means: ask again.
    CallModel {
        /// The turn.
        turn_index: u64,
        /// Which try of the round, from 1.
        attempt: u32,
    },
    /// Run a tool call. What a crash means stands on its action ([`HostAction::restart_policy`](crate::intent::HostAction::restart_policy)): a call that can be
    /// taken up again is; of any other the executor proves what came of it, or its result is "outcome unknown",
    /// written once.
    ///
    /// The effect names the call by its place; the call itself and what it asks for stand in the log, once. Effects
    /// of older builds lack the place: it is the one the open turn names.
    RunTool {
        /// The turn.
        turn_index: u64,
        /// Log entry of the round that made the call.
        #[serde(default)]
        round_entry: LogSeq,
        /// Position of the call in its round, from 0.
        #[serde(default)]
        call_index: usize,
    },
    /// Watch a task's command to its end. At least once: it only watches.
    WatchTask {
        /// Which.
        task_id: TaskId,
    },
    /// Stop a task's command and everything it started, and watch it to its end. At least once: what is over is over.
    StopTask {
        /// Which.
        task_id: TaskId,
        /// Whether at once, without asking first.
        force: bool,
    },
    /// Bring a patch whose turn was called off to its end or take it back, and forget its journal. At least once: what
    /// is settled is settled, and a patch without a journal has changed nothing.
    FinishPatch {
        /// The call that applies or applied the patch. The journal bears its id.
        call_id: CallId,
    },
    /// Remove the agent's home and its claims. At least once; idempotent.
    RemoveHome,
    /// Deliver what one commit had no room for. Exactly once: the commit that hands the sends over closes the effect.
    Deliver {
        /// In order, each with its receiver.
        sends: Vec<(AgentId, AgentSend)>,
    },
}

impl Effect {
    /// A short name for logs and crash points.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PrepareHome => "prepare_home",
            Self::CallModel { .. } => "call_model",
            Self::RunTool { .. } => "run_tool",
            Self::WatchTask { .. } => "watch_task",
            Self::StopTask { .. } => "stop_task",
            Self::FinishPatch { .. } => "finish_patch",
            Self::RemoveHome => "remove_home",
            Self::Deliver { .. } => "deliver",
        }
    }
}

/// An open effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Whose.
    pub agent_id: AgentId,
    /// Which.
    pub id: EffectId,
    /// The agent's fencing generation when it was opened; an outcome of an older generation is dropped.
    pub generation: u64,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// What to do.
    pub effect: Effect,
}
