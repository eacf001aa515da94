//! JSON schemas in words: the fields of an object and the type of a value.

use serde_json::Value;

/// The named schemas of a document.
pub(super) struct Schemas<'a>(&'a Value);

/// One field of an object, with its schema in each form that has it.
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    schemas: Vec<&'a Value>,
    pub(super) is_required: bool,
}

impl<'a> Field<'a> {
    /// The text of the first form that explains the field.
    pub(super) fn doc(&self) -> &'a str {
        let docs = |schema: &&'a Value| schema["description"].as_str();
        self.schemas.iter().find_map(docs).unwrap_or_default()
    }

    /// The types of all forms; any value if none has one.
    pub(super) fn describe_type(&self, schemas: &Schemas<'_>) -> String {
        let typed = self.schemas.iter().filter(|schema| !is_untyped(schema));
        let mut types: Vec<String> = Vec::new();
        for schema in typed {
            let described = describe_type(schema, schemas);
            if !types.contains(&described) {
                types.push(described);
            }
        }
        match types.is_empty() {
            true => ANY.to_owned(),
            false => join(&types),
        }
    }
}

const ANY: &str = "any value";
const PREFIX: &str = "#/components/schemas/";

impl<'a> Schemas<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        Self(&document["components"]["schemas"])
    }

    /// Follows a reference, and returns its name with what it leads to.
    fn resolve(&self, schema: &'a Value) -> (Option<&'a str>, &'a Value) {
        let reference = schema["$ref"].as_str();
        match reference.and_then(|reference| reference.strip_prefix(PREFIX)) {
            Some(name) => (Some(name), &self.0[name]),
            None => (None, schema),
        }
    }

    /// Returns what the schema says of itself, without a first sentence that only names its route.
    pub(super) fn doc(&self, schema: &'a Value) -> String {
        let (_, schema) = self.resolve(schema);
        let doc = schema["description"].as_str().unwrap_or_default();
        let doc = doc.replace('\n', " ");
        if doc.starts_with("Body of ") {
            let rest = doc.split_once(". ").map(|(_, rest)| rest);
            return rest.unwrap_or_default().to_owned();
        }
        doc
    }

    /// Returns the fields of an object, and of each of its forms those that it adds.
    pub(super) fn fields(&self, schema: &'a Value) -> Vec<Field<'a>> {
        let (_, object) = self.resolve(schema);
        let mut fields: Vec<Field<'a>> = Vec::new();
        for form in std::iter::once(object).chain(forms(object)) {
            let (_, form) = self.resolve(form);
            for (name, schema) in form["properties"].as_object().into_iter().flatten() {
                if is_absent(schema) {
                    continue;
                }
                match fields.iter_mut().find(|field| field.name == name) {
                    Some(field) => field.schemas.push(schema),
                    None => fields.push(Field {
                        name,
                        schemas: vec![schema],
                        is_required: is_required(name, object, form),
                    }),
                }
            }
        }
        fields.sort_by_key(|field| field.name);
        fields
    }
}

/// Returns true if a form does without a field, or if the field is refused.
fn is_absent(schema: &Value) -> bool {
    schema["type"] == "null" || schema.get("writeOnly").is_some()
}

/// Returns true if a form says of a field that it is given, and leaves its type to the others.
fn is_untyped(schema: &Value) -> bool {
    schema.get("not").is_some() && schema.get("type").is_none()
}

/// A field of a form is required if every form requires it.
fn is_required(name: &str, object: &Value, form: &Value) -> bool {
    let requires = |schema: &Value| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    requires(object) || (requires(form) && forms(object).all(requires))
}

fn forms(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .flat_map(move |key| schema[key].as_array().into_iter().flatten())
}

/// Describes the values that a schema accepts, without null: a field that may be null is optional anyway.
pub(super) fn describe_type(schema: &Value, schemas: &Schemas<'_>) -> String {
    let (name, schema) = schemas.resolve(schema);
    let words = words(schema, schemas);
    if !words.is_empty() {
        return join(&words);
    }
    if let Some(name) = name {
        return format!("`{name}`");
    }
    let mut types: Vec<String> = forms(schema)
        .filter(|form| form["type"] != "null")
        .map(|form| describe_type(form, schemas))
        .collect();
    types.dedup();
    if !types.is_empty() {
        return join(&types);
    }
    match type_name(schema) {
        Some("array") => format!("list of {}", describe_type(&schema["items"], schemas)),
        Some(name) => format!("{name}{}", bounds(schema)),
        None => ANY.to_owned(),
    }
}

