//! Line ends: a file keeps its own, and a last line feed is there if it was or if the patch says so.

use holon_patch::Applied;

use crate::support::{apply, modified, modify, remarks};

const MARKER: &str = "\\ No newline at end of file\n";

#[test]
fn a_file_keeps_its_own_line_ends() {
    for (hunk, old, expected) in [
        // An LF patch on a CRLF file.
        (
            "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n",
            "a\r\nb\r\n",
            "a\r\nc\r\nd\r\n",
        ),
        // A CRLF patch on an LF file.
        (
            "@@ -1,2 +1,3 @@\r\n a\r\n-b\r\n+c\r\n+d\r\n",
            "a\nb\n",
            "a\nc\nd\n",
        ),
        // CRLF on both sides, with and without it in the headers.
        (
            "@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n",
            "a\r\nb\r\n",
            "a\r\nc\r\n",
        ),
        (
            "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n",
            "a\r\nb\r\n",
            "a\r\nc\r\n",
        ),
        // Mixed: an added line follows the line it replaces.
        ("@@ -1,2 +1,2 @@\n-a\n+A\n-b\n+B\n", "a\r\nb\n", "A\r\nB\n"),
        // No context at all.
        ("@@ -1,0 +2 @@\n+x\n", "a\r\nb\r\n", "a\r\nx\r\nb\r\n"),
        ("@@ -0,0 +1 @@\n+x\n", "a\r\nb\r\n", "x\r\na\r\nb\r\n"),
        // A CRLF file whose last line has no end.
        ("@@ -2,1 +2,2 @@\n b\n+c\n", "a\r\nb", "a\r\nb\r\nc"),
        ("@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nb", "a\r\nc"),
    ] {
        assert_eq!(modified(hunk, old), expected, "{hunk:?} on {old:?}");
    }
}

#[test]
fn a_patch_exact_to_the_byte_may_change_line_ends() {
    assert_eq!(
        modified("@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", "a\r\nb\r\n"),
        "a\nb\r\n"
    );
    assert_eq!(
        modified("@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n", "a\nb\n"),
        "a\r\nb\n"
    );
}

#[test]
fn a_new_file_has_the_line_ends_of_the_patch_unless_those_are_its_transport() {
    let write = |patch: &str| match apply(patch, None).unwrap() {
        Applied::Write { content, .. } => String::from_utf8(content).unwrap(),
        Applied::Delete { .. } => panic!("an addition writes"),
    };
    let plain = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n";
    assert_eq!(write(plain), "a\nb\n");
    assert_eq!(
        write(&plain.replace("+a\n+b\n", "+a\r\n+b\r\n")),
        "a\r\nb\r\n"
    );
    assert_eq!(write(&plain.replace('\n', "\r\n")), "a\nb\n");
    assert_eq!(write(&format!("{plain}{MARKER}")), "a\nb");
    assert_eq!(write("--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a"), "a\n");
}

#[test]
fn the_last_line_feed_changes_only_if_the_patch_says_so() {
    let replace = |old_marker: &str, new_marker: &str| {
        format!("@@ -2,1 +2,1 @@\n-b\n{old_marker}+c\n{new_marker}")
    };
    for (hunk, old, expected) in [
        // Said precisely.
        (replace("", ""), "a\nb\n", "a\nc\n"),
        (replace(MARKER, MARKER), "a\nb", "a\nc"),
        (replace(MARKER, ""), "a\nb", "a\nc\n"),
        (replace("", MARKER), "a\nb\n", "a\nc"),
        // Not said, or said wrongly: the file keeps what it had.
        (replace("", ""), "a\nb", "a\nc"),
        (replace(MARKER, MARKER), "a\nb\n", "a\nc\n"),
        // Said wrongly about the old side: what is asked for holds already.
        (replace(MARKER, ""), "a\nb\n", "a\nc\n"),
        (replace("", MARKER), "a\nb", "a\nc"),
    ] {
        assert_eq!(modified(&hunk, old), expected, "{hunk:?} on {old:?}");
    }
    assert_eq!(modified("@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb"), "a\nb\nc");
    assert_eq!(modified("@@ -1,2 +1 @@\n a\n-b\n", "a\nb"), "a\n");
    assert_eq!(
        modified(&format!("@@ -1 +1 @@\n-b\n+b\n{MARKER}"), "b\n"),
        "b"
    );
    assert_eq!(
        modified(&format!("@@ -1,2 +0,0 @@\n-a\n-b\n{MARKER}"), "a\nb"),
        ""
    );
    assert_eq!(modified(&format!("@@ -0,0 +1 @@\n+b\n{MARKER}"), ""), "b");
    assert_eq!(
        modified(&format!("@@ -1 +1 @@\n-a\n+b\r\n{MARKER}"), "a\nz\n"),
        "b\nz\n".replace("b\n", "b\r\n")
    );
}

#[test]
fn a_marker_in_the_middle_of_a_file_is_remarked_and_passed_over() {
    let hunk = format!("@@ -1 +1 @@\n-a\n+b\n{MARKER}");
    assert_eq!(modified(&hunk, "a\nz\n"), "b\nz\n");
    assert_eq!(remarks(&hunk, "a\nz\n"), ["misplaced_marker"]);
}

#[test]
fn a_file_without_any_line_end_takes_the_patch_at_its_word() {
    assert_eq!(modified("@@ -1 +1,2 @@\n-a\n+b\r\n+c\r\n", "a"), "b\r\nc\r");
    let crlf = modify("@@ -1 +1,2 @@\n-a\n+b\n+c\n").replace('\n', "\r\n");
    let Applied::Write { content, .. } = apply(&crlf, Some("a")).unwrap() else {
        panic!("a modification writes");
    };
    assert_eq!(content, b"b\nc");
}
