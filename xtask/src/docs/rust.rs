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
    for line in source.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim());
        } else if line.starts_with("#[") {
            // An attribute stands between a doc comment and what it documents.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doc_comment_belongs_to_the_next_line_that_is_no_attribute() {
        let source = "/// One,\n/// and on.\n#[serde(default)]\npub a: u8,\n\npub b: u8,\n/// Two.\npub c: u8,\n";
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
}
