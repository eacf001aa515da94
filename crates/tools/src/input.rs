//! Turns the arguments that a model wrote into typed arguments, or into an error the model can act on.
//!
//! Tolerates what servers and strict emission do to correct arguments: an object packed into a string, no value at all
//! if there are no arguments, `null` for an absent one. A `null` is kept only where the tool's own schema accepts it as
//! a value, so that it can differ from an absent argument. Nothing else is tolerated; rules about values are in each
//! tool's file.

use crate::emission::accepts_null;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolErrorKind, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::fmt;

/// The owner of the arguments in error messages: a call, or one item of a list in a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    tool: &'a str,
    item: Option<usize>,
}

impl<'a> Subject<'a> {
    /// Arguments of a call of this tool.
    pub(crate) const fn call(tool: &'a str) -> Self {
        Self { tool, item: None }
    }

    /// Arguments of one item of a call, counted from 1.
    pub(crate) const fn item(tool: &'a str, number: usize) -> Self {
        Self {
            tool,
            item: Some(number),
        }
    }

    /// Builds an `invalid_tool_input` error with the common details.
    pub(crate) fn invalid(self, field: Option<&str>, parse_error: &str) -> ToolError {
        let parse_error = text::preview(parse_error, EVENT_PREVIEW_BYTES);
        let message = match field {
            Some(field) => format!(
                "invalid argument `{}` of {self}: {parse_error}",
                shown(field)
            ),
            None => format!("invalid arguments of {self}: {parse_error}"),
        };
        let mut details = self.details(field);
        details.insert("parse_error".into(), json!(parse_error));
        ToolError::new(ToolErrorKind::InvalidToolInput, message).details(Value::Object(details))
    }

    /// Names the tool, the item and the field for machines.
    pub(crate) fn details(self, field: Option<&str>) -> Map<String, Value> {
        let mut details = Map::from_iter([("tool_name".to_owned(), json!(self.tool))]);
        if let Some(number) = self.item {
            details.insert("item".into(), json!(number));
        }
        if let Some(field) = field {
            details.insert("field".into(), json!(shown(field)));
        }
        details
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Some(number) => write!(f, "item {number} of {}", self.tool),
            None => f.write_str(self.tool),
        }
    }
}

/// Builds an `invalid_tool_input` error about the arguments of a call.
pub(crate) fn invalid(tool: &str, field: Option<&str>, parse_error: &str) -> ToolError {
    Subject::call(tool).invalid(field, parse_error)
}

/// Returns the arguments as members of an object, unchanged.
pub(crate) fn members(
    subject: Subject<'_>,
    input: &Value,
) -> Result<Map<String, Value>, ToolError> {
    match input {
        Value::Object(members) => Ok(members.clone()),
        Value::Null => Ok(Map::new()),
        Value::String(packed) if packed.trim().is_empty() => Ok(Map::new()),
        Value::String(packed) => unpack(subject, packed),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err(not_an_object(subject, "the arguments are not an object"))
        }
    }
}

/// Returns true if the schema accepts `null` as a value of this argument.
fn takes_null(schema: &Value, name: &str) -> bool {
    let property = schema.get("properties").and_then(|all| all.get(name));
    property.is_some_and(accepts_null)
}

/// Returns true if this argument is given as `null`, in a schema where that differs from its absence.
pub(crate) fn is_null(subject: Subject<'_>, input: &Value, name: &str) -> Result<bool, ToolError> {
    let members = members(subject, input)?;
    Ok(members.get(name).is_some_and(Value::is_null))
}

fn unpack(subject: Subject<'_>, packed: &str) -> Result<Map<String, Value>, ToolError> {
    match serde_json::from_str(packed) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(not_an_object(
            subject,
            "the arguments are a string that holds no object",
        )),
        Err(error) => Err(not_an_object(
            subject,
            &format!("the arguments are a string that is not JSON: {error}"),
        )),
    }
}

fn not_an_object(subject: Subject<'_>, parse_error: &str) -> ToolError {
    subject.invalid(None, parse_error).hint(format!(
        "give the arguments of {subject} as one JSON object"
    ))
}

/// Parses the typed arguments of the tool `spec` describes.
pub(crate) fn parse<T: DeserializeOwned>(spec: &ToolSpec, input: &Value) -> Result<T, ToolError> {
    parse_typed(Subject::call(&spec.name), &spec.input_schema, input)
}

/// Parses typed arguments that `schema` describes.
pub(crate) fn parse_typed<T: DeserializeOwned>(
    subject: Subject<'_>,
    schema: &Value,
    input: &Value,
) -> Result<T, ToolError> {
    let mut members = members(subject, input)?;
    members.retain(|name, value| !value.is_null() || takes_null(schema, name));
    // Checked against the published schema first, so that the error names the argument and not a Rust type.
    if let Some(unknown) = members
        .keys()
        .find(|key| !properties(schema).any(|known| known == *key))
    {
        return Err(unknown_argument(subject, schema, unknown));
    }
    if let Some(missing) = required(schema).find(|name| !members.contains_key(*name)) {
        let error = subject.invalid(Some(missing), &format!("missing argument `{missing}`"));
        return Err(error.hint(arguments_hint(subject, schema)));
    }
    if let Some((name, problem)) = too_small(schema, &members) {
        let error = subject.invalid(Some(name), &problem);
        return Err(error.hint(arguments_hint(subject, schema)));
    }
    if let Some((name, given)) = quoted_number(schema, &members) {
        let problem = format!("{:?} is a string, and a number is needed", shown(given));
        let error = subject.invalid(Some(name), &problem);
        return Err(error.hint(number_hint(name)));
    }
    serde_json::from_value(Value::Object(members.clone())).map_err(|error| {
        let parse_error = error.to_string();
        let field = find_culprit::<T>(&members, &parse_error);
        subject
            .invalid(field.as_deref(), &parse_error)
            .hint(arguments_hint(subject, schema))
    })
}

