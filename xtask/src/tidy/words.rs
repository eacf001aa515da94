//! Words that may not stand in code: unfinished work, skipped tests, tests that sleep.
//!
//! The words are spelt in pieces here, so that this file passes its own check.

use crate::finding::Finding;
use crate::repo::Source;
use crate::tidy::{is_test_file, production_lines};

/// A word and what to do instead.
struct Word {
    text: &'static str,
    instead: &'static str,
}

/// Refused everywhere; these stand alone or not at all.
const ANYWHERE: &[Word] = &[
    Word {
        text: concat!("TO", "DO"),
        instead: "finish it, or write it where plans are kept",
    },
    Word {
        text: concat!("FIX", "ME"),
        instead: "fix it, or say why it is right",
    },
    Word {
        text: concat!("XX", "X"),
        instead: "say in a sentence what is meant",
    },
    Word {
        text: concat!("todo", "!"),
        instead: "write the code, or a variant that says it is not there",
    },
    Word {
        text: concat!("unimplemented", "!"),
        instead: "write the code, or a variant that says it is not there",
    },
    Word {
        text: concat!("dbg", "!"),
        instead: "remove it",
    },
    Word {
        text: concat!("#[", "ignore"),
        instead: "a skipped test proves nothing; mend it, delete it, or say what it needs that no build has: \"needs ...\"",
    },
];

/// A test that needs something from outside may be left out of a run, since the run prints what that is.
const NEEDS: &str = concat!("#[", "ignore = \"needs ");

const IN_TESTS: &[Word] = &[
    Word {
        text: concat!("thread::", "sleep"),
        instead: "wait for a signal or a virtual clock instead of sleeping",
    },
    Word {
        text: concat!("time::", "sleep("),
        instead: "wait for a signal or a virtual clock instead of sleeping",
    },
];

/// Refuses the words above.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let tests_from = if is_test_file(&source.path) {
        0
    } else {
        production_lines(&source.text)
    };
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let in_tests: &[Word] = if index >= tests_from { IN_TESTS } else { &[] };
        for word in ANYWHERE.iter().chain(in_tests) {
            if stands_alone(line, word.text) && !line.contains(NEEDS) {
                let message = format!("{} may not stand here; {}", word.text, word.instead);
                findings.push(Finding::refusal(&source.path, index + 1, message));
            }
        }
    }
    findings
}

/// Returns true if `word` stands in `line` without a letter directly before or after it.
fn stands_alone(line: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let open_end = word.ends_with(['!', '(']) || word.starts_with('#');
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(is_letter) && (open_end || !after.is_some_and(is_letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&source).len()
    }

    #[test]
    fn unfinished_work_is_refused_and_ordinary_words_pass() {
        for (text, expected) in [
            (concat!("// TO", "DO: later"), 1),
            (concat!("    todo", "!()"), 1),
            (concat!("    unimplemented", "!(\"x\")"), 1),
            (concat!("    #[", "ignore = \"slow\"]"), 1),
            (
                concat!("    #[", "ignore = \"needs a server; see there\"]"),
                0,
            ),
            ("struct TodoList; // the todo list of a work item", 0),
            ("const AUTODONE: u8 = 1;", 0),
            ("mastodon_dbg(1)", 0),
        ] {
            assert_eq!(found("crates/a/src/b.rs", text), expected, "{text}");
        }
    }

    #[test]
    fn sleeping_is_refused_in_tests_only() {
        let line = concat!("std::thread::", "sleep(x);\n");
        assert_eq!(found("crates/a/src/b.rs", line), 0);
        assert_eq!(found("crates/a/tests/it/b.rs", line), 1);
        let inline = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{line}}}\n");
        assert_eq!(found("crates/a/src/b.rs", &inline), 1);
    }
}
