//! External trigger capabilities: their vocabulary. The control-plane issue fills in the behaviour.
//!
//! The capability URL is derived and never stored, so no field here holds a secret.

use crate::id::{AgentId, TriggerId, WaitId};
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

/// A signal that something changed, kept until it becomes part of a tick. Hints of one key coalesce: the newest payload
/// is kept and the others are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeHint {
    /// The capability the hint came through, or else the name of its source.
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<TriggerId>,
    pub delivery_mode: DeliveryMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why the agent should look, in the words of an operator who woke it by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// What the newest delivery carried, shortened. It is evidence and never an instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// The waits that this hint ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wait_ids: Vec<WaitId>,
    /// Deliveries that this hint stands for.
    pub count: u64,
    pub last_at: Timestamp,
}
