//! Tools that a request offers as free text, and their calls in that form.
//!
//! Owns the conversion between the text of a call and its arguments. The caller decides whether a model supports this
//! form. Invariants: text that was received as a call is sent back as the same text, and a call of any model in any
//! form can be encoded in the form of this request.

use holon_domain::tool::{FreeformGrammar, OfferedTool};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Prefix of the description of the input, because models otherwise write JSON.
const BARE: &str = "The input is the text itself, without JSON around it.";

/// Encodes the offer of a tool.
pub(super) fn encode_offer(tool: &OfferedTool, freeform: &FreeformGrammar) -> Value {
    json!({
        "type": "custom",
        "name": tool.name,
        "description": description(tool, freeform),
        "format": {
            "type": "grammar",
            "syntax": freeform.syntax.as_str(),
            "definition": freeform.definition,
        },
    })
}

/// Combines the tool's description with that of its text. The schema, which would describe the text, is not sent in
/// this form.
fn description(tool: &OfferedTool, freeform: &FreeformGrammar) -> String {
    let argument = tool.parameters.get("properties").and_then(|properties| {
        let argument = properties.get(&freeform.argument)?;
        argument.get("description")?.as_str()
    });
    let parts = [Some(tool.description.as_str()), Some(BARE), argument];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the argument that the text of a call becomes, if these tools contain one of this name that is offered as
/// free text.
pub(super) fn argument<'a>(tools: &'a [OfferedTool], name: &str) -> Option<&'a str> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let freeform = tool.freeform.as_ref()?;
    Some(&freeform.argument)
}

/// Converts the text of a call to arguments.
pub(super) fn arguments(argument: &str, text: &str) -> Value {
    Value::Object(Map::from_iter([(argument.to_owned(), json!(text))]))
}

/// Converts arguments to the text of a call. Arguments of another shape, which only a call in another form can have,
/// are shown as JSON.
pub(super) fn text<'a>(argument: &str, input: &'a Value) -> Cow<'a, str> {
    match input {
        Value::String(raw) => Cow::Borrowed(raw),
        Value::Object(members) => match (members.len(), members.get(argument)) {
            (1, Some(Value::String(text))) => Cow::Borrowed(text),
            (_, Some(_) | None) => Cow::Owned(input.to_string()),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Cow::Owned(input.to_string())
        }
    }
}
