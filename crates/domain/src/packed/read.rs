//! Reads packed text back to the values it was made from.

use super::{CODE_BYTES, MARK, SHARED, StoredEvent, UnreadableText, times, words};
use serde_json::{Map, Value};

pub(super) fn parse(text: &str) -> Result<Value, UnreadableText> {
    serde_json::from_str(text).map_err(|error| UnreadableText(error.to_string()))
}

/// Reads the shared fields in the order of their packed names, which gives them their places.
pub(super) fn read_shared_fields(packed: Value) -> Result<Vec<(String, Value)>, UnreadableText> {
    match packed {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| Ok((read_name(name)?, read_value(value, &[])?)))
            .collect(),
        other => Err(unexpected(&other)),
    }
}

pub(super) fn read_event(
    packed: Value,
    shared: &[(String, Value)],
) -> Result<StoredEvent, UnreadableText> {
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

pub(super) fn read_value(
    packed: Value,
    shared: &[(String, Value)],
) -> Result<Value, UnreadableText> {
    Ok(match packed {
        Value::Null | Value::Bool(_) | Value::Number(_) => packed,
        Value::String(string) => match string.strip_prefix(SHARED) {
            Some(place) if times::time(&string).is_none() => read_shared(place, shared)?,
            _ => Value::String(read_name(string)?),
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
    if let Some(time) = times::time(&string) {
        return Ok(time);
    }
    if !(1..=CODE_BYTES).contains(&string.len()) {
        return Ok(string);
    }
    let word = words::word(&string);
    word.map(str::to_owned)
        .ok_or_else(|| UnreadableText(format!("unknown code {string:?}")))
}

pub(super) fn unexpected(value: &Value) -> UnreadableText {
    UnreadableText(format!(
        "unexpected {}",
        crate::text::preview(&value.to_string(), 80)
    ))
}
