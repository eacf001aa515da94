//! External trigger capabilities and wake hints.
//!
//! The capability URL is derived and never stored, so no field here holds a secret.

use crate::id::{AgentId, TriggerId, WaitId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Effect of a delivery to a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// The content becomes a message.
    EnqueueMessage,
    /// The delivery only says that something changed.
    WakeHint,
}

/// Validity of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerStatus {
    Active,
    Revoked,
}

/// One external trigger capability of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerRecord {
    pub id: TriggerId,
    pub target_agent_id: AgentId,
    pub delivery_mode: DeliveryMode,
    pub status: TriggerStatus,
    /// Number of rotations. The token is derived from it, so a rotation revokes the old URL.
    pub generation: u64,
    pub created_at: Timestamp,
    /// Number of deliveries so far.
    pub trigger_count: u64,
    /// Time of the last delivery. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_triggered_at: Option<Timestamp>,
}

/// Signal that something changed, kept until it becomes part of a tick. Hints with the same key are merged: the newest
/// payload is kept and the others are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeHint {
    /// Capability that the hint came through, or else the name of its source.
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<TriggerId>,
    pub delivery_mode: DeliveryMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Reason given by an operator who woke the agent by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Payload of the newest delivery, shortened. It is evidence, never an instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// Waits that this hint ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wait_ids: Vec<WaitId>,
    /// Deliveries that this hint stands for.
    pub count: u64,
    pub last_at: Timestamp,
}
