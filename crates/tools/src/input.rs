//! From the arguments as a model wrote them to typed arguments, or to an error the model can act on.
//!
//! Forgives what servers and strict emission do to well-meant arguments: an object packed into a string, nothing at
//! all where there are no arguments, `null` where one is absent. Forgives nothing else; rules about values stand with
//! each tool.

use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolErrorKind, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The arguments of one call as members of an object, absent ones left out.
pub(crate) fn members(tool: &str, input: &Value) -> Result<Map<String, Value>, ToolError> {
    let mut members = match input {
        Value::Object(members) => members.clone(),
        Value::Null => Map::new(),
        Value::String(packed) if packed.trim().is_empty() => Map::new(),
        Value::String(packed) => unpack(tool, packed)?,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(not_an_object(tool, "the arguments are not an object"));
        }
    };
    members.retain(|_, value| !value.is_null());
    Ok(members)
}

fn unpack(tool: &str, packed: &str) -> Result<Map<String, Value>, ToolError> {
    match serde_json::from_str(packed) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(not_an_object(
            tool,
            "the arguments are a string that holds no object",
        )),
        Err(error) => Err(not_an_object(
            tool,
            &format!("the arguments are a string that is not JSON: {error}"),
        )),
    }
}

fn not_an_object(tool: &str, parse_error: &str) -> ToolError {
    invalid(tool, None, parse_error)
        .hint(format!("call {tool} with its arguments as one JSON object"))
}

/// Typed arguments of the tool `spec` describes.
pub(crate) fn parse<T: DeserializeOwned>(spec: &ToolSpec, input: &Value) -> Result<T, ToolError> {
    let members = members(&spec.name, input)?;
    // Checked against the published schema first, so the error names the argument and not a Rust type.
    if let Some(unknown) = members
        .keys()
        .find(|key| !properties(spec).any(|known| known == *key))
    {
        let error = invalid(
            &spec.name,
            Some(unknown),
            &format!("unknown argument `{}`", shown(unknown)),
        );
        return Err(error.hint(arguments_hint(spec)));
    }
    if let Some(missing) = required(spec).find(|name| !members.contains_key(*name)) {
        let error = invalid(
            &spec.name,
            Some(missing),
            &format!("missing argument `{missing}`"),
        );
        return Err(error.hint(arguments_hint(spec)));
    }
    serde_json::from_value(Value::Object(members.clone())).map_err(|error| {
        let parse_error = error.to_string();
        let field = culprit::<T>(&members, &parse_error);
        invalid(&spec.name, field.as_deref(), &parse_error).hint(arguments_hint(spec))
    })
}

/// The member that causes `parse_error`: the one that causes it also when it stands alone.
fn culprit<T: DeserializeOwned>(members: &Map<String, Value>, parse_error: &str) -> Option<String> {
    let alone = |key: &String, value: &Value| {
        let solo = Map::from_iter([(key.clone(), value.clone())]);
        serde_json::from_value::<T>(Value::Object(solo))
            .err()
            .map(|error| error.to_string())
    };
    members
        .iter()
        .find(|(key, value)| alone(key, value).as_deref() == Some(parse_error))
        .map(|(key, _)| key.clone())
}

/// `invalid_tool_input`, with the details every one of them carries.
pub(crate) fn invalid(tool: &str, field: Option<&str>, parse_error: &str) -> ToolError {
    let parse_error = text::preview(parse_error, EVENT_PREVIEW_BYTES);
    let mut details = json!({"tool_name": tool, "parse_error": parse_error});
    if let (Value::Object(details), Some(field)) = (&mut details, field) {
        details.insert("field".into(), json!(shown(field)));
    }
    let message = match field {
        Some(field) => format!(
            "invalid argument `{}` of {tool}: {parse_error}",
            shown(field)
        ),
        None => format!("invalid arguments of {tool}: {parse_error}"),
    };
    ToolError::new(ToolErrorKind::InvalidToolInput, message).details(details)
}

/// A name a model wrote, short enough to be repeated to it.
pub(crate) fn shown(name: &str) -> String {
    text::preview(name, 80)
}

fn arguments_hint(spec: &ToolSpec) -> String {
    let required: Vec<&str> = required(spec).collect();
    let known: Vec<String> = properties(spec)
        .map(|name| {
            if required.contains(&name) {
                format!("{name} (required)")
            } else {
                name.to_owned()
            }
        })
        .collect();
    if known.is_empty() {
        return format!("{} takes no arguments; call it with {{}}", spec.name);
    }
    format!(
        "arguments of {}: {}; leave out what you do not need",
        spec.name,
        known.join(", ")
    )
}

fn properties(spec: &ToolSpec) -> impl Iterator<Item = &str> {
    let named = spec
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    named
        .into_iter()
        .flat_map(|named| named.keys().map(String::as_str))
}

fn required(spec: &ToolSpec) -> impl Iterator<Item = &str> {
    let list = spec.input_schema.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}
