//! Waits: the one record of what an agent or an item waits for. Their vocabulary; the work issue fills in the behaviour.

use crate::id::{AgentId, TaskId, TriggerId, WaitId, WorkItemId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What kind of thing is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A managed execution.
    Task,
    /// A change outside.
    External,
    /// An operator.
    Operator,
    /// A time.
    Timer,
}

/// Where a wait stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitStatus {
    /// Open.
    Active,
    /// Over.
    Resolved,
    /// Given up.
    Cancelled,
    /// Too late.
    Expired,
}

/// What ends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WakeSource {
    /// A task's end.
    TaskResult {
        /// Which.
        task_id: TaskId,
    },
    /// A delivery.
    ExternalIngress {
        /// Through which capability, if it matters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_trigger_id: Option<TriggerId>,
    },
    /// A time.
    Timer {
        /// When.
        wake_at: Timestamp,
    },
    /// An operator.
    OperatorInput,
    /// The runtime.
    SystemTick,
}

/// One wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRecord {
    /// Its id.
    pub id: WaitId,
    /// Who waits.
    pub agent_id: AgentId,
    /// With which item; none means the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// For what kind of thing.
    pub kind: WaitKind,
    /// Where it stands.
    pub status: WaitStatus,
    /// For what, in words.
    pub waiting_for: String,
    /// What ends it.
    pub wake_sources: Vec<WakeSource>,
    /// The system it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The thing in that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<String>,
    /// When to look again at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
