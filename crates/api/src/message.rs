//! Putting messages into an agent's queue.
//!
//! Who vouches for a message is decided by the door it came through. The fields below that speak of trust exist
//! only so that a caller who sends one is told why it is refused.

use holon_domain::message::{Body, MessageKind, Origin, Priority};
use holon_domain::{AgentId, MessageId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// `POST /control/agents/{id}/prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptRequest {
    /// The operator's words.
    pub text: String,
    /// Its band; `interject` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The most model rounds its turn may take, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}

/// `POST /agents/{id}/enqueue`. Exactly one of `body`, `text` and `json` is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnqueueRequest {
    /// `webhook_event` when neither it nor an origin is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MessageKind>,
    /// `next`, `normal` or `background`; `normal` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The payload with its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// The payload as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The payload as a JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Whatever else belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Ties related messages together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// What caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// A channel or a webhook; `webhook` with source `http` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Not accepted.
    #[serde(default, skip_serializing)]
    pub trust: Supplied,
    /// Not accepted.
    #[serde(default, skip_serializing)]
    pub authority: Supplied,
    /// Not accepted.
    #[serde(default, skip_serializing)]
    pub authority_class: Supplied,
}

impl EnqueueRequest {
    /// The name of the first field by which the caller tried to say how far it is to be trusted.
    #[must_use]
    pub const fn claimed_authority(&self) -> Option<&'static str> {
        match (self.trust, self.authority, self.authority_class) {
            (Supplied::Yes, _, _) => Some("trust"),
            (Supplied::No, Supplied::Yes, _) => Some("authority"),
            (Supplied::No, Supplied::No, Supplied::Yes) => Some("authority_class"),
            (Supplied::No, Supplied::No, Supplied::No) => None,
        }
    }
}

/// Whether a field that is not accepted was sent, with whatever value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Supplied {
    /// It was not.
    #[default]
    No,
    /// It was.
    Yes,
}

impl<'de> Deserialize<'de> for Supplied {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self::Yes)
    }
}

/// The message is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmittedResponse {
    /// Always true.
    pub ok: bool,
    /// Whose queue it is in.
    pub agent_id: AgentId,
    /// Its id.
    pub message_id: MessageId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_of_trust_is_noticed_whatever_its_value() {
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
