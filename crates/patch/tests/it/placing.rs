//! Where hunks go: hint, unique context, order, and the help when nothing fits.

use holon_patch::{ErrorKind, FileLine};

use crate::support::{modified, numbered, refused, remarks};

#[test]
fn the_hinted_place_wins_over_other_copies() {
    let old = "x\ny\nx\ny\nx\ny\n";
    assert_eq!(
        modified("@@ -3,2 +3,2 @@\n x\n-y\n+z\n", old),
        "x\ny\nx\nz\nx\ny\n"
    );
    assert_eq!(
        modified("@@ -5,2 +5,2 @@\n x\n-y\n+z\n", old),
        "x\ny\nx\ny\nx\nz\n"
    );
    assert!(remarks("@@ -3,2 +3,2 @@\n x\n-y\n+z\n", old).is_empty());
}

#[test]
fn a_wrong_hint_falls_back_to_the_only_place() {
    let old = numbered(1, 50);
    let hunk = "@@ -9,2 +9,2 @@\n line 40\n-line 41\n+new\n";
    assert_eq!(modified(hunk, &old), old.replace("line 41\n", "new\n"));
    assert_eq!(remarks(hunk, &old), ["line_mismatch"]);
    let far = "@@ -4000000000,2 +1,2 @@\n line 40\n-line 41\n+new\n";
    assert_eq!(modified(far, &old), old.replace("line 41\n", "new\n"));
}

#[test]
fn several_places_are_listed_with_their_numbers() {
    let error = refused("@@ -2,2 +2,2 @@\n x\n-y\n+z\n", "x\ny\nx\ny\nx\ny\n");
    assert_eq!(error.kind, ErrorKind::AmbiguousContext);
    let numbers: Vec<usize> = error.nearest.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [1, 3, 5]);
    assert!(error.message.contains("1, 3, 5"), "{}", error.message);
    assert_eq!(error.line, Some(3));
    assert_eq!(error.path.as_deref(), Some("f"));
}

#[test]
fn a_thousand_places_are_listed_in_part() {
    let error = refused("@@\n-x\n+y\n", &"x\n".repeat(1000));
    assert_eq!(error.nearest.len(), 10);
    assert!(error.message.ends_with("and more"), "{}", error.message);
}

#[test]
fn overlapping_copies_are_ambiguous_too() {
    let error = refused("@@\n x\n x\n+y\n", "x\nx\nx\n");
    assert_eq!(error.kind, ErrorKind::AmbiguousContext);
    assert_eq!(error.nearest.len(), 2);
}

#[test]
fn hunks_apply_in_order_and_later_ones_search_after_earlier_ones() {
    let old = "a\nx\nb\nx\nc\n";
    let hunks = "@@\n b\n-x\n+1\n";
    assert_eq!(modified(hunks, old), "a\nx\nb\n1\nc\n");
    let hunks = "@@\n-a\n+A\n@@\n b\n-x\n+1\n";
    assert_eq!(modified(hunks, old), "A\nx\nb\n1\nc\n");
}

#[test]
fn a_bare_hunk_with_a_copy_before_the_end_of_the_last_hunk_is_ambiguous() {
    let old = "a\nx\nb\nx\nc\n";
    for hunks in [
        "@@\n a\n x\n-b\n+B\n@@\n-x\n+1\n",
        "@@\n-b\n+B\n@@\n-x\n+1\n",
    ] {
        let error = refused(hunks, old);
        assert_eq!(error.kind, ErrorKind::AmbiguousContext, "{hunks}");
        let numbers: Vec<usize> = error.nearest.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [2, 4], "{hunks}");
    }
}

#[test]
fn a_hint_before_the_end_of_the_last_hunk_never_leads_to_another_copy() {
    let old = "x\na\nb\nc\nd\nx\n";
    let first = "@@ -2,3 +2,3 @@\n a\n-b\n+B\n c\n";
    let error = refused(&format!("{first}@@ -1 +1 @@\n-x\n+y\n"), old);
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
    assert!(error.message.contains("at line 1"), "{}", error.message);
    assert!(error.hint.contains("top to bottom"), "{}", error.hint);
    // The number fits no copy and does not say that the hunk comes later.
    let error = refused(&format!("{first}@@ -3 +3 @@\n-x\n+y\n"), old);
    assert_eq!(error.kind, ErrorKind::AmbiguousContext);
    // It does here, so the copy before cannot be meant.
    let shifted = format!("{first}@@ -5 +5 @@\n-x\n+y\n");
    assert_eq!(modified(&shifted, old), "x\na\nB\nc\nd\ny\n");
    // Only one copy: a wrong number does no harm.
    let wrong = format!("{first}@@ -1 +1 @@\n-d\n+D\n");
    assert_eq!(modified(&wrong, old), "x\na\nB\nc\nD\nx\n");
}

#[test]
fn hunks_in_the_wrong_order_are_told_so() {
    let old = numbered(1, 9);
    let error = refused("@@\n-line 7\n+7\n@@\n-line 2\n+2\n", &old);
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
    assert!(error.message.contains("at line 2"), "{}", error.message);
    assert!(error.hint.contains("top to bottom"), "{}", error.hint);
    assert_eq!(error.line, Some(6));
}

#[test]
fn overlapping_hunks_are_refused() {
    let error = refused(
        "@@ -1,3 +1,3 @@\n line 1\n-line 2\n+2\n line 3\n@@ -3,2 +3,2 @@\n line 3\n-line 4\n+4\n",
        &numbered(1, 9),
    );
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
}

