//! Every code in the sources of the program and of the host's start has a row.

use super::*;
use std::path::Path;

/// Reads all Rust sources below a directory of this workspace.
fn sources(directory: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory).expect("reads") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            text.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).expect("reads"));
        }
    }
    text
}

/// Returns the words in quotes that directly follow a mark, with white space between.
fn quoted_after(text: &str, mark: &str) -> Vec<String> {
    let parts = text.split(mark).skip(1);
    let words = parts.filter_map(|part| {
        let rest = part.trim_start().strip_prefix('"')?;
        rest.split_once('"').map(|(word, _)| word.to_owned())
    });
    words.collect()
}

#[test]
fn every_code_of_the_program_and_of_a_start_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = sources(&root.join("src"));
    let start = sources(&root.join("../daemon/src"));
    let mut codes = Vec::new();
    for exit in ["Failed", "Usage", "Unreachable", "Waiting"] {
        codes.extend(quoted_after(&program, &format!("Exit::{exit},")));
    }
    let exits = std::fs::read_to_string(root.join("src/exit.rs")).expect("reads");
    codes.extend(quoted_after(&exits, "} =>"));
    let of_start = start.split("pub const fn code(&self)").skip(1);
    for body in of_start.filter_map(|part| part.split("\n    }\n").next()) {
        codes.extend(quoted_after(body, "=>"));
    }
    assert!(codes.len() > 40, "the sources are read: {codes:?}");
    let known = all();
    for code in codes {
        let is_known = known.iter().any(|entry| entry.code == code);
        assert!(is_known, "{code} has no row in LOCAL");
    }
}

#[test]
fn codes_are_unique_and_every_one_has_a_cause_and_a_cure() {
    let known = all();
    for pair in known.windows(2) {
        assert!(
            pair[0].code < pair[1].code,
            "{} and {}",
            pair[0].code,
            pair[1].code
        );
    }
    for entry in known {
        assert!(
            !entry.meaning.is_empty() && !entry.next_step.is_empty(),
            "{}",
            entry.code
        );
    }
}

#[test]
fn what_suspends_a_turn_at_a_limit_is_explained() {
    let known = all();
    let entry = known.iter().find(|entry| entry.code == "budget_reached");
    let cure = entry.expect("a row").next_step;
    assert!(cure.contains("holon budget set"), "{cure}");
}
