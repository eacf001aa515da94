//! Requests and responses about external triggers, deliveries to them, and webhooks.

use holon_domain::trigger::{CallbackDisposition, DeliveryMode, TriggerScope, TriggerView};
use holon_domain::{AgentId, MessageId, TriggerId, WaitId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/external-triggers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTriggerRequest {
    #[schemars(with = "String", extend("enum" = ["wake_hint", "enqueue_message"]))]
    pub delivery_mode: DeliveryMode,
}

/// Response of `POST /control/agents/{id}/external-triggers/{trigger}/reveal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevealTriggerResponse {
    pub ok: bool,
    /// The secret URL. It is derived for this response and stored nowhere.
    pub trigger_url: String,
    pub external_trigger: TriggerView,
}

/// Response to an accepted delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallbackResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    /// Oldest wait that the delivery ended. Absent if it ended none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub waiting_intent_id: Option<WaitId>,
    #[schemars(with = "String")]
    pub external_trigger_id: TriggerId,
    #[schemars(with = "String", extend("enum" = ["agent"]))]
    pub scope: TriggerScope,
    #[schemars(with = "String", extend("enum" = ["wake_hint", "enqueue_message"]))]
    pub delivery_mode: DeliveryMode,
    #[schemars(with = "String", extend("enum" = ["enqueued", "triggered", "coalesced"]))]
    pub disposition: CallbackDisposition,
    /// Message that the content became. Absent for a wake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub message_id: Option<MessageId>,
}

/// Body of `POST /control/agents/{id}/webhook`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetWebhookRequest {
    /// Secret that senders sign with. Absent to leave the stored one as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// True if webhooks without a signature are accepted, as evidence of unknown origin.
    #[serde(default)]
    pub allow_unsigned: bool,
}

impl std::fmt::Debug for SetWebhookRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetWebhookRequest")
            .field("allow_unsigned", &self.allow_unsigned)
            .finish_non_exhaustive()
    }
}

/// Webhooks that an agent accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    /// Address for senders. It is no secret.
    pub url: String,
    /// True if a secret is stored. It is never shown.
    pub has_secret: bool,
    pub allow_unsigned: bool,
}
