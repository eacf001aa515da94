//! Payloads of events about external triggers and webhooks. None holds a URL or a token.

use crate::authority::AuthorityClass;
use crate::id::{MessageId, TriggerId, WaitId, WorkItemId};
use crate::message::{AdmissionContext, DeliverySurface};
use crate::trigger::{CallbackDisposition, DeliveryMode, TriggerScope};
use serde::{Deserialize, Serialize};

/// A new capability. See [`Event::ExternalTriggerCreated`](super::Event::ExternalTriggerCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExternalTriggerCreated {
    pub external_trigger_id: TriggerId,
    pub scope: TriggerScope,
    pub delivery_mode: DeliveryMode,
    /// True if an operator asked for it, false if the agent did.
    pub by_operator: bool,
}

/// A capability with another URL. See [`Event::ExternalTriggerRotated`](super::Event::ExternalTriggerRotated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExternalTriggerRotated {
    pub external_trigger_id: TriggerId,
    pub scope: TriggerScope,
    pub delivery_mode: DeliveryMode,
    /// Number of the new URL.
    pub generation: u64,
}

/// A revoked capability. See [`Event::ExternalTriggerRevoked`](super::Event::ExternalTriggerRevoked).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExternalTriggerRevoked {
    pub external_trigger_id: TriggerId,
    pub scope: TriggerScope,
    pub delivery_mode: DeliveryMode,
    pub by_operator: bool,
}

/// One use of a capability. See [`Event::CallbackDelivered`](super::Event::CallbackDelivered).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallbackDelivered {
    pub external_trigger_id: TriggerId,
    pub scope: TriggerScope,
    pub delivery_mode: DeliveryMode,
    pub disposition: CallbackDisposition,
    /// Name that the sender gave itself. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The sender's own id of the delivery. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Size of the payload.
    pub bytes: u64,
    /// Deliveries of this capability so far, this one included.
    pub trigger_count: u64,
    /// Oldest wait that the delivery ended. Absent if it ended none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitId>,
    /// All waits that the delivery ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_intent_ids: Vec<WaitId>,
    /// Work items of those waits, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work_item_ids: Vec<WorkItemId>,
    /// The sender's id of what the delivery belongs to. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// The sender's id of what caused the delivery. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// Message that the content became. Absent for a wake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    pub delivery_surface: DeliverySurface,
    pub admission_context: AdmissionContext,
    pub authority_class: AuthorityClass,
}

/// Webhooks that an agent accepts. See [`Event::WebhookConfigured`](super::Event::WebhookConfigured).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebhookConfigured {
    /// True if webhooks without a signature are accepted.
    pub unsigned_webhooks: bool,
}
