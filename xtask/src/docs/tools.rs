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
            let items = &schema["items"];
            own + &item_rows(&format!("{shown}[]"), items)
        })
        .collect()
}

/// Returns the rows for the entries of a list: one for each property of its objects, below one for the entry itself if
/// it may take several forms.
fn item_rows(name: &str, items: &Value) -> String {
    let prefix = format!("{name}.");
    let forms: String = alternatives(items)
        .map(|form| rows(&prefix, form))
        .collect();
    let entry = match alternatives(items).next() {
        Some(_) => row(name, items, true),
        None => String::new(),
    };
    entry + &forms + &rows(&prefix, items)
}

/// Returns the forms that a value may take; none if it has only one.
fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    schema["anyOf"].as_array().into_iter().flatten()
}

/// Returns the words that a value may be: its own, and those of each form.
fn words(schema: &Value) -> Vec<String> {
    let own = schema["enum"].as_array().into_iter().flatten();
    let own = own.filter(|word| !word.is_null()).map(Value::to_string);
    own.chain(alternatives(schema).flat_map(words)).collect()
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
        assert!(batch.contains("| `items[].timeout_ms` | optional | Default "));
    }

    #[test]
    fn the_values_of_a_closed_list_and_the_forms_of_an_entry_are_named() {
        let page = render();
        for part in [
            "Values: `\"draft\"`, `\"ready\"`, `\"needs_input\"`. |",
            "Values: `\"pending\"`, `\"in_progress\"`, `\"completed\"`. |",
            "| `wake_on[]` | required | ",
            "Values: `\"operator\"`, `\"external\"`. |",
            "| `wake_on[].task` | optional | ",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
