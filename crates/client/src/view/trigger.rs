//! External triggers and webhooks as this build decodes them.

use serde::Deserialize;

/// One external trigger of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Trigger {
    pub id: String,
    pub delivery_mode: String,
    pub status: String,
    /// Number of the URL, counted from 1.
    #[serde(default)]
    pub generation: u64,
    /// Number of deliveries so far.
    #[serde(default)]
    pub trigger_count: u64,
    /// Absent if there was no delivery.
    pub last_triggered_at: Option<String>,
}

/// An active trigger with its secret URL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RevealedTrigger {
    pub trigger_url: String,
    pub external_trigger: Trigger,
}

/// Response to a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Delivered {
    pub agent_id: String,
    /// Word for the effect of the delivery, such as `triggered`. Empty for a webhook, which always becomes a message.
    #[serde(default)]
    pub disposition: String,
    /// Message that the content became. Absent for a wake.
    pub message_id: Option<String>,
}

/// Webhooks that an agent accepts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Webhook {
    pub agent_id: String,
    /// Address for senders. It is no secret.
    pub url: String,
    #[serde(default)]
    pub has_secret: bool,
    #[serde(default)]
    pub allow_unsigned: bool,
}
