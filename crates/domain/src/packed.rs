//! A shorter spelling of stored JSON, for rows that are written for every turn.
//!
//! Names of fields and frequent values are replaced by codes of one or two characters (`words`), and times by shorter
//! numbers (`times`). The events of one decision are packed together: a field that several of them repeat, such as the
//! run, is written once. Packed text begins with a mark that no JSON text begins with, so that rows of earlier builds are
//! told apart and read as they are.
//! Invariant: what is unpacked equals what was packed, also for names and values that are not in the list of words.

mod read;
mod strings;
mod times;
mod words;
mod write;

use read::{parse, read_event, read_shared_fields, unexpected};
use serde_json::Value;
use std::collections::BTreeMap;
use write::{separate, shared_fields, string_places, write_event, write_string, write_value};

/// First character of packed text, and of a string inside that is not a code although it looks like one.
const MARK: char = '~';
/// First character of a string that stands for a shared field's value.
const SHARED: char = '=';
/// Longest code of a word. Strings of this length or less are codes, unless they are marked.
const CODE_BYTES: usize = 2;
/// Most fields that the events of a row share. Each is one bit in the events that have it.
const SHARED_FIELDS: usize = 32;

/// An event as it is stored: decoded only as far as its payload is JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    pub kind: String,
    pub version: u32,
    pub payload: Value,
}

/// Packed text that this build cannot read: damaged, or written by a build that knows more words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("packed text is unreadable: {0}")]
pub struct UnreadableText(String);

/// Packs the JSON text of one value, such as a message. It shares nothing with other rows. `None` if the text is no JSON
/// because a string has no end.
#[must_use]
pub fn pack(json: &str) -> Option<String> {
    strings::pack(json).ok()
}

/// Returns the JSON text that was packed, or `None` if the text is not packed. Only its strings are checked; a parser
/// finds other damage.
///
/// # Errors
/// Fails if a string is damaged or has a code that this build does not know.
pub fn unpack(text: &str) -> Result<Option<String>, UnreadableText> {
    text.strip_prefix(MARK).map(strings::unpack).transpose()
}

/// Packs the events of one decision.
#[must_use]
pub fn pack_events(events: &[StoredEvent]) -> String {
    let shared = shared_fields(events);
    let places = string_places(&shared);
    let mut text = format!("{MARK}[{{");
    for (at, (name, value)) in shared.iter().enumerate() {
        separate(&mut text, at);
        write_string(&mut text, name);
        text.push(':');
        write_value(&mut text, value, &BTreeMap::new());
    }
    text.push('}');
    for event in events {
        text.push(',');
        write_event(&mut text, event, &shared, &places);
    }
    text.push(']');
    text
}

/// Reads the events of a row, packed or written by an earlier build.
///
/// # Errors
/// Fails if the text is damaged or has a code that this build does not know.
pub fn unpack_events(text: &str) -> Result<Vec<StoredEvent>, UnreadableText> {
    let Some(packed) = text.strip_prefix(MARK) else {
        let plain: Vec<(String, u32, Value)> =
            serde_json::from_str(text).map_err(|error| UnreadableText(error.to_string()))?;
        let events = plain.into_iter();
        return Ok(events
            .map(|(kind, version, payload)| StoredEvent {
                kind,
                version,
                payload,
            })
            .collect());
    };
    let mut parts = match parse(packed)? {
        Value::Array(parts) => parts.into_iter(),
        other => return Err(unexpected(&other)),
    };
    let shared = read_shared_fields(parts.next().unwrap_or_default())?;
    parts.map(|event| read_event(event, &shared)).collect()
}

#[cfg(test)]
mod tests;
