//! The page of tools: what models may call, with the arguments of each, from the registry that offers them.

use super::cell;
use holon_domain::tool::ToolSpec;
use holon_tools::{SchemaMode, emit};
use serde_json::Value;

/// The page.
pub(crate) fn render() -> String {
    let sections: String = holon_tools::all().iter().map(section).collect();
    format!("{HEAD}{sections}")
}

/// What stands above the tools.
const HEAD: &str = "# Tools

What a model may call.
Arguments that are not listed are refused; an optional argument may also be `null`.
";

fn section(spec: &ToolSpec) -> String {
    let parameters = emit(spec, SchemaMode::Relaxed).parameters;
    let rows: String = parameters["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| row(name, schema, &parameters["required"]))
        .collect();
    let arguments = if rows.is_empty() {
        "It takes no arguments.\n".to_owned()
    } else {
        format!("| argument | | meaning |\n|---|---|---|\n{rows}")
    };
    let (name, description) = (&spec.name, spec.description.trim());
    format!("\n## `{name}`\n\n{description}\n\n{arguments}")
}

fn row(name: &str, schema: &Value, required: &Value) -> String {
    let is_required = required
        .as_array()
        .is_some_and(|names| names.iter().any(|required| required == name));
    let presence = if is_required { "required" } else { "optional" };
    let doc = schema["description"].as_str().unwrap_or_default();
    format!("| `{name}` | {presence} | {} |\n", cell(doc))
}
