//! Reads doc comments off formatted Rust: enough for tables of constants and structs, no parser.

/// Something with a doc comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Documented {
    /// Its doc comment on one line.
    pub(crate) doc: String,
    /// The line it documents, trimmed.
    pub(crate) item: String,
}

/// Every documented line of `source`, in order.
pub(crate) fn documented(source: &str) -> Vec<Documented> {
    let mut found = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    let mut in_attribute = false;
    for line in source.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim());
        } else if in_attribute {
            in_attribute = line != ")]";
        } else if line.starts_with("#[") {
            // An attribute, on one line or several, stands between a doc comment and what it documents.
            in_attribute = !line.contains(']');
        } else if !doc.is_empty() {
            let item = line.to_owned();
            found.push(Documented {
                doc: doc.join(" "),
                item,
            });
            doc.clear();
        }
    }
    found
}

/// A public field of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    /// Its type as the source spells it.
    pub(crate) kind: &'a str,
    /// Its doc comment on one line; empty if it has none.
    pub(crate) doc: String,
}

/// Every public field of the struct `name` in `source`, in order. Each field stands on a line of its own.
pub(crate) fn fields<'a>(source: &'a str, name: &str) -> Vec<Field<'a>> {
    let opening = format!("pub struct {name} {{");
    let lines = source.lines().map(str::trim);
    let body = lines
        .skip_while(|line| *line != opening)
        .skip(1)
        .take_while(|line| *line != "}");
    let mut found = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    for line in body {
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim());
        } else if let Some((name, kind)) = field(line) {
            let doc = std::mem::take(&mut doc).join(" ");
            found.push(Field { name, kind, doc });
        }
    }
    found
}

/// Reads `pub name: Type,`.
fn field(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("pub ")?
        .strip_suffix(',')?
        .split_once(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doc_comment_belongs_to_the_next_line_that_is_no_attribute() {
        let source = "/// One,\n/// and on.\n#[serde(default)]\npub a: u8,\n\npub b: u8,\n/// Two.\n#[derive(\n    A, B,\n)]\npub c: u8,\n";
        let found: Vec<(String, String)> = documented(source)
            .into_iter()
            .map(|entry| (entry.doc, entry.item))
            .collect();
        assert_eq!(
            found,
            [
                ("One, and on.".to_owned(), "pub a: u8,".to_owned()),
                ("Two.".to_owned(), "pub c: u8,".to_owned()),
            ]
        );
    }

    #[test]
    fn fields_of_a_struct_are_found_with_and_without_a_comment() {
        let source = "pub struct A {\n    pub no: u8,\n}\n\npub struct B {\n    /// One,\n    /// and on.\n    #[serde(default)]\n    pub a: Option<u8>,\n    pub b: Vec<u8>,\n}\npub struct C {\n    pub no: u8,\n}\n";
        let found: Vec<(&str, &str, String)> = fields(source, "B")
            .into_iter()
            .map(|field| (field.name, field.kind, field.doc))
            .collect();
        let expected = [
            ("a", "Option<u8>", "One, and on.".to_owned()),
            ("b", "Vec<u8>", String::new()),
        ];
        assert_eq!(found, expected);
    }
}
