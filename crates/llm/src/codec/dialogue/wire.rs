//! Respells ids, names and arguments so that every protocol accepts them.
//!
//! A model may have written anything, and another provider may have accepted it. A request that repeats it must not be
//! refused for that.

use holon_domain::block::{OpaqueData, ToolCall};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashSet;

/// Longest id and longest name, in characters, that every protocol accepts.
const WIRE_CHARS: usize = 64;
/// Characters kept of an id that gets a number appended.
const STEM_CHARS: usize = 48;

/// Assigns each call its id on the wire.
pub(super) struct WireIds<'m> {
    lineage: &'m str,
    taken: HashSet<String>,
}

impl<'m> WireIds<'m> {
    pub(super) fn new(lineage: &'m str) -> Self {
        Self {
            lineage,
            taken: HashSet::new(),
        }
    }

    /// Returns opaque data if it belongs to this lineage and so may be returned to the model.
    pub(super) fn own<'a>(&self, opaque: Option<&'a OpaqueData>) -> Option<&'a str> {
        opaque
            .filter(|opaque| opaque.lineage == self.lineage)
            .map(|opaque| opaque.data.as_str())
    }

    /// Returns the provider's own id if it may be returned, every protocol accepts it and no other call has it; else a
    /// minted one.
    pub(super) fn of(&mut self, call: &ToolCall) -> String {
        let own = self
            .own(call.provider_id.as_ref())
            .filter(|id| is_plain(id) && !self.taken.contains(*id));
        let id = own.map_or_else(|| self.mint_id(call), str::to_owned);
        self.taken.insert(id.clone());
        id
    }

    /// Returns the runtime's id, with a number appended while another call has it.
    fn mint_id(&self, call: &ToolCall) -> String {
        let id = plain(call.id.as_str(), WIRE_CHARS);
        if !self.taken.contains(id.as_ref()) {
            return id.into_owned();
        }
        let stem = plain(call.id.as_str(), STEM_CHARS);
        (2_u64..)
            .map(|n| format!("{stem}_{n}"))
            .find(|id| !self.taken.contains(id))
            .unwrap_or_default()
    }
}

/// Spells a tool's name for the wire: characters that a protocol refuses become `_`.
pub(super) fn name(written: &str) -> Cow<'_, str> {
    plain(written, WIRE_CHARS)
}

/// Converts a call's arguments for a protocol that requires an object; any other value is put under `_raw`.
pub(crate) fn object(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::Object(_) => Cow::Borrowed(input),
        Value::Null => Cow::Owned(Value::Object(Map::new())),
        Value::String(raw) if raw.trim().is_empty() => Cow::Owned(Value::Object(Map::new())),
        Value::String(raw) => Cow::Owned(json!({ "_raw": raw })),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Cow::Owned(json!({ "_raw": input.to_string() }))
        }
    }
}

fn is_plain(text: &str) -> bool {
    (1..=WIRE_CHARS).contains(&text.len()) && text.chars().all(is_plain_char)
}

fn plain(text: &str, most: usize) -> Cow<'_, str> {
    if is_plain(text) && text.len() <= most {
        return Cow::Borrowed(text);
    }
    let kept: String = text
        .chars()
        .take(most)
        .map(|c| if is_plain_char(c) { c } else { '_' })
        .collect();
    if kept.is_empty() {
        Cow::Borrowed("unknown")
    } else {
        Cow::Owned(kept)
    }
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}
