//! Sections about the types that payload fields name: the values of enums and the fields of structs.
//!
//! A type that the sources do not declare as an enum or a struct with fields, such as an id, has no section.

use super::cell;
use super::rust::{Field, documented, fields};
use std::collections::BTreeMap;

/// One section for each type that `kinds` name, directly or through fields of other types, sorted by name.
pub(crate) fn render<'a>(source: &'a str, kinds: impl Iterator<Item = &'a str>) -> String {
    let mut open: Vec<&str> = kinds.map(innermost).collect();
    let mut sections: BTreeMap<&str, String> = BTreeMap::new();
    while let Some(name) = open.pop() {
        if sections.contains_key(name) {
            continue;
        }
        let nested = fields(source, name);
        open.extend(nested.iter().map(|field| innermost(field.kind)));
        let section = if nested.is_empty() {
            enumeration(source, name)
        } else {
            structure(source, name, &nested)
        };
        sections.insert(name, section);
    }
    sections.into_values().collect()
}

/// Rows of a table of fields. A field without a comment has a row, too: its name and type say everything.
pub(crate) fn rows(fields: &[Field<'_>]) -> String {
    fields.iter().map(row).collect()
}

fn row(field: &Field<'_>) -> String {
    let name = field.name;
    let (kind, presence) = match option(field.kind) {
        Some(kind) => (kind, ", optional"),
        None => (field.kind, ""),
    };
    let kind = kind.rsplit("::").next().unwrap_or(kind);
    format!("| `{name}` | `{kind}`{presence} | {} |\n", cell(&field.doc))
}

/// The type inside an `Option`.
fn option(kind: &str) -> Option<&str> {
    kind.strip_prefix("Option<")?.strip_suffix('>')
}

/// The type inside of all wrappers, without its path.
fn innermost(kind: &str) -> &str {
    let inside = kind.rsplit('<').next().unwrap_or(kind);
    let inside = inside.trim_end_matches('>');
    inside.rsplit("::").next().unwrap_or(inside)
}

fn structure(source: &str, name: &str, fields: &[Field<'_>]) -> String {
    let doc = doc(source, &format!("pub struct {name} {{"));
    let rows = rows(fields);
    format!("\n### `{name}`\n\n{doc}\n\n| field | type | meaning |\n|---|---|---|\n{rows}")
}

fn enumeration(source: &str, name: &str) -> String {
    let opening = format!("pub enum {name} {{");
    let Some(at) = source.find(&format!("\n{opening}")) else {
        return String::new();
    };
    let (before, after) = source.split_at(at + 1);
    let attributes: Vec<&str> = before
        .lines()
        .rev()
        .take_while(|line| line.starts_with("#["))
        .collect();
    let spelling = Spelling {
        snake_case: attributes
            .iter()
            .any(|line| line.contains("rename_all = \"snake_case\"")),
    };
    let tag = attributes
        .iter()
        .find_map(|line| line.split_once("tag = \"")?.1.split('"').next());
    let body = after.lines().skip(1).take_while(|line| *line != "}");
    let rows: String = values(body, spelling).iter().map(value_row).collect();
    let doc = doc(source, &opening);
    let tagged = tag.map_or_else(String::new, |tag| {
        format!(" An object; its field `{tag}` has one of these values.")
    });
    format!("\n### `{name}`\n\n{doc}{tagged}\n\n| value | meaning |\n|---|---|\n{rows}")
}

fn doc(source: &str, opening: &str) -> String {
    let found = documented(source)
        .into_iter()
        .find(|entry| entry.item == opening);
    found.map_or_else(String::new, |entry| entry.doc)
}

/// The spelling of an enum's variants on the wire.
#[derive(Clone, Copy)]
struct Spelling {
    snake_case: bool,
}

impl Spelling {
    fn spell(self, variant: &str) -> String {
        if !self.snake_case {
            return variant.to_owned();
        }
        let mut word = String::new();
        for letter in variant.chars() {
            if letter.is_ascii_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.push(letter.to_ascii_lowercase());
        }
        word
    }
}

/// One value of an enum, with the names of the fields that go with it.
#[derive(Debug, PartialEq, Eq)]
struct Variant {
    word: String,
    fields: Vec<String>,
    doc: String,
}

fn value_row(variant: &Variant) -> String {
    let Variant { word, fields, doc } = variant;
    let fields: String = fields.iter().map(|name| format!(", `{name}`")).collect();
    let fields = fields
        .strip_prefix(", ")
        .map(|names| format!(" with {names}"));
    format!(
        "| `{word}`{} | {} |\n",
        fields.unwrap_or_default(),
        cell(doc)
    )
}

fn values<'a>(body: impl Iterator<Item = &'a str>, spelling: Spelling) -> Vec<Variant> {
    let mut found: Vec<Variant> = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    for line in body {
        let depth = line.len() - line.trim_start().len();
        let line = line.trim();
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim());
        } else if depth == 4 && line.starts_with(|first: char| first.is_ascii_uppercase()) {
            let (name, rest) = line.split_at(
                line.find(|c: char| !c.is_alphanumeric())
                    .unwrap_or(line.len()),
            );
            found.push(Variant {
                word: spelling.spell(name),
                fields: field_names(rest.trim_matches([' ', '{', '}', ','])),
                doc: std::mem::take(&mut doc).join(" "),
            });
        } else if depth == 8 && !line.starts_with('#') {
            doc.clear();
            if let Some(variant) = found.last_mut() {
                variant.fields.extend(field_names(line));
            }
        }
    }
    found
}

/// The names of `a: A, b: B`. Types with a comma inside do not occur.
fn field_names(text: &str) -> Vec<String> {
    let names = text.split(',').filter_map(|field| field.split_once(": "));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
/// One of two things.
#[derive(Debug)]
#[serde(tag = \"kind\", rename_all = \"snake_case\")]
pub enum Pair {
    /// The first of them.
    FirstOne,
    Other {
        /// Its name, if known.
        #[serde(default)]
        name: Option<String>,
        count: u8,
    },
    Last { at: u8 },
}

/// A word as it is.
pub enum Bare {
    AsWritten,
}

/// Something with a pair.
pub struct Holder {
    pub pair: Option<Pair>,
    pub id: SomeId,
}
";

    #[test]
    fn types_that_fields_name_get_a_section_each() {
        let page = render(SOURCE, ["Vec<crate::a::Holder>", "Bare"].into_iter());
        assert_eq!(
            page,
            "\n### `Bare`\n\nA word as it is.\n\n| value | meaning |\n|---|---|\n| `AsWritten` |  |\n\
             \n### `Holder`\n\nSomething with a pair.\n\n| field | type | meaning |\n|---|---|---|\n\
             | `pair` | `Pair`, optional |  |\n| `id` | `SomeId` |  |\n\
             \n### `Pair`\n\nOne of two things. An object; its field `kind` has one of these values.\n\n\
             | value | meaning |\n|---|---|\n| `first_one` | The first of them. |\n\
             | `other` with `name`, `count` |  |\n| `last` with `at` |  |\n"
        );
    }
}
