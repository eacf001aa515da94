//! A shorter spelling of stored JSON, for rows that are written for every turn.
//!
//! Names of fields and frequent values are replaced by codes of one or two characters (`words`). The events of one
//! decision are packed together: a field that several of them repeat, such as the run, is written once. Packed text
//! begins with a mark that no JSON text begins with, so that rows of earlier builds are told apart and read as they are.
//! Invariant: what is unpacked equals what was packed, also for names and values that are not in the list of words.

mod words;

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

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

/// Packs one value.
#[must_use]
pub fn pack(value: &Value) -> String {
    let mut text = String::from(MARK);
    write_value(&mut text, value, &BTreeMap::new());
    text
}

/// Returns the value of packed text, or `None` if the text is not packed.
///
/// # Errors
/// Fails if the text is damaged or has a code that this build does not know.
pub fn unpack(text: &str) -> Result<Option<Value>, UnreadableText> {
    let Some(packed) = text.strip_prefix(MARK) else {
        return Ok(None);
    };
    read_value(parse(packed)?, &[]).map(Some)
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

/// Finds the fields that at least two events have with the same value, by their packed names. Of a field with several
/// values only one is shared.
fn shared_fields(events: &[StoredEvent]) -> BTreeMap<Cow<'_, str>, &Value> {
    let mut seen: BTreeMap<&str, (&Value, usize)> = BTreeMap::new();
    let fields = events.iter().filter_map(|event| event.payload.as_object());
    for (name, value) in fields.flatten() {
        let found = seen.entry(name).or_insert((value, 0));
        if found.0 == value {
            found.1 += 1;
        } else if found.1 == 1 {
            *found = (value, 1);
        }
    }
    let repeated = seen.into_iter().filter(|(_, (_, count))| *count > 1);
    repeated
        .map(|(name, (value, _))| (spell(name), value))
        .take(SHARED_FIELDS)
        .collect()
}

/// Returns the places of shared strings, by the string. A word is shorter than its place.
fn string_places<'a>(shared: &BTreeMap<Cow<'_, str>, &'a Value>) -> BTreeMap<&'a str, usize> {
    let strings = shared.values().enumerate();
    strings
        .filter_map(|(place, value)| Some((value.as_str()?, place)))
        .filter(|(string, _)| string.len() > CODE_BYTES && words::code(string).is_none())
        .collect()
}

/// Writes an event as its kind, the bits of its shared fields, its other fields, and its version. The last two are left
/// out if there are no other fields and the version is 1.
fn write_event(
    text: &mut String,
    event: &StoredEvent,
    shared: &BTreeMap<Cow<'_, str>, &Value>,
    places: &BTreeMap<&str, usize>,
) {
    text.push('[');
    write_string(text, &spell(&event.kind));
    let (bits, rest) = match &event.payload {
        Value::Object(fields) => split(fields, shared),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            (0, Vec::new())
        }
    };
    text.push_str(&format!(",{bits}"));
    if !event.payload.is_object() {
        text.push(',');
        write_value(text, &event.payload, places);
    } else if !rest.is_empty() || event.version != 1 {
        text.push(',');
        write_fields(text, rest.into_iter(), places);
    }
    if event.version != 1 {
        text.push_str(&format!(",{}", event.version));
    }
    text.push(']');
}

/// Splits the fields of a payload into the bits of those that are shared and the others.
fn split<'a>(
    fields: &'a Map<String, Value>,
    shared: &BTreeMap<Cow<'_, str>, &Value>,
) -> (u64, Vec<(&'a String, &'a Value)>) {
    let mut bits = 0;
    let mut rest = Vec::new();
    for (name, value) in fields {
        let coded = spell(name);
        let place = shared.keys().position(|known| *known == coded);
        match place.filter(|_| shared.get(&coded) == Some(&value)) {
            Some(place) => bits |= 1 << place,
            None => rest.push((name, value)),
        }
    }
    (bits, rest)
}

fn write_value(text: &mut String, value: &Value, places: &BTreeMap<&str, usize>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => text.push_str(&value.to_string()),
        Value::String(string) => match places.get(string.as_str()) {
            Some(place) => write_string(text, &format!("{SHARED}{place}")),
            None => write_string(text, &spell(string)),
        },
        Value::Array(values) => {
            text.push('[');
            for (at, value) in values.iter().enumerate() {
                separate(text, at);
                write_value(text, value, places);
            }
            text.push(']');
        }
        Value::Object(fields) => write_fields(text, fields.iter(), places),
    }
}

