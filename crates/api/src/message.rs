//! Requests that put messages into an agent's queue.
//!
//! The route a message is delivered through decides its authority. A prompt may ask for less. The trust fields of an
//! event from outside exist only so that the server can refuse them with a reason.

use holon_domain::authority::TrustLevel;
use holon_domain::message::{Body, MessageKind, Origin, Priority};
use holon_domain::{AgentId, MessageId};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Body of `POST /control/agents/{id}/prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptRequest {
    pub text: String,
    /// Digests of images that were uploaded with `POST /control/images`, at most 8. They stand behind the text in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Queue priority; when absent `interject`, or `next` if the trust is lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["interject", "next", "normal", "background"]))]
    pub priority: Option<Priority>,
    /// Upper bound on the model rounds of its turn, at least 1; `ROUNDS_PER_TURN` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Trust that the text deserves, `trusted_operator` when absent. A lower trust is honoured, and such a prompt may not
    /// interject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustLevel>,
}

/// Body of `POST /agents/{id}/enqueue`. Exactly one of `body`, `text` and `json` is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnqueueRequest {
    /// `webhook_event` when both kind and origin are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["operator_prompt", "channel_event", "webhook_event", "callback_event", "timer_tick", "system_tick", "task_result", "task_status", "control", "brief_ack", "brief_result", "internal_followup"]))]
    pub kind: Option<MessageKind>,
    /// `next`, `normal` or `background`; `normal` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["interject", "next", "normal", "background"]))]
    pub priority: Option<Priority>,
    /// Payload with its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub body: Option<Body>,
    /// Payload as plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Payload as a JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Caller's data about the message; stored and shown, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Caller-supplied id that links related messages; copied unchanged, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Caller-supplied id of the cause; copied unchanged, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// A channel or a webhook; `webhook` with source `http` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub origin: Option<Origin>,
    /// Refused when present, as the route decides the authority.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
    /// Refused when present, as `trust` is.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub authority: FieldPresence,
    /// Refused when present, as `trust` is.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub authority_class: FieldPresence,
}

impl EnqueueRequest {
    /// Returns the name of the first field by which the caller claims an authority, if it sent one.
    #[must_use]
    pub const fn claimed_authority(&self) -> Option<&'static str> {
        match (self.trust, self.authority, self.authority_class) {
            (FieldPresence::Present, _, _) => Some("trust"),
            (FieldPresence::Absent, FieldPresence::Present, _) => Some("authority"),
            (FieldPresence::Absent, FieldPresence::Absent, FieldPresence::Present) => {
                Some("authority_class")
            }
            (FieldPresence::Absent, FieldPresence::Absent, FieldPresence::Absent) => None,
        }
    }
}

/// Records that a field was sent, without its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldPresence {
    #[default]
    Absent,
    Present,
}

impl<'de> Deserialize<'de> for FieldPresence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self::Present)
    }
}

/// Response to a message that is stored in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdmittedResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    #[schemars(with = "String")]
    pub message_id: MessageId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_of_trust_is_noticed_with_any_value() {
        for (text, field) in [
            (r#"{"text":"x","trust":null}"#, "trust"),
            (r#"{"text":"x","authority":{"a":[1]}}"#, "authority"),
            (
                r#"{"text":"x","authority_class":"operator_instruction"}"#,
                "authority_class",
            ),
        ] {
            let request: EnqueueRequest = serde_json::from_str(text).expect("parses");
            assert_eq!(request.claimed_authority(), Some(field));
        }
        let plain: EnqueueRequest = serde_json::from_str(r#"{"text":"x"}"#).expect("parses");
        assert_eq!(plain.claimed_authority(), None);
    }

    #[test]
    fn a_request_that_is_built_here_never_names_the_refused_fields() {
        let request = EnqueueRequest {
            text: Some("hi".into()),
            ..EnqueueRequest::default()
        };
        assert_eq!(
            serde_json::to_string(&request).expect("serialises"),
            r#"{"text":"hi"}"#
        );
    }

    #[test]
    fn unknown_fields_are_refused() {
        for text in [
            r#"{"text":"x","authority_level":1}"#,
            r#"{"text":"x","nonsense":1}"#,
        ] {
            assert!(
                serde_json::from_str::<EnqueueRequest>(text).is_err(),
                "{text}"
            );
            assert!(
                serde_json::from_str::<PromptRequest>(text).is_err(),
                "{text}"
            );
        }
    }
}
