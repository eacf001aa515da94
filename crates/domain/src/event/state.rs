//! Payloads of signals that an agent's computed state changed. Readers fetch the new state; they do not fold the signals.

use crate::agent::AgentStatus;
use crate::id::RunId;
use crate::summary::Posture;
use serde::{Deserialize, Serialize};

/// Status and posture after a change. See [`Event::AgentStateChanged`](super::Event::AgentStateChanged).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStateChanged {
    /// Status after the commit that recorded the event.
    pub status: AgentStatus,
    /// Scheduling posture after that commit.
    pub posture: Posture,
}

/// The open run after a change. See [`Event::SessionStateChanged`](super::Event::SessionStateChanged).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStateChanged {
    /// Run that is open now. Absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
}
