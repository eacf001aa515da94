//! Rewrites a tool's source schema to the form that a provider is sent.
//!
//! Owns the two modes and their rules; does not know any provider. Invariant: in both modes every object schema is
//! closed; in strict mode every property is required and a source-optional one accepts null, at every depth. A relaxed
//! schema is part of every request, so it says nothing that the tool checks itself.

use crate::schema;
use crate::tool::apply_patch;
use holon_domain::tool::{OfferedTool, ToolSpec};
use serde_json::{Map, Value, json};

/// Keywords that a relaxed schema leaves out. Each tool checks the bounds itself and names them in its error; the
/// descriptions state the bounds and defaults that a model needs.
const BOUNDS: [&str; 8] = [
    "default",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
];

/// Strictness with which a provider holds a model to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaMode {
    /// The schema is guidance; optional arguments may be left out.
    Relaxed,
    /// The schema is enforced; optional arguments are present and may be null.
    Strict,
}

/// Emits a tool in the form that a provider is sent.
#[must_use]
pub fn emit(spec: &ToolSpec, mode: SchemaMode) -> OfferedTool {
    let mut parameters = spec.input_schema.clone();
    schema::visit(&mut parameters, &mut |node| {
        close(node, mode);
        match mode {
            SchemaMode::Relaxed => node.retain(|keyword, _| !BOUNDS.contains(&keyword.as_str())),
            SchemaMode::Strict => {}
        }
    });
    OfferedTool {
        name: spec.name.clone(),
        description: spec.description.clone(),
        parameters,
        strict: mode == SchemaMode::Strict,
        freeform: (spec.name == apply_patch::NAME).then(apply_patch::freeform),
    }
}

/// Applies the mode's rules to one schema, if it describes an object.
fn close(node: &mut Map<String, Value>, mode: SchemaMode) {
    if !describes_object(node) {
        return;
    }
    node.insert("additionalProperties".into(), json!(false));
    // Some servers refuse an object schema without `properties`, even if it has none.
    let mut properties = match node.remove("properties") {
        Some(Value::Object(properties)) => properties,
        Some(_) | None => Map::new(),
    };
    match mode {
        SchemaMode::Relaxed => {}
        SchemaMode::Strict => {
            let required = required(node);
            for (name, property) in &mut properties {
                if !required.contains(name) {
                    make_nullable(property);
                }
            }
            node.insert(
                "required".into(),
                json!(properties.keys().collect::<Vec<_>>()),
            );
        }
    }
    node.insert("properties".into(), Value::Object(properties));
}

fn describes_object(node: &Map<String, Value>) -> bool {
    let named = match node.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(_) | None => false,
    };
    named || node.contains_key("properties")
}

fn required(node: &Map<String, Value>) -> Vec<String> {
    let names = node
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Makes a schema accept null beside what it accepted.
fn make_nullable(schema: &mut Value) {
    let Value::Object(node) = schema else { return };
    if let Some(only) = node.remove("const") {
        node.insert("enum".into(), json!([only]));
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        add(values, Value::Null);
    }
    for alternatives in ["anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = node.get_mut(alternatives) {
            // Two alternatives that both accept null would break `oneOf`, so null is added only if none accepts it.
            if !schemas.iter().any(accepts_null) {
                schemas.push(json!({"type": "null"}));
            }
        }
    }
    match node.get_mut("type") {
        Some(Value::Array(names)) => add(names, json!("null")),
        Some(Value::String(name)) if name != "null" => {
            let names = json!([name, "null"]);
            node.insert("type".into(), names);
        }
        Some(_) | None => {}
    }
    // A reference, or a conjunction, cannot be widened in place.
    if node.contains_key("$ref") || node.contains_key("allOf") {
        let mut wrapper = Map::new();
        if let Some(description) = node.remove("description") {
            wrapper.insert("description".into(), description);
        }
        wrapper.insert("anyOf".into(), json!([node, {"type": "null"}]));
        *schema = Value::Object(wrapper);
    }
}

pub(crate) fn accepts_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "null",
        Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
        Some(_) | None => schema
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| values.contains(&Value::Null)),
    }
}

fn add(list: &mut Vec<Value>, value: Value) {
    if !list.contains(&value) {
        list.push(value);
    }
}
