//! Renders provenance: the line with a message's kind, its origin, its authority and its time.
//!
//! The line stands above every message, so it has only what a model judges a message by. How the message came in, its
//! surface and its admission, follows from its origin and its authority, and stays in the record. Everything on the line
//! is either spelled by the runtime or quoted, so no sender can write a line of its own.

use crate::visible;
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{MessageEnvelope, MessageKind, Origin};
use serde::Serialize;
use std::fmt;

/// Displays the stored spelling of an enum without data.
struct StoredSpelling<T>(T);

impl<T: Serialize> fmt::Display for StoredSpelling<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

/// Returns the stored spelling of an enum without data.
pub(crate) fn spelled(value: impl Serialize) -> String {
    StoredSpelling(value).to_string()
}

/// Names the kind of a message. A text that came on the operator's way without the operator's authority is no prompt.
fn kind(message: &MessageEnvelope) -> String {
    let is_external = message.kind == MessageKind::OperatorPrompt
        && message.authority_class == AuthorityClass::ExternalEvidence;
    if is_external {
        "external_text".to_owned()
    } else {
        spelled(message.kind)
    }
}

/// Renders the whole line, for a message that is to be acted on.
pub(crate) fn full(message: &MessageEnvelope) -> String {
    format!(
        "[message={} kind={} origin={} authority_class={} received_at={}]",
        message.id,
        kind(message),
        origin(&message.origin),
        StoredSpelling(message.authority_class),
        message.created_at,
    )
}

/// Renders the part of the line that is needed in history.
pub(crate) fn short(message: &MessageEnvelope) -> String {
    format!(
        "[kind={} origin={} authority_class={} received_at={}]",
        kind(message),
        origin(&message.origin),
        StoredSpelling(message.authority_class),
        message.created_at,
    )
}

/// Names the sender of a message.
pub(crate) fn sender(message: &MessageEnvelope) -> String {
    origin(&message.origin)
}

fn origin(origin: &Origin) -> String {
    let with = |kind: &str, name: Option<&str>| match name {
        Some(name) => format!("{kind}:{}", visible::name(name)),
        None => kind.to_owned(),
    };
    match origin {
        Origin::Operator { actor_id } => with("operator", actor_id.as_deref()),
        Origin::Channel {
            channel_id,
            sender_id,
        } => with(&with("channel", Some(channel_id)), sender_id.as_deref()),
        Origin::Webhook { source, event_type } => {
            with(&with("webhook", Some(source)), event_type.as_deref())
        }
        Origin::Callback {
            descriptor_id,
            source,
        } => with(&with("callback", Some(descriptor_id)), source.as_deref()),
        Origin::Timer { timer_id } => with("timer", Some(timer_id.as_str())),
        Origin::System { subsystem } => with("system", Some(subsystem)),
        Origin::Task { task_id } => with("task", Some(task_id.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_with_the_operators_authority_is_called_a_prompt() {
        let message = |authority_class: AuthorityClass| {
            let envelope = serde_json::json!({
                "id": "msg_1", "agent_id": "main", "created_at": "2026-11-14T21:46:40.123Z", "kind": "operator_prompt",
                "origin": {"kind": "operator"}, "trust": "trusted_operator", "authority_class": authority_class,
                "priority": "normal", "trigger_kind": "external_event", "body": {"type": "text", "text": "x"},
                "delivery_surface": "http_control_prompt", "admission_context": "control_authenticated",
            });
            let message: MessageEnvelope = serde_json::from_value(envelope).expect("a message");
            [full(&message), short(&message)]
        };
        for line in message(AuthorityClass::ExternalEvidence) {
            assert!(line.contains("kind=external_text "), "{line}");
        }
        for line in message(AuthorityClass::OperatorInstruction) {
            assert!(line.contains("kind=operator_prompt "), "{line}");
        }
    }
}
