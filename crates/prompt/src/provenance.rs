//! Renders provenance: the line with a message's kind, its origin, its authority and its time.
//!
//! The line stands above every message, so it has only what a model judges a message by. How the message came in, its
//! surface and its admission, follows from its origin and its authority, and stays in the record. Everything on the line
//! is either spelled by the runtime or quoted, so no sender can write a line of its own.

use crate::visible;
use holon_domain::message::{MessageEnvelope, Origin};
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

/// Renders the whole line, for a message that is to be acted on.
pub(crate) fn full(message: &MessageEnvelope) -> String {
    format!(
        "[message={} kind={} origin={} authority_class={} received_at={}]",
        message.id,
        StoredSpelling(message.kind),
        origin(&message.origin),
        StoredSpelling(message.authority_class),
        message.created_at,
    )
}

/// Renders the part of the line that is needed in history.
pub(crate) fn short(message: &MessageEnvelope) -> String {
    format!(
        "[kind={} origin={} authority_class={} received_at={}]",
        StoredSpelling(message.kind),
        origin(&message.origin),
        StoredSpelling(message.authority_class),
        message.created_at,
    )
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
