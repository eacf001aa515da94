//! Lists the lines in which two forms of a part differ, under the file in which they stand.
//!
//! A part may hold several enclosed files. Their markers hold a code that changes with the file and says nothing, so they
//! are left out, and what stands before a file names it.

use crate::fence::{self, Edge};
use similar::{ChangeTag, TextDiff};

/// Lines around a changed line.
const CONTEXT_LINES: usize = 1;
/// How the line before a file that holds its path begins.
const SOURCE: &str = "source: ";

/// A part as lines without markers.
struct Lines<'a> {
    texts: Vec<&'a str>,
    /// What names the file of each line; empty outside of files.
    files: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    fn of(part: &'a str) -> Self {
        let mut lines = Self {
            texts: Vec::new(),
            files: Vec::new(),
        };
        let (mut before, mut file) = ("", "");
        for text in part.lines() {
            match fence::edge(text) {
                Some(Edge::Begin) => file = before,
                Some(Edge::End) => (before, file) = ("", ""),
                None => {
                    if file.is_empty() {
                        before = name(text).unwrap_or(before);
                    }
                    lines.texts.push(text);
                    lines.files.push(file);
                }
            }
        }
        lines
    }
}

/// Returns the name that a line before a file gives it: its path, or its heading.
fn name(line: &str) -> Option<&str> {
    let heading = line.strip_prefix("## ");
    heading.or_else(|| line.strip_prefix(SOURCE))
}

/// Lists the lines that differ: `-` stands before those of the old form, `+` before those of the new one.
pub(super) fn lines(old: &str, new: &str) -> String {
    let (old, new) = (Lines::of(old), Lines::of(new));
    let diff = TextDiff::from_slices(&old.texts, &new.texts);
    let mut out = Vec::new();
    let mut named = "";
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let changes = group.iter().flat_map(|op| diff.iter_changes(op));
        let changes = changes.map(|change| {
            let file = match change.tag() {
                ChangeTag::Delete => file_at(&old, change.old_index()),
                ChangeTag::Insert | ChangeTag::Equal => file_at(&new, change.new_index()),
            };
            (change, file)
        });
        // The name of a file is told once, above its lines.
        let tells = changes.filter(|(change, file)| {
            let is_between = change.value().is_empty() || name(change.value()).is_some();
            let is_name = file.is_empty() && is_between;
            !is_name || change.tag() != ChangeTag::Equal
        });
        for (place, (change, file)) in tells.enumerate() {
            if file != named && !file.is_empty() {
                out.push(format!("In {file}:"));
            } else if place == 0 && !out.is_empty() {
                out.push("…".to_owned());
            }
            named = file;
            out.push(format!("{}{}", change.tag(), change.value()));
        }
    }
    out.join("\n")
}

fn file_at<'a>(lines: &Lines<'a>, index: Option<usize>) -> &'a str {
    let file = index.and_then(|index| lines.files.get(index));
    file.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: &str, second: &str) -> String {
        let file = |path: &str, text: &str| {
            let enclosed = fence::enclose_instructions("workspace_instructions", text);
            format!("## Instructions\nsource: {path}\n{enclosed}")
        };
        [
            "# Files".to_owned(),
            file("/a/AGENTS.md", first),
            file("/b/AGENTS.md", second),
        ]
        .join("\n\n")
    }

    #[test]
    fn changed_lines_stand_under_the_file_that_holds_them() {
        let many = |last: &str| format!("one\ntwo\n## A heading\nthree\nfour\nfive\n{last}");
        let table = [
            (many("six"), "x\ny", "In /a/AGENTS.md:\n five\n-old\n+six"),
            (many("old"), "x\nz", "In /b/AGENTS.md:\n x\n-y\n+z"),
            (
                many("six"),
                "x\nz",
                "In /a/AGENTS.md:\n five\n-old\n+six\nIn /b/AGENTS.md:\n x\n-y\n+z",
            ),
            (
                many("six").replace("one", "uno"),
                "x\ny",
                "In /a/AGENTS.md:\n-one\n+uno\n two\n…\n five\n-old\n+six",
            ),
        ];
        let old = part(&many("old"), "x\ny");
        for (first, second, told) in table {
            let found = lines(&old, &part(&first, second));
            assert!(found.starts_with(told), "{found}");
            assert!(!found.contains("workspace_instructions"), "{found}");
        }
    }

    #[test]
    fn equal_forms_differ_in_nothing() {
        assert_eq!(lines(&part("a", "b"), &part("a", "b")), "");
    }
}