/// Finds the first negative number where the schema allows none, and describes the mistake. Upper bounds are checked by
/// each tool, but no tool's type holds a negative number.
fn too_small<'a>(schema: &Value, members: &'a Map<String, Value>) -> Option<(&'a str, String)> {
    members.iter().find_map(|(name, value)| {
        let given = value.as_i64().filter(|given| *given < 0)?;
        let limits = schema.get("properties")?.get(name)?;
        let least = limits.get("minimum")?.as_i64()?;
        let problem = match limits.get("maximum").and_then(Value::as_u64) {
            Some(most) => format!("{given} is not between {least} and {most}"),
            None => format!("{given} is less than {least}"),
        };
        (given < least).then_some((name.as_str(), problem))
    })
}

/// Refuses an argument that the schema does not have, and names the one that is probably meant.
fn unknown_argument(subject: Subject<'_>, schema: &Value, unknown: &str) -> ToolError {
    let parse_error = format!("unknown argument `{}`", shown(unknown));
    let mut details = subject.details(Some(unknown));
    details.insert("parse_error".into(), json!(parse_error));
    let message = format!("{parse_error} of {subject}");
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, message);
    error
        .details(Value::Object(details))
        .hint(match meant(schema, unknown) {
            Some(name) => format!("call it `{name}`"),
            None => format!("leave it out; {}", arguments_hint(subject, schema)),
        })
}

/// Names that models give to arguments, with the names they have here.
const SYNONYMS: [(&str, &str); 8] = [
    ("command", "cmd"),
    ("script", "cmd"),
    ("cwd", "workdir"),
    ("directory", "workdir"),
    ("message", "text"),
    ("prompt", "text"),
    ("diff", "patch"),
    ("id", "work_item_id"),
];

/// Returns the argument of the schema that an unknown name stands for, if there is just one.
fn meant<'a>(schema: &'a Value, unknown: &str) -> Option<&'a str> {
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let asked = plain(unknown);
    let other = SYNONYMS.iter().filter(|(said, _)| *said == asked);
    let mut other = other.filter_map(|(_, name)| properties(schema).find(|known| known == name));
    if let Some(name) = other.next() {
        return Some(name);
    }
    let is_near = |known: &&str| {
        let known = plain(known);
        asked.len() >= 3 && (known.starts_with(&asked) || asked.starts_with(&known))
    };
    let mut near = properties(schema).filter(is_near);
    near.next().filter(|_| near.next().is_none())
}

/// Finds a string where the schema asks for a number.
fn quoted_number<'a>(
    schema: &Value,
    members: &'a Map<String, Value>,
) -> Option<(&'a str, &'a str)> {
    members.iter().find_map(|(name, value)| {
        let given = value.as_str()?;
        let kind = schema.get("properties")?.get(name)?.get("type")?.as_str()?;
        matches!(kind, "integer" | "number").then_some((name.as_str(), given))
    })
}

fn number_hint(name: &str) -> String {
    let is_time = name.ends_with("_ms") || name == "recheck_after";
    match is_time {
        true => "give a number of milliseconds without quotes or a unit: 5000 is five seconds"
            .to_owned(),
        false => "give a number without quotes".to_owned(),
    }
}

/// Finds the member that causes `parse_error`: the one that causes the same error on its own.
fn find_culprit<T: DeserializeOwned>(
    members: &Map<String, Value>,
    parse_error: &str,
) -> Option<String> {
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

/// Shortens a name that a model wrote, so that an error can repeat it.
pub(crate) fn shown(name: &str) -> String {
    text::preview(name, 80)
}

fn arguments_hint(subject: Subject<'_>, schema: &Value) -> String {
    let required: Vec<&str> = required(schema).collect();
    let known: Vec<String> = properties(schema)
        .map(|name| {
            if required.contains(&name) {
                format!("{name} (required)")
            } else {
                name.to_owned()
            }
        })
        .collect();
    if known.is_empty() {
        return format!("{subject} takes no arguments; call it with {{}}");
    }
    format!(
        "arguments of {subject}: {}; leave out what you do not need",
        known.join(", ")
    )
}

fn properties(schema: &Value) -> impl Iterator<Item = &str> {
    let named = schema.get("properties").and_then(Value::as_object);
    named
        .into_iter()
        .flat_map(|named| named.keys().map(String::as_str))
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let list = schema.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Deserializer};

    /// Arguments of which one may be cleared: absent, cleared or set.
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Args {
        #[serde(default, deserialize_with = "given")]
        blocked_by: Option<Option<String>>,
        #[serde(default)]
        note: Option<String>,
    }

    fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
        Option::deserialize(from).map(Some)
    }

    fn read(input: &Value) -> Args {
        let schema = json!({"properties": {
            "blocked_by": {"type": ["string", "null"]},
            "note": {"type": "string"},
        }});
        parse_typed(Subject::call("UpdateWorkItem"), &schema, input).expect("understood")
    }

    #[test]
    fn null_is_apart_from_absent_where_the_schema_takes_it_for_a_value() {
        assert_eq!(read(&json!({})).blocked_by, None);
        assert_eq!(read(&json!({"blocked_by": null})).blocked_by, Some(None));
        let set = read(&json!({"blocked_by": "review"})).blocked_by;
        assert_eq!(set, Some(Some("review".to_owned())));
    }

    #[test]
    fn null_elsewhere_is_an_absent_argument() {
        let args = read(&json!({"note": null, "unheard_of": null}));
        assert_eq!((args.note, args.blocked_by), (None, None));
    }
}
