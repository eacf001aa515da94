//! External trigger capabilities: their vocabulary. The control-plane issue fills in the behaviour.
//!
//! The capability URL is derived and never stored, so no field here holds a secret.

use crate::id::{AgentId, TriggerId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What a delivery does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// Its content becomes a message.
    EnqueueMessage,
    /// It only says that something changed.
    WakeHint,
}

/// Whether the capability still works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerStatus {
    /// Yes.
    Active,
    /// No.
    Revoked,
}

/// One capability of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerRecord {
    /// Its id.
    pub id: TriggerId,
    /// Whom it reaches.
    pub target_agent_id: AgentId,
    /// What a delivery does.
    pub delivery_mode: DeliveryMode,
    /// Whether it works.
    pub status: TriggerStatus,
    /// Rotation count; part of what the token is derived from.
    pub generation: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// How often it was used.
    pub trigger_count: u64,
    /// When it was last used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_triggered_at: Option<Timestamp>,
}

/// A signal that something changed: coalesced by trigger, never dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeHint {
    /// Through which capability, or which caller.
    pub source: String,
    /// How many came.
    pub count: u64,
    /// When the last came.
    pub last_at: Timestamp,
    /// What the last one said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_payload: Option<serde_json::Value>,
}
