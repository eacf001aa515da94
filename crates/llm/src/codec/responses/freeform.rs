//! Tools that a request offers as free text, and their calls in that form.
//!
//! Owns the way between the text of a call and its arguments. Whether a model takes this form is decided before a
//! request gets here. Invariants: text that came as a call goes back as the same text; whoever made a call, and in
//! whatever form, it can be told in the form of this request.

use holon_domain::tool::{FreeformGrammar, OfferedTool};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Stands before what the text is, where a model would otherwise think of JSON.
const BARE: &str = "The input is the text itself, without JSON around it.";

/// The tool as it is offered.
pub(super) fn offered(tool: &OfferedTool, freeform: &FreeformGrammar) -> Value {
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

/// What the tool does and what its text is; the schema, which says the latter, is not sent in this form.
fn description(tool: &OfferedTool, freeform: &FreeformGrammar) -> String {
    let argument = tool.parameters.get("properties").and_then(|properties| {
        let argument = properties.get(&freeform.argument)?;
        argument.get("description")?.as_str()
    });
    let said = [Some(tool.description.as_str()), Some(BARE), argument];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The argument that the text of a call becomes, if these tools have one of this name that is offered as free text.
pub(super) fn argument<'a>(tools: &'a [OfferedTool], name: &str) -> Option<&'a str> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let freeform = tool.freeform.as_ref()?;
    Some(&freeform.argument)
}

/// The arguments of a call that came as text.
pub(super) fn arguments(argument: &str, text: &str) -> Value {
    Value::Object(Map::from_iter([(argument.to_owned(), json!(text))]))
}

/// The text of a call. Arguments that no text stands for, which only another form can have brought, are shown as they
/// were written.
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
