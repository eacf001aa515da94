//! Ids, names and arguments in the letters and shapes that every protocol takes.
//!
//! A model may have written anything, and another provider may have let it pass; a request that repeats it must not
//! be refused for that.

use holon_domain::block::{OpaqueData, ToolCall};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashSet;

/// Longest id and longest name that every protocol takes.
const WIRE_CHARS: usize = 64;
/// How much of an id is kept where a number must go behind it.
const STEM_CHARS: usize = 48;

/// Which id each call has on the wire.
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

    /// Data that may go back to this model.
    pub(super) fn own<'a>(&self, opaque: Option<&'a OpaqueData>) -> Option<&'a str> {
        opaque
            .filter(|opaque| opaque.lineage == self.lineage)
            .map(|opaque| opaque.data.as_str())
    }

    /// The provider's own id if it may go back, is one every protocol takes and no other call has it.
    pub(super) fn of(&mut self, call: &ToolCall) -> String {
        let own = self
            .own(call.provider_id.as_ref())
            .filter(|id| is_plain(id) && !self.taken.contains(*id));
        let id = own.map_or_else(|| self.minted(call), str::to_owned);
        self.taken.insert(id.clone());
        id
    }

    /// The runtime's id, with a number behind it while another call has it.
    fn minted(&self, call: &ToolCall) -> String {
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

/// The name of a tool as every protocol takes it: what it does not take becomes `_`.
pub(super) fn name(written: &str) -> Cow<'_, str> {
    plain(written, WIRE_CHARS)
}

/// A call's arguments for a protocol that wants an object: what the model wrote instead stands under `_raw`.
pub(crate) fn object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => Value::Object(Map::new()),
        Value::String(raw) if raw.trim().is_empty() => Value::Object(Map::new()),
        Value::String(raw) => json!({ "_raw": raw }),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            json!({ "_raw": input.to_string() })
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