/// The words that a value may be, if there is a closed list of them.
fn words(schema: &Value, schemas: &Schemas<'_>) -> Vec<String> {
    let quote = |word: &Value| match word.as_str() {
        Some(word) => format!("`{word}`"),
        None => format!("`{word}`"),
    };
    if let Some(word) = schema.get("const") {
        return vec![quote(word)];
    }
    if let Some(list) = schema["enum"].as_array() {
        return list
            .iter()
            .filter(|word| !word.is_null())
            .map(quote)
            .collect();
    }
    let mut all = Vec::new();
    for form in forms(schema).filter(|form| form["type"] != "null") {
        let (_, form) = schemas.resolve(form);
        let own = words(form, schemas);
        if own.is_empty() {
            return Vec::new();
        }
        all.extend(own);
    }
    all
}

fn type_name(schema: &Value) -> Option<&str> {
    let names = match &schema["type"] {
        Value::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    names
        .iter()
        .filter_map(Value::as_str)
        .find(|name| *name != "null")
}

/// The bounds of a number or of the length of a text. The largest number of a type is no bound that anyone chose.
fn bounds(schema: &Value) -> String {
    let chosen = |key: &str| {
        let number = schema[key].as_u64()?;
        let is_largest = [u64::from(u32::MAX), u64::MAX].contains(&number);
        (!is_largest).then_some(number)
    };
    if let Some(longest) = chosen("maxLength") {
        return format!(" of up to {longest} characters");
    }
    match (chosen("minimum"), chosen("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) if least > 0 => format!(" from {least}"),
        (None, Some(most)) => format!(" up to {most}"),
        (Some(_) | None, None) => String::new(),
    }
}

fn join(words: &[String]) -> String {
    match words {
        [one, other] => format!("{one} or {other}"),
        words => words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_told_in_words() {
        let document = json!({ "components": { "schemas": {
            "Trust": { "oneOf": [{ "const": "high", "description": "x" }, { "const": "low" }] },
            "View": { "type": "object" },
        } } });
        let schemas = Schemas::of(&document);
        let reference = |name: &str| json!({ "$ref": format!("{PREFIX}{name}") });
        for (schema, expected) in [
            (
                json!({ "type": ["integer", "null"], "minimum": 1, "maximum": u32::MAX }),
                "integer from 1",
            ),
            (
                json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
                "integer",
            ),
            (
                json!({ "type": "string", "maxLength": 64 }),
                "string of up to 64 characters",
            ),
            (
                json!({ "anyOf": [reference("Trust"), { "type": "null" }] }),
                "`high` or `low`",
            ),
            (
                json!({ "type": "array", "items": reference("View") }),
                "list of `View`",
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, reference("View")] }),
                "string or `View`",
            ),
            (json!(true), "any value"),
        ] {
            assert_eq!(describe_type(&schema, &schemas), expected, "{schema}");
        }
    }

    #[test]
    fn the_fields_of_all_forms_are_listed_once() {
        let document = json!({});
        let schemas = Schemas::of(&document);
        let form = |name: &str, other: &str| {
            json!({
                "properties": {
                    name: { "type": "string" }, other: { "type": "null" }, "text": {},
                    "kind": { "const": name }, "at": { "not": { "type": "null" } },
                },
                "required": [name, "text"],
            })
        };
        let schema = json!({ "anyOf": [form("json", "body"), form("body", "json")] });
        let fields = schemas.fields(&schema);
        let found: Vec<(&str, bool)> = fields
            .iter()
            .map(|field| (field.name, field.is_required))
            .collect();
        assert_eq!(
            found,
            [
                ("at", false),
                ("body", false),
                ("json", false),
                ("kind", false),
                ("text", true)
            ]
        );
        assert_eq!(fields[0].describe_type(&schemas), ANY);
        assert_eq!(fields[3].describe_type(&schemas), "`json` or `body`");
    }

    #[test]
    fn a_sentence_that_names_the_route_is_left_out() {
        let document = json!({});
        let schemas = Schemas::of(&document);
        for (text, expected) in [
            (
                "Body of `POST /x`. Exactly one\nof two.",
                "Exactly one of two.",
            ),
            ("Body of `POST /x`.", ""),
            ("A one-shot run.", "A one-shot run."),
        ] {
            let schema = json!({ "description": text });
            assert_eq!(schemas.doc(&schema), expected);
        }
    }
}
