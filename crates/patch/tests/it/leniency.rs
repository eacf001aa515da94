//! What models get wrong and is understood all the same.

use holon_patch::{Applied, ErrorKind, Patch};

use crate::support::{apply, modified, modify, numbered, outcome, refused, remarks};

#[test]
fn bare_hunk_headers_are_taken() {
    let old = numbered(1, 9);
    let expected = old.replace("line 5\n", "five\n");
    for header in [
        "@@",
        "@@ @@",
        "@@ ... @@",
        "@@ fn main() {",
        "@@ -5 +5 @@",
        "@@ -5,1 +5,1",
    ] {
        let hunk = format!("{header}\n-line 5\n+five\n");
        assert_eq!(modified(&hunk, &old), expected, "{header}");
    }
}

#[test]
fn wrong_counts_are_remarked_and_do_no_harm() {
    let old = numbered(1, 9);
    let expected = old.replace("line 5\n", "five\n");
    for counts in [
        "-4,3 +4,3",
        "-4,1 +4,1",
        "-4,9 +4,9",
        "-4,2 +4,3",
        "-4,0 +4,0",
        "-4 +4",
    ] {
        let hunk = format!("@@ {counts} @@\n line 4\n-line 5\n+five\n line 6\n");
        assert_eq!(modified(&hunk, &old), expected, "{counts}");
        let wanted: &[&str] = if counts == "-4,3 +4,3" {
            &[]
        } else {
            &["count_mismatch"]
        };
        assert_eq!(remarks(&hunk, &old), wanted, "{counts}");
    }
}

#[test]
fn wrong_counts_before_another_hunk_or_file_do_not_swallow_it() {
    let old = numbered(1, 9);
    for counts in [
        "-1,2 +1,2",
        "-1,3 +1,3",
        "-1,4 +1,4",
        "-1,9 +1,9",
        "-1,1 +1,1",
    ] {
        let hunks = format!(
            "@@ {counts} @@\n line 1\n-line 2\n+two\n@@ -8,2 +8,2 @@\n line 8\n-line 9\n+nine\n"
        );
        let expected = old
            .replace("line 2\n", "two\n")
            .replace("line 9\n", "nine\n");
        assert_eq!(modified(&hunks, &old), expected, "{counts}");

        for second in [
            "--- a/g\n+++ b/g\n",
            "--- g.rs\n+++ g.rs\n",
            "diff --git a/g b/g\n--- a/g\n+++ b/g\n",
        ] {
            let text = modify(&format!(
                "@@ {counts} @@\n line 1\n-line 2\n+two\n{second}@@ -1 +1 @@\n-x\n+y\n"
            ));
            let patch = Patch::parse(&text).unwrap();
            assert_eq!(patch.files.len(), 2, "{counts} {second}");
            assert!(
                patch
                    .files
                    .iter()
                    .zip([old.as_str(), "x\n"])
                    .all(|(file, old)| file.apply(Some(old.as_bytes())).is_ok())
            );
        }
    }
}

#[test]
fn removed_and_added_lines_that_look_like_a_header_are_lines_if_the_counts_say_so() {
    let old = "-- old comment\nrest\n";
    let hunk = "@@ -1,2 +1,2 @@\n--- old comment\n+++ plus comment\n rest\n";
    assert_eq!(modified(hunk, old), "++ plus comment\nrest\n");
    let hunk =
        "@@ -1,1 +1,1 @@\n--- old comment\n+++ plus comment\n@@ -2,1 +2,1 @@\n-rest\n+done\n";
    assert_eq!(modified(hunk, old), "++ plus comment\ndone\n");
}

#[test]
fn context_lines_may_come_without_their_space() {
    let old = "fn main() {\n    one();\n\n    two();\n}\n";
    let expected = "fn main() {\n    one();\n\n    three();\n}\n";
    let whole = "@@ -1,5 +1,5 @@\nfn main() {\n    one();\n\n-    two();\n+    three();\n}\n";
    assert_eq!(modified(whole, old), expected);
    assert_eq!(remarks(whole, old), ["unmarked_context"]);
    let bare = "@@\nfn main() {\n    one();\n\n-    two();\n+    three();\n}\n";
    assert_eq!(modified(bare, old), expected);
    let only_indented = "@@\n    one();\n\n-    two();\n+    three();\n";
    assert_eq!(modified(only_indented, old), expected);
    let tabs = "@@\n\tone\n-\ttwo\n+\tthree\n";
    assert_eq!(modified(tabs, "\tone\n\ttwo\n"), "\tone\n\tthree\n");
}

