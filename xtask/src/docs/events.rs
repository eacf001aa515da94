//! The page of events: every kind with its version, what it means and what its payload carries.

use super::rust::{Documented, Field, documented, fields};
use super::types;
use crate::Failure;
use holon_domain::event::Event;

/// An event as its source describes it.
struct Kind {
    variant: String,
    kind: String,
    version: u32,
    doc: String,
}

/// The page, from the sources of the domain.
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
    let payloads: Vec<Vec<Field<'_>>> = kinds
        .iter()
        .map(|kind| fields(source, &kind.variant))
        .collect();
    let sections: String = kinds
        .iter()
        .zip(&payloads)
        .map(|(kind, fields)| section(kind, fields))
        .collect();
    let named = payloads.iter().flatten().map(|field| field.kind);
    let types = types::render(source, named);
    Ok(format!("{HEAD}{sections}{TYPES}{types}"))
}

/// The text above the list of events.
const HEAD: &str = "# Events

Every event has a kind, a version and a payload; fields are only ever added.
An event explains what happened and is never read back as state.
A kind this build does not know is passed on as it is.
";

/// The text above the sections about types.
const TYPES: &str = "
## Types of fields

Ids are strings. A `Timestamp` is RFC 3339 in UTC. Numbers have no fraction unless their type begins with `f`.
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

fn section(kind: &Kind, fields: &[Field<'_>]) -> String {
    let rows = types::rows(fields);
    let table = if rows.is_empty() {
        "\nIts payload is empty.\n".to_owned()
    } else {
        format!("\n| field | type | meaning |\n|---|---|---|\n{rows}")
    };
    format!(
        "\n## `{}`\n\n{} Version {}.\n{table}",
        kind.kind, kind.doc, kind.version
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_the_list_is_read_with_its_payload() {
        let source = "/// It began.\nBegan = \"began\", v 2;\n\n/// See [`Event::Began`].\npub struct Began {\npub by: String,\n/// Why.\n#[serde(default)]\npub reason: Option<crate::Words>,\n}\n/// Other.\npub struct Other {\n/// No.\npub no: u8,\n}\n";
        let entries = documented(source);
        let kinds: Vec<Kind> = entries.iter().filter_map(kind).collect();
        assert_eq!(kinds.len(), 1);
        let page = section(&kinds[0], &fields(source, "Began"));
        assert_eq!(
            page,
            "\n## `began`\n\nIt began. Version 2.\n\n| field | type | meaning |\n|---|---|---|\n\
             | `by` | `String` |  |\n| `reason` | `Words`, optional | Why. |\n"
        );
    }
}