#[test]
fn text_that_is_not_there_shows_the_nearest_lines() {
    let old = "fn one() {\n    let a = 1;\n}\n\nfn two() {\n    let b = 2;\n    go(b);\n}\n";
    let error = refused(
        "@@ -90,4 +90,4 @@\n fn two() {\n     let b = 3;\n-    go(b);\n+    stop(b);\n }\n",
        old,
    );
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
    let line = |number, text: &str| FileLine {
        number,
        text: text.to_owned(),
    };
    assert_eq!(
        error.nearest,
        [
            line(3, "}"),
            line(4, ""),
            line(5, "fn two() {"),
            line(6, "    let b = 2;"),
            line(7, "    go(b);"),
            line(8, "}"),
        ]
    );
    assert!(
        error.message.contains("line 6 reads `    let b = 2;`"),
        "{}",
        error.message
    );
    assert!(
        error.message.contains("expects `    let b = 3;`"),
        "{}",
        error.message
    );
}

#[test]
fn wrong_indentation_still_finds_the_nearest_lines() {
    let old = format!(
        "{}\tif x {{\n\t\tgo();\n\t}}\n{}",
        numbered(1, 40),
        numbered(50, 90)
    );
    let error = refused(
        "@@\n     if x {\n-        go();\n+        stop();\n     }\n",
        &old,
    );
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
    let numbers: Vec<usize> = error.nearest.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [39, 40, 41, 42, 43, 44, 45]);
}

#[test]
fn one_changed_line_finds_its_likeness() {
    let old = format!(
        "{}let total = compute(first, second);\n{}",
        numbered(1, 40),
        numbered(41, 80)
    );
    let error = refused(
        "@@ -3 +3 @@\n-let total = compute(first, third);\n+let total = 0;\n",
        &old,
    );
    assert!(
        error
            .nearest
            .iter()
            .any(|line| line.text == "let total = compute(first, second);"),
        "{error:?}"
    );
}

#[test]
fn equal_places_are_decided_by_the_hint() {
    let old = format!("{0}end\n{0}stop\n", numbered(1, 10));
    let error = refused("@@ -15,2 +15,2 @@\n line 5\n-line 7\n+7\n", &old);
    assert!(
        error.nearest.iter().any(|line| line.number == 16),
        "{error:?}"
    );
}

#[test]
fn nothing_alike_shows_the_hinted_surroundings() {
    let error = refused(
        "@@ -30,1 +30,1 @@\n-((((((((\n+))))))))\n",
        &numbered(1, 60),
    );
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
    assert!(
        error.nearest.iter().any(|line| line.number == 30),
        "{error:?}"
    );
    assert_eq!(error.nearest.len(), 20);
}

#[test]
fn a_long_hunk_shows_the_part_that_differs() {
    let old = numbered(1, 200);
    let body: String = (1..=100)
        .map(|n| {
            if n == 77 {
                " other\n".to_owned()
            } else {
                format!(" line {n}\n")
            }
        })
        .collect();
    let error = refused(&format!("@@ -1,100 +1,101 @@\n{body}+more\n"), &old);
    assert!(
        error.nearest.iter().any(|line| line.number == 77),
        "{error:?}"
    );
    assert_eq!(error.nearest.len(), 20);
}

#[test]
fn a_patch_applied_before_is_recognised() {
    let error = refused(
        "@@ -2,2 +2,2 @@\n line 2\n-line 3\n+new\n",
        "line 1\nline 2\nnew\nline 4\n",
    );
    assert_eq!(error.kind, ErrorKind::ContextNotFound);
    assert!(error.hint.contains("already at line 2"), "{}", error.hint);
}

#[test]
fn a_hunk_is_called_applied_only_when_the_lines_it_adds_are_there() {
    let old = "line 1\nline 2\nline 4\n}\n";
    for hunk in [
        "@@ -2,2 +2 @@\n line 2\n-line 3\n",
        "@@ -2,2 +2,2 @@\n line 2\n-line 3\n+new\n",
        "@@ -4 +4 @@\n-line 3\n+}\n",
    ] {
        let error = refused(hunk, old);
        assert_eq!(error.kind, ErrorKind::ContextNotFound, "{hunk}");
        assert!(!error.hint.contains("already"), "{hunk}: {}", error.hint);
    }
}

#[test]
fn an_insertion_without_context_follows_its_number_or_is_refused() {
    let old = numbered(1, 4);
    assert_eq!(
        modified("@@ -2,0 +3,1 @@\n+new\n", &old),
        "line 1\nline 2\nnew\nline 3\nline 4\n"
    );
    assert_eq!(
        modified("@@ -0,0 +1,1 @@\n+new\n", &old),
        format!("new\n{old}")
    );
    assert_eq!(
        modified("@@ -4,0 +5,1 @@\n+new\n", &old),
        format!("{old}new\n")
    );
    for hunk in [
        "@@\n+new\n",
        "@@ -2,1 +2,2 @@\n+new\n",
        "@@ -9,0 +10,1 @@\n+new\n",
    ] {
        let error = refused(hunk, &old);
        assert_eq!(error.kind, ErrorKind::AmbiguousContext, "{hunk}");
        assert!(!error.nearest.is_empty());
    }
    assert_eq!(modified("@@\n+new\n", ""), "new\n");
    assert_eq!(modified("@@ -1 +1,2 @@\n+new\n", ""), "new\n");
}

#[test]
fn a_hunk_that_ends_the_file_goes_to_its_end() {
    let hunk = "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n";
    assert_eq!(modified(hunk, "x\nx\nx"), "x\nx\ny");
}
