//! The page of events: every kind with its version, what it means and what its payload carries.

use super::cell;
use super::rust::{Documented, documented};
use crate::Failure;
use holon_domain::event::Event;

/// An event as its source describes it.
struct Kind {
    variant: String,
    kind: String,
    version: u32,
    doc: String,
}

/// The page, from `event.rs`.
pub(crate) fn render(source: &str) -> Result<String, Failure> {
    let entries = documented(source);
    let kinds: Vec<Kind> = entries.iter().filter_map(kind).collect();
    let read: Vec<(&str, u32)> = kinds
        .iter()
        .map(|kind| (kind.kind.as_str(), kind.version))
        .collect();
    if read != Event::KINDS {
        return Err(
            "the list of events in event.rs could not be read; keep one event per line".into(),
        );
    }
    let sections: String = kinds
        .iter()
        .map(|kind| section(kind, &fields(&entries, &kind.variant)))
        .collect();
    Ok(format!("{HEAD}{sections}"))
}

/// The text above the list of events.
const HEAD: &str = "# Events

Every event has a kind, a version and a payload; fields are only ever added.
An event explains what happened and is never read back as state.
A kind this build does not know is passed on as it is.
";

/// Reads `Variant = \"kind\", v 1;`.
fn kind(entry: &Documented) -> Option<Kind> {
    let (variant, rest) = entry.item.split_once(" = \"")?;
    let (kind, version) = rest.strip_suffix(';')?.split_once("\", v ")?;
    Some(Kind {
        variant: variant.to_owned(),
        kind: kind.to_owned(),
        version: version.parse().ok()?,
        doc: entry.doc.clone(),
    })
}

/// The documented fields of the payload struct.
fn fields<'a>(entries: &'a [Documented], variant: &str) -> Vec<&'a Documented> {
    let opening = format!("pub struct {variant} {{");
    entries
        .iter()
        .skip_while(|entry| entry.item != opening)
        .skip(1)
        .take_while(|entry| entry.item.starts_with("pub ") && entry.item.ends_with(','))
        .collect()
}

fn section(kind: &Kind, fields: &[&Documented]) -> String {
    let rows: String = fields.iter().filter_map(|field| row(field)).collect();
    let table = if rows.is_empty() {
        "\nIts payload is empty.\n".to_owned()
    } else {
        format!("\n| field | | meaning |\n|---|---|---|\n{rows}")
    };
    format!(
        "\n## `{}`\n\n{} Version {}.\n{table}",
        kind.kind, kind.doc, kind.version
    )
}

/// Reads `pub name: Type,`; an `Option` or a collection may be absent.
fn row(field: &Documented) -> Option<String> {
    let item = field.item.strip_prefix("pub ")?.strip_suffix(',')?;
    let (name, kind) = item.split_once(": ")?;
    let presence = match kind.strip_prefix("Option<") {
        Some(_) => "optional",
        None => "",
    };
    Some(format!(
        "| `{name}` | {presence} | {} |\n",
        cell(&field.doc)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_the_list_is_read_with_its_payload() {
        let source = "/// It began.\nBegan = \"began\", v 2;\n\n/// See [`Event::Began`].\npub struct Began {\n/// Who.\npub by: String,\n/// Why.\n#[serde(default)]\npub reason: Option<String>,\n}\n/// Other.\npub struct Other {\n/// No.\npub no: u8,\n}\n";
        let entries = documented(source);
        let kinds: Vec<Kind> = entries.iter().filter_map(kind).collect();
        assert_eq!(kinds.len(), 1);
        let page = section(&kinds[0], &fields(&entries, "Began"));
        assert_eq!(
            page,
            "\n## `began`\n\nIt began. Version 2.\n\n| field | | meaning |\n|---|---|---|\n\
             | `by` |  | Who. |\n| `reason` | optional | Why. |\n"
        );
    }
}
