//! One use of a capability: the content that came, and the account of it that is stored and answered.

use super::DeliveryMode;
use crate::id::{AgentId, MessageId, TriggerId, WaitId, WorkItemId};
use crate::message::Body;
use crate::nesting::is_too_deep;
use crate::time::Timestamp;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Payload of a delivery. It is evidence and never interpreted.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryContent {
    /// Media type as the sender wrote it. Absent if it named none.
    pub content_type: Option<String>,
    pub body: Body,
    /// Size of the payload as it was received.
    pub bytes: u64,
}

impl DeliveryContent {
    /// Takes a payload: JSON stays structured unless it is nested too deeply, text stays text, and anything else is wrapped with its type. A payload
    /// that contradicts its type is wrapped too.
    #[must_use]
    pub fn of(content_type: Option<String>, payload: &[u8]) -> Self {
        let essence = content_type.as_deref().map(essence_of);
        let text = || std::str::from_utf8(payload).ok().map(Body::text);
        let known = match essence.as_deref() {
            _ if payload.is_empty() => Some(Body::text("")),
            // A value that could not be stored and read again stays what was sent.
            Some(kind) if is_json(kind) && is_too_deep(payload) => text(),
            Some(kind) if is_json(kind) => {
                let value = serde_json::from_slice(payload).ok();
                value.map(|value| Body::Json { value })
            }
            Some(kind) if kind.starts_with("text/") => text(),
            Some(_) => None,
            None => text(),
        };
        let wrap = || Body::Json {
            value: json!({ "content_type": content_type, OPAQUE: STANDARD.encode(payload) }),
        };
        Self {
            body: known.unwrap_or_else(wrap),
            bytes: payload.len() as u64,
            content_type,
        }
    }

    /// Returns the payload as text; `None` if it is empty.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.body.is_contentful().then(|| self.body.render())
    }
}

/// Field of a wrapped payload that holds its bytes.
const OPAQUE: &str = "body_base64";

/// Returns the bytes of a wrapped payload, one character for each. `None` if the value wraps none.
#[must_use]
pub fn opaque_text(value: &Value) -> Option<String> {
    let encoded = value.get(OPAQUE)?.as_str()?;
    let bytes = STANDARD.decode(encoded).ok()?;
    Some(bytes.into_iter().map(char::from).collect())
}

/// Replaces the bytes of a wrapped payload. A character that is no byte is written in UTF-8.
pub fn set_opaque_text(value: &mut Value, text: &str) {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(u32::from(c)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    if let Some(encoded) = value.get_mut(OPAQUE) {
        *encoded = json!(STANDARD.encode(bytes));
    }
}

fn essence_of(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// A delivery to a capability whose token was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CallbackDelivery {
    pub trigger_id: TriggerId,
    /// Generation that the token proves. The decision accepts only the current one.
    pub generation: u64,
    /// Mode that the path names. It must be the one of the capability.
    pub mode: DeliveryMode,
    /// Name that the sender gives itself. Absent if it gave none.
    pub source: Option<String>,
    /// The sender's own id of the delivery. A repetition of it has no second effect. Absent if it gave none.
    pub delivery_id: Option<String>,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
    pub content: DeliveryContent,
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallbackDisposition {
    /// The content is a message in the agent's queue.
    Enqueued,
    /// The agent is told with its next tick.
    Triggered,
    /// The delivery joined a hint that the agent has not read yet.
    Coalesced,
    /// The delivery had no content, ended no wait and found no work to wake, so no model is told.
    Ignored,
}

/// Account of an accepted delivery, kept for repetitions of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackReceipt {
    pub external_trigger_id: TriggerId,
    pub target_agent_id: AgentId,
    pub delivery_mode: DeliveryMode,
    pub disposition: CallbackDisposition,
    /// Waits that the delivery ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wait_ids: Vec<WaitId>,
    /// Work items of those waits, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work_item_ids: Vec<WorkItemId>,
    /// Message that the content became. Absent for a wake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

/// The last delivery of a capability, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastDelivery {
    pub at: Timestamp,
    pub disposition: CallbackDisposition,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(content_type: Option<&str>, payload: &[u8]) -> Body {
        DeliveryContent::of(content_type.map(str::to_owned), payload).body
    }

    #[test]
    fn json_stays_json_text_stays_text_and_the_rest_is_wrapped() {
        let value = json!({ "a": [1] });
        for kind in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/cloudevents+json",
        ] {
            let read = body(Some(kind), br#"{"a":[1]}"#);
            assert_eq!(
                read,
                Body::Json {
                    value: value.clone()
                },
                "{kind}"
            );
        }
        let deep = format!("{}{}", "[".repeat(126), "]".repeat(126));
        let json = Some("application/json");
        assert_eq!(body(json, deep.as_bytes()), Body::text(deep.as_str()));
        assert_eq!(body(Some("text/plain"), b"hello"), Body::text("hello"));
        assert_eq!(body(None, b"hello"), Body::text("hello"));
        assert_eq!(body(None, b""), Body::text(""));
        assert_eq!(body(Some("application/json"), b""), Body::text(""));
        let wrapped = |kind: Option<&str>, base64: &str| Body::Json {
            value: json!({ "content_type": kind, "body_base64": base64 }),
        };
        let pdf = Some("application/pdf");
        assert_eq!(body(pdf, b"%PDF"), wrapped(pdf, "JVBERg=="));
        assert_eq!(body(None, b"\xff\xfe"), wrapped(None, "//4="));
        let text = Some("text/plain; charset=latin1");
        assert_eq!(body(text, b"\xe4"), wrapped(text, "5A=="));
        let broken = Some("application/json");
        assert_eq!(body(broken, b"{"), wrapped(broken, "ew=="));
    }
}
