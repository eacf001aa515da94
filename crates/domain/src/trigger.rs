//! External trigger capabilities, their deliveries, and wake hints.
//!
//! The capability URL is derived (`capability`) and never stored, so no field here holds a secret.

mod capability;
mod delivery;

pub use capability::{
    CapabilityKey, TOKEN_PREFIX, TokenClaim, may_hold_part, may_hold_placeholder, may_hold_token,
};
pub use delivery::{
    CallbackDelivery, CallbackDisposition, CallbackReceipt, DeliveryContent, LastDelivery,
    opaque_text, set_opaque_text,
};

use crate::id::{AgentId, TriggerId, WaitId};
use crate::time::Timestamp;
use crate::wait::WaitNote;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Effect of a delivery to a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// The content becomes a message.
    EnqueueMessage,
    /// The delivery only says that something changed.
    WakeHint,
}

impl DeliveryMode {
    /// Every mode, the one that every agent has first.
    pub const ALL: [Self; 2] = [Self::WakeHint, Self::EnqueueMessage];

    /// Returns the published spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EnqueueMessage => "enqueue_message",
            Self::WakeHint => "wake_hint",
        }
    }

    /// Returns the part of a capability URL that names the mode.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::EnqueueMessage => "enqueue",
            Self::WakeHint => "wake",
        }
    }
}

/// Validity of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerStatus {
    Active,
    Revoked,
}

/// Reach of a capability. Identity is the agent and the mode, so there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerScope {
    #[default]
    Agent,
}

/// One external trigger capability of one agent. An agent has at most one active one of each mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerRecord {
    pub id: TriggerId,
    pub target_agent_id: AgentId,
    pub delivery_mode: DeliveryMode,
    #[serde(default)]
    pub scope: TriggerScope,
    pub status: TriggerStatus,
    /// Number of the URL, counted from 1. The token is derived from it, so a rotation makes the old URL useless.
    pub generation: u64,
    pub created_at: Timestamp,
    /// Time of the last rotation. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Timestamp>,
    /// Time of the revocation. Absent while the capability is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// True if an operator revoked it. The agent may make no other one of this mode until an operator makes one. Absent
    /// while it is active, and in rows of earlier builds; the store then takes it from the event of the revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by_operator: Option<bool>,
    /// Number of deliveries so far.
    pub trigger_count: u64,
    /// Time of the last delivery. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_triggered_at: Option<Timestamp>,
    /// The last delivery. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_delivery: Option<LastDelivery>,
    /// Part of the placeholder that text from outside cannot know. Absent until the agent asked for its URL in this
    /// generation; without it no placeholder stands for the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder_key: Option<String>,
}

impl TriggerRecord {
    /// Creates an active capability without deliveries.
    #[must_use]
    pub const fn new(
        id: TriggerId,
        target_agent_id: AgentId,
        delivery_mode: DeliveryMode,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            target_agent_id,
            delivery_mode,
            scope: TriggerScope::Agent,
            status: TriggerStatus::Active,
            generation: 1,
            created_at,
            rotated_at: None,
            revoked_at: None,
            revoked_by_operator: None,
            trigger_count: 0,
            last_triggered_at: None,
            last_delivery: None,
            placeholder_key: None,
        }
    }

    /// Returns true if deliveries are accepted.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.status == TriggerStatus::Active
    }

    /// Returns the text that stands for the token in everything stored. `None` if the agent has not asked for the URL.
    #[must_use]
    pub fn placeholder(&self) -> Option<String> {
        let nonce = self.placeholder_key.as_deref()?;
        Some(capability::spell_placeholder(
            &self.id,
            self.generation,
            nonce,
        ))
    }

    /// Returns the URL with this text in place of the token. `base` is the address of the host without a slash at its
    /// end.
    #[must_use]
    pub fn url(&self, base: &str, token: &str) -> String {
        format!("{base}/callbacks/{}/{token}", self.delivery_mode.path())
    }

    /// Returns the record without the part that only its agent may know.
    #[must_use]
    pub fn without_key(&self) -> Self {
        Self {
            placeholder_key: None,
            ..self.clone()
        }
    }

    /// Returns what clients see.
    #[must_use]
    pub fn view(&self) -> TriggerView {
        TriggerView {
            external_trigger_id: self.id.clone(),
            delivery_count: self.trigger_count,
            record: self.without_key(),
        }
    }
}

/// A capability as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerView {
    /// Its fields are serialised beside the others.
    #[serde(flatten)]
    pub record: TriggerRecord,
    /// The id again, under the name that waits and deliveries use for it.
    pub external_trigger_id: TriggerId,
    /// The number of deliveries again, under the name that older clients read.
    pub delivery_count: u64,
}

impl std::ops::Deref for TriggerView {
    type Target = TriggerRecord;
    fn deref(&self) -> &TriggerRecord {
        &self.record
    }
}

/// A delivery before the newest one of a wake hint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierDelivery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<TriggerId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Signal that something changed, kept until it becomes part of a tick. Hints with the same key are merged: the newest
/// delivery is kept whole, a few before it with their bodies, and all are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The same waits in words, for the model; at most `limits::WAIT_NOTES`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_waits: Vec<WaitNote>,
    /// Deliveries that this hint stands for.
    pub count: u64,
    pub last_at: Timestamp,
    /// Deliveries before the newest one, oldest first, at most [`crate::limits::HINT_EARLIER`]. Those without a body are
    /// left out unless they came from another source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierDelivery>,
    /// True if any delivery came from outside or names a source. The tick is then a signal and no instruction.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub from_outside: bool,
}

impl WakeHint {
    /// Returns true if an operator alone gave the hint, in words of their own.
    #[must_use]
    pub const fn is_by_operator(&self) -> bool {
        self.reason.is_some()
            && self.source.is_none()
            && self.body.is_none()
            && self.external_trigger_id.is_none()
            && !self.from_outside
    }

    /// Iterates over the source and the trigger of every delivery that is known, oldest first.
    pub fn deliveries(&self) -> impl Iterator<Item = (Option<&str>, Option<&TriggerId>)> {
        let earlier = self.earlier.iter();
        let earlier = earlier.map(|one| (one.source.as_deref(), one.external_trigger_id.as_ref()));
        let newest = (self.source.as_deref(), self.external_trigger_id.as_ref());
        earlier.chain(std::iter::once(newest))
    }

    /// Returns true if there is anything to tell a model.
    #[must_use]
    pub fn has_content(&self) -> bool {
        self.reason.is_some() || self.bodies().next().is_some()
    }

    /// Iterates over the bodies that are kept, oldest first.
    pub fn bodies(&self) -> impl Iterator<Item = &str> {
        let earlier = self.earlier.iter().filter_map(|one| one.body.as_deref());
        earlier.chain(self.body.as_deref())
    }
}
