//! Writes packed text: which fields are shared, and how a name or a value is spelled.

use super::{CODE_BYTES, MARK, SHARED, SHARED_FIELDS, StoredEvent, times, words};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Finds the fields that at least two events have with the same value, by their packed names. Of a field with several
/// values only one is shared.
pub(super) fn shared_fields(events: &[StoredEvent]) -> BTreeMap<Cow<'_, str>, &Value> {
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
pub(super) fn string_places<'a>(
    shared: &BTreeMap<Cow<'_, str>, &'a Value>,
) -> BTreeMap<&'a str, usize> {
    let strings = shared.values().enumerate();
    strings
        .filter_map(|(place, value)| Some((value.as_str()?, place)))
        .filter(|(string, _)| string.len() > CODE_BYTES && words::code(string).is_none())
        .collect()
}

/// Writes an event as its kind, the bits of its shared fields, its other fields, and its version. The last two are left
/// out if there are no other fields and the version is 1.
pub(super) fn write_event(
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
    write!(text, ",{bits}").ok();
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

pub(super) fn write_value(text: &mut String, value: &Value, places: &BTreeMap<&str, usize>) {
    match value {
        // Writing to a string cannot fail, here and above.
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            write!(text, "{value}").ok();
        }
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

pub(super) fn write_string(text: &mut String, string: &str) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if string.bytes().all(is_plain) {
        text.push('"');
        text.push_str(string);
        text.push('"');
    } else {
        text.push_str(&Value::from(string).to_string());
    }
}

pub(super) fn separate(text: &mut String, at: usize) {
    if at > 0 {
        text.push(',');
    }
}

/// Spells a string: by its code, as a time, marked if it looks like something else, or as it is.
fn spell(string: &str) -> Cow<'_, str> {
    if let Some(code) = words::code(string) {
        return Cow::Borrowed(code);
    }
    if let Some(time) = times::code(string) {
        return Cow::Owned(time);
    }
    let looks_coded = (1..=CODE_BYTES).contains(&string.len());
    if looks_coded || string.starts_with([MARK, SHARED]) {
        return Cow::Owned(format!("{MARK}{string}"));
    }
    Cow::Borrowed(string)
}
