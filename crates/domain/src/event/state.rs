//! Signals that an agent's assessed state has changed. They hold no state to be folded: readers fetch it.

use crate::agent::AgentStatus;
use crate::id::RunId;
use crate::summary::Posture;
use serde::{Deserialize, Serialize};

/// See [`super::Event::AgentStateChanged`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStateChanged {
    /// Status after the commit that recorded this.
    pub status: AgentStatus,
    /// Scheduling posture after that commit.
    pub posture: Posture,
}

/// See [`super::Event::SessionStateChanged`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStateChanged {
    /// The run that is open from now on. Absent when none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
}