fn write_fields<'a>(
    text: &mut String,
    fields: impl Iterator<Item = (&'a String, &'a Value)>,
    places: &BTreeMap<&str, usize>,
) {
    text.push('{');
    for (at, (name, value)) in fields.enumerate() {
        separate(text, at);
        write_string(text, &spell(name));
        text.push(':');
        write_value(text, value, places);
    }
    text.push('}');
}

fn write_string(text: &mut String, string: &str) {
    text.push_str(&Value::from(string).to_string());
}

fn separate(text: &mut String, at: usize) {
    if at > 0 {
        text.push(',');
    }
}

/// Spells a string: by its code, marked if it looks like something else, or as it is.
fn spell(string: &str) -> Cow<'_, str> {
    if let Some(code) = words::code(string) {
        return Cow::Borrowed(code);
    }
    let looks_coded = (1..=CODE_BYTES).contains(&string.len());
    if looks_coded || string.starts_with([MARK, SHARED]) {
        return Cow::Owned(format!("{MARK}{string}"));
    }
    Cow::Borrowed(string)
}

fn parse(text: &str) -> Result<Value, UnreadableText> {
    serde_json::from_str(text).map_err(|error| UnreadableText(error.to_string()))
}

/// Reads the shared fields in the order of their packed names, which gives them their places.
fn read_shared_fields(packed: Value) -> Result<Vec<(String, Value)>, UnreadableText> {
    match packed {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| Ok((read_name(name)?, read_value(value, &[])?)))
            .collect(),
        other => Err(unexpected(&other)),
    }
}

fn read_event(packed: Value, shared: &[(String, Value)]) -> Result<StoredEvent, UnreadableText> {
    let mut parts = match packed {
        Value::Array(parts) => parts.into_iter(),
        other => return Err(unexpected(&other)),
    };
    let kind = match parts.next() {
        Some(Value::String(kind)) => read_name(kind)?,
        other => return Err(unexpected(&other.unwrap_or_default())),
    };
    let bits = parts.next().unwrap_or_default();
    let bits = bits.as_u64().ok_or_else(|| unexpected(&bits))?;
    let payload = parts.next().unwrap_or_else(|| Value::Object(Map::new()));
    let mut payload = read_value(payload, shared)?;
    if let Value::Object(fields) = &mut payload {
        let own = (0..u64::BITS).zip(shared);
        let own = own.filter(|(place, _)| (bits >> place) & 1 == 1);
        fields.extend(own.map(|(_, field)| field.clone()));
    }
    let version = parts.next().unwrap_or_else(|| Value::from(1));
    let version = version.as_u64().and_then(|version| version.try_into().ok());
    Ok(StoredEvent {
        kind,
        version: version.ok_or_else(|| UnreadableText("no version".to_owned()))?,
        payload,
    })
}

fn read_value(packed: Value, shared: &[(String, Value)]) -> Result<Value, UnreadableText> {
    Ok(match packed {
        Value::Null | Value::Bool(_) | Value::Number(_) => packed,
        Value::String(string) => match string.strip_prefix(SHARED) {
            Some(place) => read_shared(place, shared)?,
            None => Value::String(read_name(string)?),
        },
        Value::Array(values) => {
            let values = values.into_iter().map(|value| read_value(value, shared));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(name, value)| Ok((read_name(name)?, read_value(value, shared)?)));
            Value::Object(fields.collect::<Result<_, UnreadableText>>()?)
        }
    })
}

fn read_shared(place: &str, shared: &[(String, Value)]) -> Result<Value, UnreadableText> {
    let place: Option<usize> = place.parse().ok();
    let found = place.and_then(|place| shared.get(place));
    let (_, value) = found.ok_or_else(|| UnreadableText("no such shared field".to_owned()))?;
    Ok(value.clone())
}

/// Reads a string that is not shared.
fn read_name(string: String) -> Result<String, UnreadableText> {
    if let Some(literal) = string.strip_prefix(MARK) {
        return Ok(literal.to_owned());
    }
    if !(1..=CODE_BYTES).contains(&string.len()) {
        return Ok(string);
    }
    let word = words::word(&string);
    word.map(str::to_owned)
        .ok_or_else(|| UnreadableText(format!("unknown code {string:?}")))
}

fn unexpected(value: &Value) -> UnreadableText {
    UnreadableText(format!(
        "unexpected {}",
        crate::text::preview(&value.to_string(), 80)
    ))
}

#[cfg(test)]
mod tests;
