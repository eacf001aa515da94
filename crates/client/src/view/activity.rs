//! The activity of a host.

use serde::{Deserialize, Serialize};

/// Numbers of a host's agents and tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostActivity {
    /// `processing` if an agent runs, `waiting` if none runs and work waits, `idle` otherwise.
    pub state: String,
    /// Agents that are not stopped.
    pub active_agent_count: u64,
    pub active_task_count: u64,
    pub processing_agent_count: u64,
    pub waiting_agent_count: u64,
}

/// The last failure that a host knows of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFailure {
    /// Time as the host spells it.
    pub occurred_at: String,
    pub summary: String,
    /// `startup`, `shutdown` or `runtime_turn`.
    #[serde(default)]
    pub phase: String,
    /// Agent whose turn failed. Absent for a failure of the host itself, and from hosts of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<serde_json::Value>,
}

/// What a host reports about itself. A host of another build may leave out every field.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct HostReport {
    pub activity: Option<HostActivity>,
    pub last_failure: Option<HostFailure>,
    /// Identity of the store, which cursors belong to.
    pub epoch: Option<String>,
}
