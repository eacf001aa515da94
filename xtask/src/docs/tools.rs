//! The page of tools: what models may call, with the arguments of each, from the registry that offers them.

use super::cell;
use holon_domain::tool::ToolSpec;
use holon_tools::{SchemaMode, emit};
use serde_json::Value;

pub(crate) fn render() -> String {
    let sections: String = holon_tools::all().iter().map(section).collect();
    format!("{HEAD}{sections}")
}

/// The text above the list of tools.
const HEAD: &str = "# Tools

What a model may call.
Arguments that are not listed are refused; an optional argument may also be `null`.
`items[].cmd` is the member `cmd` of each object in the list `items`.
";

fn section(spec: &ToolSpec) -> String {
    let parameters = emit(spec, SchemaMode::Relaxed).parameters;
    let rows = rows("", &parameters);
    let arguments = if rows.is_empty() {
        "It takes no arguments.\n".to_owned()
    } else {
        format!("| argument | | meaning |\n|---|---|---|\n{rows}")
    };
    let (name, description) = (&spec.name, spec.description.trim());
    format!("\n## `{name}`\n\n{description}\n\n{arguments}")
}

/// A row for each property, and below it those of the entries it lists.
fn rows(prefix: &str, object: &Value) -> String {
    let properties = object["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| {
            let shown = format!("{prefix}{name}");
            let own = row(&shown, schema, is_required(name, &object["required"]));
            own + &rows(&format!("{shown}[]."), &schema["items"])
        })
        .collect()
}

/// Returns the words that a value may be; none if it is not from a closed list.
fn words(schema: &Value) -> Vec<String> {
    let words = schema["enum"].as_array().into_iter().flatten();
    let words = words.filter(|word| !word.is_null());
    words.map(Value::to_string).collect()
}

fn is_required(name: &str, required: &Value) -> bool {
    let names = required.as_array();
    names.is_some_and(|names| names.iter().any(|required| required == name))
}

fn row(name: &str, schema: &Value, is_required: bool) -> String {
    let presence = if is_required { "required" } else { "optional" };
    let doc = schema["description"].as_str().unwrap_or_default();
    let listed: Vec<String> = words(schema)
        .iter()
        .map(|word| format!("`{word}`"))
        .collect();
    let values = if listed.is_empty() {
        String::new()
    } else {
        format!(" Values: {}.", listed.join(", "))
    };
    format!("| `{name}` | {presence} | {}{values} |\n", cell(doc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_the_objects_in_a_list_are_described() {
        let page = render();
        let (_, batch) = page.split_once("## `ExecCommandBatch`").expect("a section");
        let (batch, _) = batch.split_once("\n## ").expect("another after it");
        assert!(batch.contains("| `items[].cmd` | required | "), "{batch}");
        let timeout = "| `items[].timeout_ms` | optional | Milliseconds until it is killed. Default 120000. |";
        assert!(batch.contains(timeout), "{batch}");
    }

    #[test]
    fn the_values_of_a_closed_list_and_the_forms_of_a_wake_are_named() {
        let page = render();
        for part in [
            "Values: `\"draft\"`, `\"ready\"`, `\"needs_input\"`. |",
            "Values: `\"pending\"`, `\"in_progress\"`, `\"completed\"`. |",
            "| `wake_on` | required | 1 to 16 of: operator, external (any outside event), external:SOURCE, a trigger id, a task id",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
