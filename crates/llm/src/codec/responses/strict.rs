//! Reduces a tool's schema to the subset of JSON Schema that OpenAI accepts in strict mode.
//!
//! Owns which keywords are dropped and renamed. The emission of tools closes every object and requires every property.
//! The limits dropped here are still checked when a call is interpreted, so only a hint is lost.

use serde_json::{Map, Value};

/// Keywords the API refuses; each of them only narrows or annotates.
const DROPPED: [&str; 4] = ["default", "maxLength", "minLength", "title"];
/// Keywords whose value maps names to schemas.
const NAMED: [&str; 2] = ["properties", "$defs"];

/// Returns the schema without the keywords the API refuses.
pub(in crate::codec) fn reduce_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(node) => Value::Object(node.iter().filter_map(reduce_member).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            schema.clone()
        }
    }
}

fn reduce_member((key, value): (&String, &Value)) -> Option<(String, Value)> {
    if DROPPED.contains(&key.as_str()) {
        return None;
    }
    let value = match (key.as_str(), value) {
        (key, Value::Object(named)) if NAMED.contains(&key) => Value::Object(reduce_named(named)),
        ("anyOf" | "oneOf", Value::Array(list)) => list.iter().map(reduce_schema).collect(),
        ("items", inner) => reduce_schema(inner),
        (_, value) => value.clone(),
    };
    // The alternatives of our tools exclude each other, so both keywords mean the same; the API knows only `anyOf`.
    let key = if key == "oneOf" { "anyOf" } else { key };
    Some((key.to_owned(), value))
}

fn reduce_named(named: &Map<String, Value>) -> Map<String, Value> {
    let lower = |(name, schema): (&String, &Value)| (name.clone(), reduce_schema(schema));
    named.iter().map(lower).collect()
}