#[test]
fn empty_context_lines_may_be_quite_empty() {
    let old = "a\n\nb\n\n\nc\n";
    assert_eq!(
        modified("@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", old),
        "a\n\nB\n\n\nc\n"
    );
    assert!(remarks("@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", old).is_empty());
    // Counted, the blank lines at the end belong to the hunk; not counted, they only separate.
    assert!(remarks("@@ -3,3 +3,3 @@\n-b\n+B\n\n\n", old).is_empty());
    assert!(remarks("@@ -3,1 +3,1 @@\n-b\n+B\n\n\n\n\n\n", old).is_empty());
    assert_eq!(
        modified("@@\n-b\n+B\n\n\n\n\n@@\n-c\n+C\n\n", old),
        "a\n\nB\n\n\nC\n"
    );
}

#[test]
fn a_patch_may_lack_its_last_line_feed_and_stand_in_a_code_fence() {
    let old = "a\nb\n";
    assert_eq!(modified("@@ -2 +2 @@\n-b\n+c", old), "a\nc\n");
    let fenced = format!("```diff\n{}```\n", modify("@@ -2 +2 @@\n-b\n+c\n"));
    let Applied::Write { content, .. } = apply(&fenced, Some(old)).unwrap() else {
        panic!("a modification writes");
    };
    assert_eq!(content, b"a\nc\n");
}

#[test]
fn text_around_sections_is_passed_over_as_in_a_mail() {
    let mail = "From 0123 Mon Sep 17\nSubject: [PATCH] x\n\nWhy.\n---\n f | 2 +-\n 1 file changed\n\n\
        diff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n-- \n2.47.3\n\n";
    let Applied::Write {
        content,
        diagnostics,
    } = apply(mail, Some("a\nb\n")).unwrap()
    else {
        panic!("a modification writes");
    };
    assert_eq!((content.as_slice(), diagnostics.len()), (&b"a\nc\n"[..], 0));
}

#[test]
fn a_new_file_may_have_blank_lines_without_their_plus() {
    let patch = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,3 @@\n+a\n\n+b\n";
    let Applied::Write { content, .. } = apply(patch, None).unwrap() else {
        panic!("an addition writes");
    };
    assert_eq!(content, b"a\n\nb\n");
}

#[test]
fn a_hunk_that_only_shows_context_is_checked_and_remarked() {
    assert_eq!(remarks("@@\n a\n b\n", "a\nb\n"), ["no_change"]);
    assert_eq!(
        refused("@@\n a\n c\n", "a\nb\n").kind,
        ErrorKind::ContextNotFound
    );
}

#[test]
fn spaces_at_line_ends_are_not_forgiven() {
    assert!(outcome("@@\n-a\n+b\n", "a \n").is_err());
}

#[test]
fn bytes_that_are_not_utf8_pass_through_untouched() {
    let patch = Patch::parse(&modify("@@\n-b\n+c\n")).unwrap();
    let applied = patch.files[0].apply(Some(b"\xff\xfe\nb\n\x80")).unwrap();
    let Applied::Write { content, .. } = applied else {
        panic!("a modification writes");
    };
    assert_eq!(content, b"\xff\xfe\nc\n\x80");
}

#[test]
fn a_removed_line_of_two_dashes_ends_no_hunk() {
    // The counts stop short of it, so that it stands where a mail would have its signature.
    for dashes in ["-", "- "] {
        let old = format!("a\nb\n{dashes}\nc\nd\n");
        for rest in ["-c\n d\n", "-c\nd\n", " c\n"] {
            let hunk = format!("@@ -1,2 +1 @@\n a\n-b\n-{dashes}\n{rest}");
            let left = if rest == " c\n" {
                "a\nc\nd\n"
            } else {
                "a\nd\n"
            };
            assert_eq!(modified(&hunk, &old), left, "{hunk}");
        }
        let hunk = format!("@@ -1,2 +1 @@\n a\n-b\n-{dashes}\n");
        assert_eq!(modified(&hunk, &old), "a\nc\nd\n", "{hunk}");
    }
}

#[test]
fn the_signature_of_a_mailed_patch_is_no_line_of_it() {
    let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    for signature in [
        "-- \n2.43.0\n\n",
        "-- \n2.39.2 (Apple Git-143)\n",
        "\n-- \n2.43.0.windows.1",
    ] {
        let patch = format!("{hunk}{signature}");
        assert_eq!(modified(&patch, "a\nb\n"), "a\nc\n", "{signature}");
        assert!(remarks(&patch, "a\nb\n").is_empty(), "{signature}");
    }
    // A series in one text: the next mail follows.
    let first = format!("--- a/f\n+++ b/f\n{hunk}-- \n2.43.0\n\n");
    let next = "From 0123456789 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] more\n\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(Patch::parse(&(first + next)).unwrap().files.len(), 2);
}
