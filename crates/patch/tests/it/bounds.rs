//! Limits, and inputs made to cost time or memory; each test would not end, or not soon, if the work grew too fast.

use std::fmt::Write as _;

use holon_patch::{Applied, ErrorKind, MAX_BYTES, MAX_FILES, MAX_HUNKS, Patch};

use crate::support::{apply, modify, numbered, refused};

#[test]
fn a_huge_line_is_refused_by_its_size() {
    let patch = modify(&format!("@@\n-a\n+{}\n", "x".repeat(MAX_BYTES)));
    assert_eq!(Patch::parse(&patch).unwrap_err().kind, ErrorKind::TooLarge);
}

#[test]
fn a_line_just_under_the_limit_applies() {
    let long = "x".repeat(MAX_BYTES - 100);
    let Applied::Write { content, .. } =
        apply(&modify(&format!("@@\n-a\n+{long}\n")), Some("a\n")).unwrap()
    else {
        panic!("a modification writes");
    };
    assert_eq!(content.len(), long.len() + 1);
}

#[test]
fn a_huge_file_is_refused_before_it_is_searched() {
    let error = refused("@@\n-a\n+b\n", &"a".repeat(MAX_BYTES + 1));
    assert_eq!(error.kind, ErrorKind::TooLarge);
}

#[test]
fn files_and_hunks_are_counted() {
    let files = |count: usize| -> String {
        (0..count)
            .map(|n| format!("--- a/{n}\n+++ b/{n}\n@@\n-a\n+b\n"))
            .collect()
    };
    assert!(Patch::parse(&files(MAX_FILES)).is_ok());
    assert_eq!(
        Patch::parse(&files(MAX_FILES + 1)).unwrap_err().kind,
        ErrorKind::TooLarge
    );

    let hunks = |count: usize| modify(&"@@\n-a\n+b\n".repeat(count));
    assert!(Patch::parse(&hunks(MAX_HUNKS)).is_ok());
    assert_eq!(
        Patch::parse(&hunks(MAX_HUNKS + 1)).unwrap_err().kind,
        ErrorKind::TooLarge
    );
}

#[test]
fn many_misplaced_hunks_in_a_large_file_are_found_or_refused_with_advice() {
    let lines = 50_000;
    let old = numbered(1, lines);
    let shifted = |count: usize| -> String {
        (1..=count).fold(String::new(), |mut text, n| {
            let line = n * (lines / (count + 1));
            write!(
                text,
                "@@ -{},1 +1,1 @@\n-line {line}\n+new {line}\n",
                line + 7
            )
            .unwrap();
            text
        })
    };
    assert!(apply(&modify(&shifted(200)), Some(&old)).is_ok());

    let dense = numbered(1, 2000) + &"a\nb\n".repeat(240_000);
    let hunks: String = (1..=2000)
        .map(|n| format!("@@ -9999,1 +9,1 @@\n-line {n}\n+new\n"))
        .collect();
    let error = refused(&hunks, &dense);
    assert_eq!(error.kind, ErrorKind::TooLarge);
    assert!(error.hint.contains("numbers"), "{}", error.hint);
}

#[test]
fn repetition_costs_no_more_than_its_length() {
    let file = "a\n".repeat(400_000);
    let context = " a\n".repeat(200_000);
    // Every place fits almost to the end.
    let error = refused(&format!("@@\n{context}-b\n+c\n"), &file);
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
    assert!(error.nearest.len() <= 20);
    let error = refused(&format!("@@\n{context}-a\n+c\n"), &file);
    assert_eq!(error.kind, ErrorKind::AmbiguousContext);
}

#[test]
fn unlike_lines_cost_no_more_than_their_length() {
    let file: String = (0..400_000).map(|n| format!("{n:x}\n")).collect();
    let context: String = (0..400_000).map(|n| format!(" z{n:x}\n")).collect();
    let error = refused(&format!("@@\n{context}-b\n+c\n"), &file);
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
}

#[test]
fn headers_without_end_cost_no_more_than_their_length() {
    let pairs = "--- x\n+++ y\n".repeat(200_000);
    assert!(
        Patch::parse(&modify(&format!(
            "@@ -1,4000000000 +1,4000000000 @@\n{pairs}"
        )))
        .is_ok()
    );
    let ends = "@@ -1,4000000000 +1,4000000000 @@\n-a\n".repeat(2000);
    assert!(Patch::parse(&modify(&ends)).is_ok());
    let quotes = format!(
        "--- \"{}\n+++ \"{}\n",
        "\\\\".repeat(1_000_000),
        "a".repeat(1_000_000)
    );
    let error = Patch::parse(&quotes).unwrap_err();
    assert!(error.to_string().len() < 2000);
}

#[test]
fn what_an_error_quotes_is_bounded() {
    let wide = "y".repeat(1 << 20);
    let error = refused(
        &format!("@@\n-{wide}\n+b\n"),
        &format!("{wide}z\n").repeat(5),
    );
    let shown: usize = error.nearest.iter().map(|line| line.text.len()).sum();
    assert!(
        shown < 20_000 && error.message.len() < 2_000,
        "{} {}",
        shown,
        error.message.len()
    );
}
