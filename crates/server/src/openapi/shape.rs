//! The spelling of schemas that generators of clients read: no schema is a boolean, and a set of words is a plain `enum`.
//!
//! Both spellings mean the same; a test compares what they accept.

use serde_json::{Map, Value, json};

/// Members of a schema that hold a map of schemas by name.
const MAPS: [&str; 3] = ["properties", "patternProperties", "$defs"];
/// Members that hold a schema. `additionalProperties` stays a boolean where it is one: generators read that.
const SINGLE: [&str; 3] = ["items", "not", "contains"];
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Rewrites a schema and every schema inside it.
pub(super) fn spell_plainly(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({ "not": {} }),
        Value::Object(members) => spell_members(members),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}

fn spell_members(members: &mut Map<String, Value>) {
    for name in MAPS {
        if let Some(Value::Object(schemas)) = members.get_mut(name) {
            schemas.values_mut().for_each(spell_plainly);
        }
    }
    for name in SINGLE {
        if let Some(schema) = members.get_mut(name) {
            spell_plainly(schema);
        }
    }
    if let Some(schema @ Value::Object(_)) = members.get_mut("additionalProperties") {
        spell_plainly(schema);
    }
    for name in LISTS {
        if let Some(Value::Array(schemas)) = members.get_mut(name) {
            schemas.iter_mut().for_each(spell_plainly);
        }
    }
    if let Some(words) = members.get("oneOf").and_then(words_of) {
        members.remove("oneOf");
        describe_words(members, &words);
        let words: Vec<&str> = words.iter().map(|word| word.word.as_str()).collect();
        members.insert("type".to_owned(), json!("string"));
        members.insert("enum".to_owned(), json!(words));
    }
}

/// One word of a set, with its meaning if the type describes it.
struct Word {
    word: String,
    meaning: Option<String>,
}

/// Returns the words of alternatives that are all words.
fn words_of(alternatives: &Value) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    for alternative in alternatives.as_array()? {
        let only = alternative.get("const").map(std::slice::from_ref);
        let listed = alternative.get("enum").and_then(Value::as_array);
        for word in only.or_else(|| listed.map(Vec::as_slice))? {
            words.push(Word {
                word: word.as_str()?.to_owned(),
                meaning: text_of(alternative.get("description")),
            });
        }
    }
    (!words.is_empty()).then_some(words)
}

/// Adds the meanings of words to the description of their set, one line each.
fn describe_words(members: &mut Map<String, Value>, words: &[Word]) {
    let mut lines: Vec<String> = text_of(members.get("description")).into_iter().collect();
    for word in words {
        if let Some(meaning) = &word.meaning {
            lines.push(format!("`{}`: {meaning}", word.word));
        }
    }
    if !lines.is_empty() {
        members.insert("description".to_owned(), json!(lines.join("\n")));
    }
}

fn text_of(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_an_enum_with_their_meanings_and_booleans_become_schemas() {
        let mut schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "anything": true,
                "nothing": false,
                "list": { "type": "array", "items": true },
                "kind": {
                    "description": "Kind of it.",
                    "oneOf": [
                        { "type": "string", "enum": ["a", "b"] },
                        { "type": "string", "const": "c", "description": "The third." },
                    ],
                },
                "mixed": { "oneOf": [{ "const": "x" }, { "type": "object" }] },
                "number": { "oneOf": [{ "const": 1 }, { "const": 2 }] },
            },
        });
        spell_plainly(&mut schema);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "anything": {},
                    "nothing": { "not": {} },
                    "list": { "type": "array", "items": {} },
                    "kind": {
                        "description": "Kind of it.\n`c`: The third.",
                        "type": "string",
                        "enum": ["a", "b", "c"],
                    },
                    "mixed": { "oneOf": [{ "const": "x" }, { "type": "object" }] },
                    "number": { "oneOf": [{ "const": 1 }, { "const": 2 }] },
                },
            })
        );
    }
}
