//! What callers ask of the host, and what they get: the engine's own request types, free of any wire format.

use holon_domain::message::AdmissionContext;
use holon_domain::model::ModelRef;
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_domain::{AgentId, MessageId};
use std::path::PathBuf;

pub use holon_core::Ingress;

/// A message that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Whose queue.
    pub agent_id: AgentId,
    /// Its id.
    pub message_id: MessageId,
    /// Its position.
    pub message_seq: u64,
}

/// Where an agent is to work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceChoice {
    /// The project; the agent's home when absent.
    pub workspace_root: Option<PathBuf>,
    /// The directory inside it; its root when absent.
    pub cwd: Option<PathBuf>,
}

impl WorkspaceChoice {
    /// Whether nothing was chosen.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.workspace_root.is_none() && self.cwd.is_none()
    }
}

/// An agent to be made.
#[derive(Debug, Clone)]
pub struct CreateAgent {
    /// Its name.
    pub agent_id: AgentId,
    /// Where it works.
    pub workspace: WorkspaceChoice,
    /// Which model it asks.
    pub model: Option<ModelRef>,
}

/// A one-shot run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// What to do.
    pub text: String,
    /// By whom; a temporary agent when absent.
    pub agent_id: Option<AgentId>,
    /// Whether to make that agent if there is none.
    pub create_agent: bool,
    /// Which model to ask, for this agent from now on.
    pub model: Option<ModelRef>,
    /// The most model rounds.
    pub max_rounds: Option<u32>,
    /// Whether a temporary agent's run ends only when its tasks have ended and were told.
    pub wait_for_tasks: bool,
    /// Where it works; unchanged when empty and the agent exists.
    pub workspace: WorkspaceChoice,
    /// How the request came in.
    pub admission_context: AdmissionContext,
}

/// An operator's wake: the agent is to look although no message has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// Why the agent should look. The agent reads it.
    pub reason: String,
    /// Names the outside system that changed. Wakes of one source coalesce, and waits for that source end.
    pub source: Option<String>,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
}

/// A timer that an operator asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerOrder {
    pub first: FirstSlot,
    /// What happens to slots that pass while the host is down or the agent is stopped.
    pub missed: MissedSlotPolicy,
    /// What the tick says to the agent.
    pub summary: Option<String>,
}

/// When a new timer fires first, and whether it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstSlot {
    /// Counted from the commit that makes the timer.
    After {
        delay_ms: u64,
        interval_ms: Option<u64>,
    },
    /// At a time on the wall, or by a cron expression.
    By(TimerSchedule),
}
