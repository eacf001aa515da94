//! Documentation comments: public types, traits and functions have one, and a comment that exists says something.
//!
//! A comment of three words or fewer repeats the name it stands above. Fields and variants need no comment at all.

use crate::finding::Finding;
use crate::repo::Source;
use crate::tidy::{is_test_file, production_lines};

/// A comment with this many words or fewer is refused.
const LABEL_WORDS: usize = 3;

/// The items that another module can use and that must be documented.
const DOCUMENTED: &[&str] = &[
    "pub struct ",
    "pub enum ",
    "pub union ",
    "pub trait ",
    "pub type ",
    "pub fn ",
    "pub const fn ",
    "pub async fn ",
    "pub unsafe fn ",
];

/// Refuses labels, and undocumented public items outside of tests.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let tests_from = if is_test_file(&source.path) {
        0
    } else {
        production_lines(&source.text)
    };
    let mut findings = Vec::new();
    let mut comment = Comment::default();
    for (index, line) in source.text.lines().map(str::trim).enumerate() {
        if let Some(words) = line.strip_prefix("///") {
            comment.extend(index + 1, words);
            continue;
        }
        if line.starts_with("#[") || (comment.open_attribute && !line.is_empty()) {
            comment.open_attribute = !line.ends_with(']');
            continue;
        }
        if comment.is_label() {
            let message = format!(
                "\"{}\" only labels what follows; say what the name and type do not, or delete it",
                comment.text()
            );
            findings.push(Finding::refusal(&source.path, comment.line, message));
        }
        let public = DOCUMENTED.iter().any(|opening| line.starts_with(opening));
        if public && comment.words.is_empty() && index < tests_from {
            let message = "a public type, trait or function says in a sentence what it is for";
            findings.push(Finding::refusal(&source.path, index + 1, message));
        }
        comment = Comment::default();
    }
    findings
}

/// The documentation comment directly above the current line.
#[derive(Default)]
struct Comment<'a> {
    /// Number of its first line, counted from one.
    line: usize,
    words: Vec<&'a str>,
    /// An attribute between the comment and its item goes over several lines.
    open_attribute: bool,
}

impl<'a> Comment<'a> {
    fn extend(&mut self, line: usize, text: &'a str) {
        if self.words.is_empty() {
            self.line = line;
        }
        self.words.extend(text.split_whitespace());
    }

    fn is_label(&self) -> bool {
        !self.words.is_empty() && self.words.len() <= LABEL_WORDS
    }

    fn text(&self) -> String {
        self.words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&source)
            .iter()
            .map(|finding| finding.to_string().split(": ").next().map(str::to_owned))
            .map(Option::unwrap_or_default)
            .collect()
    }

    #[test]
    fn labels_and_undocumented_public_items_are_refused() {
        let sentence = "/// Counts the attempts of this round.\n";
        for (text, expected) in [
            ("/// Which one.\npub a: u8,\n".to_owned(), &["f.rs:1"][..]),
            ("    /// Why.\n    Variant,\n".to_owned(), &["f.rs:1"]),
            ("pub a: u8,\nVariant,\n".to_owned(), &[]),
            ("pub struct A;\n".to_owned(), &["f.rs:1"]),
            ("    pub fn a() {}\n".to_owned(), &["f.rs:1"]),
            ("pub(crate) fn a() {}\nfn b() {}\n".to_owned(), &[]),
            (format!("{sentence}#[derive(Debug)]\npub struct A;\n"), &[]),
            (
                format!("{sentence}#[serde(\n    default\n)]\npub struct A;\n"),
                &[],
            ),
            (format!("{sentence}\npub struct A;\n"), &["f.rs:3"]),
        ] {
            assert_eq!(lines("f.rs", &text), expected, "{text}");
        }
    }

    #[test]
    fn tests_need_no_comment_but_a_label_is_refused_there_too() {
        assert_eq!(lines("a/tests/it/f.rs", "pub fn a() {}\n").len(), 0);
        assert_eq!(lines("a/tests/it/f.rs", "/// It.\nfn a() {}\n").len(), 1);
    }
}
