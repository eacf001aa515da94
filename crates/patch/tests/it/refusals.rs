//! What is refused, by which kind, and at which line.

use std::collections::BTreeSet;

use holon_patch::{ErrorKind, Patch};

use crate::support::{apply, modify};

use ErrorKind as K;

/// A patch, the file before it, and what comes of it.
type Row = (&'static str, Option<&'static str>, K);

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

const ROWS: &[Row] = &[
    ("", None, K::EmptyPatch),
    (" \n\n", None, K::EmptyPatch),
    ("```\n```\n", None, K::MissingFileHeader),
    ("hello\n", None, K::MissingFileHeader),
    ("-a\n+b\n", None, K::MissingFileHeader),
    ("@@ -1 +1 @@\n-a\n+b\n", None, K::MissingFileHeader),
    ("--- a/f\n@@ -1 +1 @@\n-a\n+b\n", None, K::MissingFileHeader),
    ("+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", None, K::MissingFileHeader),
    (
        "--- a/f\n\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        None,
        K::MissingFileHeader,
    ),
    (
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        None,
        K::MissingFileHeader,
    ),
    (
        "--- \"a/f\n+++ b/f\n@@\n-a\n+b\n",
        None,
        K::MissingFileHeader,
    ),
    (
        "diff --git a/f b/f\nindex 1..2 100644\n",
        None,
        K::MissingFileHeader,
    ),
    (
        "diff --git a/f b/f\n@@ -1 +1 @@\n-a\n+b\n",
        None,
        K::MissingFileHeader,
    ),
    (
        "diff --git a/f b/f\nnew file mode 100644\n+lost\n",
        None,
        K::MissingFileHeader,
    ),
    ("rename from f\nrename to g\n", None, K::MissingFileHeader),
    ("--- a/f\n+++ b/f\n", None, K::InvalidHunkHeader),
    ("--- /dev/null\n+++ b/f\n", None, K::InvalidHunkHeader),
    ("--- a/f\n+++ b/f\n-a\n+b\n", None, K::InvalidHunkHeader),
    (
        "--- a/f\n+++ b/f\n@@ -1,2 @@\n-a\n+b\n",
        None,
        K::InvalidHunkHeader,
    ),
    (
        "--- a/f\n+++ b/f\n@@ -a +b @@\n-a\n+b\n",
        None,
        K::InvalidHunkHeader,
    ),
    ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n", None, K::InvalidHunk),
    ("--- a/f\n+++ b/f\n@@\n@@\n-a\n+b\n", None, K::InvalidHunk),
    (
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n b\n",
        None,
        K::InvalidHunk,
    ),
    (
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\nb\n",
        None,
        K::InvalidHunk,
    ),
    (
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n-a\n+b\n",
        None,
        K::InvalidHunk,
    ),
    (
        "--- a/f\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        None,
        K::InvalidHunk,
    ),
    (
        "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+/etc/passwd\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\nnew file mode 160000\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\nnew file mode 104755\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\nnew file mode 040000\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\nold mode 100644\nnew mode 120000\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\ndeleted file mode 120000\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\nindex 1..2 160000\n--- a/f\n+++ b/f\n@@\n-a\n+b\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/g\ncopy from f\ncopy to g\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 0\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --git a/f b/f\nBinary files a/f and b/f differ\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "Binary files f and g differ\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "--- a/f\n+++ b/f\nBinary files f and g differ\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "diff --cc f\nindex 1,2..3\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n--a\n++b\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    (
        "Submodule lib 123..456:\n  > x\n",
        None,
        K::UnsupportedGitPatchFeature,
    ),
    ("--- a/../f\n+++ b/../f\n@@\n-a\n+b\n", None, K::PathEscape),
    (
        "--- /etc/../passwd\n+++ /etc/../passwd\n@@\n-a\n+b\n",
        None,
        K::PathEscape,
    ),
    (
        "--- /dev/null\n+++ b//etc//x\n@@\n+b\n",
        None,
        K::PathEscape,
    ),
    (
        "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@\n+b\n",
        None,
        K::PathEscape,
    ),
    (
        "--- /dev/null\n+++ b/sub/.GIT/config\n@@\n+b\n",
        None,
        K::PathEscape,
    ),
    (
        "--- /dev/null\n+++ b/.holon/state/x\n@@\n+b\n",
        None,
        K::PathEscape,
    ),
    ("--- /dev/null\n+++ b/a\0b\n@@\n+b\n", None, K::PathEscape),
    (
        "--- /dev/null\n+++ \"b/a\\000b\"\n@@\n+b\n",
        None,
        K::PathEscape,
    ),
    (
        "--- /dev/null\n+++ \"b/\\056\\056/f\"\n@@\n+b\n",
        None,
        K::PathEscape,
    ),
    ("--- /dev/null\n+++ b/\n@@\n+b\n", None, K::PathEscape),
    (
        "diff --git a/f b/../g\nrename from f\nrename to ../g\n",
        None,
        K::PathEscape,
    ),
    (
        "diff --git a/f b/g\nrename from /../f\nrename to g\n",
        None,
        K::PathEscape,
    ),
    (
        "--- a/f\n+++ b/g\n@@\n-a\n+b\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "diff --git a/e b/e\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@\n+b\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "diff --git a/e b/e\n--- a/f\n+++ b/f\n@@\n-a\n+b\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "diff --git a/f b/g\nrename from f\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "diff --git a/f b/g\nrename from f\nrename to f\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/h\n@@\n-a\n+b\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "diff --git a/f b/g\nrename from f\nrename to g\n--- a/h\n+++ b/g\n@@\n-a\n+b\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ /dev/null\n@@\n-a\n",
        None,
        K::RenamePathMismatch,
    ),
    (
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        Some("x\n"),
        K::ContextNotFound,
    ),
    (
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        Some(""),
        K::ContextNotFound,
    ),
    (
        "--- a/f\n+++ b/f\n@@\n-a\n+b\n",
        Some("a\na\n"),
        K::AmbiguousContext,
    ),
    (
        "--- a/f\n+++ b/f\n@@\n-a\n+b\n--- a/f\n+++ b/f\n@@\n-c\n+d\n",
        None,
        K::DuplicateFilePatch,
    ),
    (
        "--- /dev/null\n+++ b/g\n@@\n+b\ndiff --git a/f b/g\nrename from f\nrename to g\n",
        None,
        K::DuplicateFilePatch,
    ),
    (
        "--- /dev/null\n+++ b/f\n@@\n+b\n",
        Some(""),
        K::TargetExists,
    ),
    (
        "--- /dev/null\n+++ b/f\n@@\n+b\n",
        Some("b\n"),
        K::TargetExists,
    ),
    ("--- a/f\n+++ b/f\n@@\n-a\n+b\n", None, K::FileMissing),
    ("--- a/f\n+++ /dev/null\n@@\n-a\n", None, K::FileMissing),
    (
        "diff --git a/f b/g\nrename from f\nrename to g\n",
        None,
        K::FileMissing,
    ),
    ("--- a/f\n+++ b/f\n@@\n-a\n+b\n", Some("a\n\0"), K::NotText),
    ("--- a/f\n+++ b/f\n@@\n-a\n+b\0\n", Some("a\n"), K::NotText),
    (
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n",
        None,
        K::UnsupportedDialect,
    ),
    ("*** Add File: f\n+b\n", None, K::UnsupportedDialect),
    (
        "*** f\t2024\n--- g\t2024\n***************\n*** 1 ****\n! a\n",
        None,
        K::UnsupportedDialect,
    ),
    (
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        None,
        K::UnsupportedDialect,
    ),
];

#[test]
fn each_broken_rule_has_its_kind_and_says_what_to_do() {
    for (patch, old, kind) in ROWS {
        let error = apply(patch, *old).expect_err(patch);
        assert_eq!(error.kind, *kind, "{patch:?}: {error}");
        assert!(
            !error.message.is_empty() && !error.hint.is_empty(),
            "{patch:?}"
        );
    }
}

#[test]
fn every_kind_is_shown_here_or_among_the_limits() {
    let mut shown: BTreeSet<&str> = ROWS.iter().map(|(_, _, kind)| kind.as_str()).collect();
    shown.insert(K::TooLarge.as_str());
    let all: BTreeSet<&str> = K::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(shown, all);
}

#[test]
fn an_error_names_the_line_of_the_patch() {
    let good = modify(HUNK);
    for (patch, line) in [
        (
            format!("{good}--- a/g\n+++ b/g\n@@ -1,x +1 @@\n-a\n+b\n"),
            8,
        ),
        (format!("{good}{good}"), 6),
        (
            format!("{good}diff --git a/g b/g\nnew file mode 120000\n"),
            7,
        ),
        (format!("{good}--- a/../g\n+++ b/../g\n{HUNK}"), 6),
        (format!("{good}--- a/g\n+++ b/g\nloose\n"), 8),
        (format!("{good}--- a/g\n+++ b/g\n@@\n-a\n+\0\n"), 10),
        ("x\n*** Begin Patch\n".to_owned(), 2),
    ] {
        let error = Patch::parse(&patch).unwrap_err();
        assert_eq!(error.line, Some(line), "{patch:?}: {error}");
    }
}

#[test]
fn one_bad_file_refuses_the_whole_patch() {
    let patch = format!("{}--- /dev/null\n+++ b/../evil\n@@\n+x\n", modify(HUNK));
    assert_eq!(Patch::parse(&patch).unwrap_err().kind, K::PathEscape);
}
