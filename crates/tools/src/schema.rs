//! Derives source schemas from typed arguments with `schemars`, and walks over schemas.
//!
//! Does not know emission modes (`emission`). Invariant: the walk visits every schema inside a schema and nothing else,
//! so a property named `title` is never mistaken for a keyword.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// Keywords whose value is one schema.
const ONE: [&str; 10] = [
    "items",
    "additionalProperties",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "additionalItems",
];
/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value maps names to schemas.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// Derives the schema of typed arguments in the form that is published.
pub(crate) fn source<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    // Only the shape of the root is published; the tool's own description replaces the root's.
    if let Value::Object(root) = &mut schema {
        root.remove("$schema");
        root.remove("description");
    }
    visit(&mut schema, &mut strip_noise);
    schema
}

/// Visits every schema object inside `schema`, inner ones first.
pub(crate) fn visit(schema: &mut Value, act: &mut dyn FnMut(&mut Map<String, Value>)) {
    // `items` may be a list in older dialects; boolean schemas have nothing inside.
    if let Value::Array(list) = schema {
        list.iter_mut().for_each(|item| visit(item, act));
    }
    let Value::Object(node) = schema else { return };
    for key in ONE {
        if let Some(inner) = node.get_mut(key) {
            visit(inner, act);
        }
    }
    for key in LIST {
        if let Some(Value::Array(list)) = node.get_mut(key) {
            list.iter_mut().for_each(|item| visit(item, act));
        }
    }
    for key in NAMED {
        if let Some(Value::Object(named)) = node.get_mut(key) {
            named.values_mut().for_each(|item| visit(item, act));
        }
    }
    act(node);
}

/// Removes what does not help a model: Rust type names, Rust integer widths, null defaults, and the line breaks of our
/// source text.
fn strip_noise(node: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = node.get_mut("description") {
        *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    node.remove("title");
    let rust_width = |format: &Value| {
        format
            .as_str()
            .is_some_and(|f| f.starts_with("uint") || f.starts_with("int"))
    };
    if node.get("format").is_some_and(rust_width) {
        node.remove("format");
    }
    if node.get("default").is_some_and(Value::is_null) {
        node.remove("default");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_property_named_like_a_keyword_is_kept() {
        let mut schema = json!({
            "title": "Args",
            "type": "object",
            "properties": {"title": {"title": "Title", "type": "string"}, "format": {"type": "integer", "format": "uint64"}},
        });
        visit(&mut schema, &mut strip_noise);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {"title": {"type": "string"}, "format": {"type": "integer"}},
            })
        );
    }

    #[test]
    fn the_walk_reaches_every_nested_schema_once() {
        let mut schema = json!({
            "mark": 0,
            "items": {"mark": 0, "anyOf": [{"mark": 0}, true]},
            "properties": {"a": {"mark": 0, "prefixItems": [{"mark": 0}]}},
            "$defs": {"D": {"mark": 0, "oneOf": [{"mark": 0}], "not": {"mark": 0}}},
            "enum": [{"mark": 0}],
        });
        let mut seen = 0;
        visit(&mut schema, &mut |node| {
            assert_eq!(node.insert("mark".into(), json!(1)), Some(json!(0)));
            seen += 1;
        });
        assert_eq!(seen, 8);
        assert_eq!(
            schema["enum"],
            json!([{"mark": 0}]),
            "a value is not a schema"
        );
    }
}
