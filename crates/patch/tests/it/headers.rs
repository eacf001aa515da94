//! What file headers ask for: names, git's own headers, and what of them is listed as ignored.

use holon_patch::{Applied, Change, Patch};

fn changes(patch: &str) -> Vec<Change> {
    let patch = Patch::parse(patch).unwrap_or_else(|error| panic!("{error}\n{patch}"));
    patch.files.into_iter().map(|file| file.change).collect()
}

fn modify(path: &str) -> Change {
    Change::Modify {
        path: path.to_owned(),
    }
}

fn add(path: &str) -> Change {
    Change::Add {
        path: path.to_owned(),
    }
}

fn delete(path: &str) -> Change {
    Change::Delete {
        path: path.to_owned(),
    }
}

fn rename(from: &str, to: &str) -> Change {
    Change::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

#[test]
fn headers_say_what_happens_to_a_file() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let new = "@@ -0,0 +1 @@\n+b\n";
    let gone = "@@ -1 +0,0 @@\n-a\n";
    for (patch, expected) in [
        (format!("--- a/x.rs\n+++ b/x.rs\n{hunk}"), modify("x.rs")),
        (format!("--- x.rs\n+++ x.rs\n{hunk}"), modify("x.rs")),
        (format!("--- a/x.rs\n+++ x.rs\n{hunk}"), modify("x.rs")),
        (format!("--- a/a/x\n+++ b/a/x\n{hunk}"), modify("a/x")),
        (format!("--- a/x\n+++ a/x\n{hunk}"), modify("a/x")),
        (
            format!("--- a/x\t2024-01-02 03:04:05 +0000\n+++ b/x\t2024-01-02\n{hunk}"),
            modify("x"),
        ),
        (
            format!("--- \"a/\\303\\244 \\\"q\\\"\"\n+++ \"b/\\303\\244 \\\"q\\\"\"\n{hunk}"),
            modify("ä \"q\""),
        ),
        (
            format!("--- a/two words\t\n+++ b/two words\t\n{hunk}"),
            modify("two words"),
        ),
        (format!("--- a/x\r\n+++ b/x\r\n{hunk}"), modify("x")),
        (format!("--- /dev/null\n+++ b/x\n{new}"), add("x")),
        (format!("--- /dev/null\t1970-01-01\n+++ x\n{new}"), add("x")),
        (format!("--- a/x\n+++ /dev/null\n{gone}"), delete("x")),
        (
            format!(
                "diff --git a/x b/x\nnew file mode 100755\nindex 000..123\n--- /dev/null\n+++ b/x\n{new}"
            ),
            add("x"),
        ),
        (
            format!("diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n{gone}"),
            delete("x"),
        ),
        (
            "diff --git a/x y b/x y\nnew file mode 100644\nindex 0..e69de29\n".to_owned(),
            add("x y"),
        ),
        (
            "diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0\n".to_owned(),
            delete("x"),
        ),
        (
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n".to_owned(),
            modify("x"),
        ),
        (
            "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n".to_owned(),
            rename("x", "y"),
        ),
        (
            format!("diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n{hunk}"),
            rename("x", "y"),
        ),
        (
            "diff --git \"a/\\303\\244\" b/y\nrename from \"\\303\\244\"\nrename to y\n".to_owned(),
            rename("ä", "y"),
        ),
    ] {
        assert_eq!(changes(&patch), [expected], "{patch}");
    }
}

#[test]
fn a_patch_of_many_files_keeps_their_order() {
    let patch = "\
diff --git a/m b/m
index 1..2 100644
--- a/m
+++ b/m
@@ -1 +1 @@
-a
+b
diff --git a/r b/s
similarity index 100%
rename from r
rename to s
diff --git a/e b/e
new file mode 100644
index 0..e69de29
diff --git a/p b/p
--- a/p
+++ b/p
@@ -1 +1 @@
-a
+b
--- a/d
+++ /dev/null
@@ -1 +0,0 @@
-a
";
    let expected = [
        modify("m"),
        rename("r", "s"),
        add("e"),
        modify("p"),
        delete("d"),
    ];
    assert_eq!(changes(patch), expected);
}

#[test]
fn metadata_is_listed_and_has_no_effect() {
    let patch = "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from x\nrename to y\nindex 12..34 100755\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    let patch = Patch::parse(patch).unwrap();
    let listed: Vec<(&str, &str)> = patch.files[0]
        .ignored_metadata
        .iter()
        .map(|ignored| (ignored.kind, ignored.value.as_str()))
        .collect();
    let expected = [
        ("old mode", "100644"),
        ("new mode", "100755"),
        ("similarity index", "90%"),
        ("index", "12..34 100755"),
    ];
    assert_eq!(listed, expected);
    assert_eq!(patch.files[0].line, 1);
}

#[test]
fn a_change_of_mode_alone_leaves_the_content_and_says_so() {
    let patch = Patch::parse("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n").unwrap();
    let Applied::Write {
        content,
        diagnostics,
    } = patch.files[0].apply(Some(b"\0binary")).unwrap()
    else {
        panic!("nothing is deleted");
    };
    assert_eq!(content, b"\0binary");
    assert_eq!(diagnostics[0].kind.as_str(), "no_change");
}

#[test]
fn a_plain_rename_moves_any_content() {
    let patch = Patch::parse("diff --git a/x b/y\nrename from x\nrename to y\n").unwrap();
    let file = &patch.files[0];
    assert_eq!((file.change.source(), file.change.target()), ("x", "y"));
    let applied = file.apply(Some(b"\0\xff")).unwrap();
    let expected = Applied::Write {
        content: b"\0\xff".to_vec(),
        diagnostics: Vec::new(),
    };
    assert_eq!(applied, expected);
}

#[test]
fn a_rename_with_edits_reads_the_old_name() {
    let patch = Patch::parse("diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n").unwrap();
    let Applied::Write { content, .. } = patch.files[0].apply(Some(b"a\nb\n")).unwrap() else {
        panic!("a rename writes");
    };
    assert_eq!(content, b"a\nc\n");
}

#[test]
fn a_deletion_shows_all_it_deletes() {
    let patch = |hunks: &str| Patch::parse(&format!("--- a/x\n+++ /dev/null\n{hunks}")).unwrap();
    for hunks in [
        "@@ -1,3 +0,0 @@\n-a\n-b\n-c\n",
        "@@\n-a\n-b\n-c\n",
        "@@ -1,3 +1,1 @@\n-a\n b\n-c\n",
        "@@ -1,1 +0,0 @@\n-a\n@@ -2,2 +0,0 @@\n-b\n-c\n",
    ] {
        let applied = patch(hunks).files[0].apply(Some(b"a\nb\nc\n"));
        assert!(
            matches!(applied, Ok(Applied::Delete { .. })),
            "{hunks}: {applied:?}"
        );
    }
    for hunks in [
        "@@ -1,2 +0,0 @@\n-a\n-b\n",
        "@@\n-b\n-c\n",
        "@@\n-a\n@@\n-c\n",
        "",
    ] {
        let error = patch(hunks).files[0].apply(Some(b"a\nb\nc\n")).unwrap_err();
        assert_eq!(error.kind.as_str(), "context_not_found", "{hunks}");
        assert!(!error.nearest.is_empty() && error.path.as_deref() == Some("x"));
    }
    let empty = Patch::parse("diff --git a/x b/x\ndeleted file mode 100644\n").unwrap();
    assert!(matches!(
        empty.files[0].apply(Some(b"")),
        Ok(Applied::Delete { .. })
    ));
}

#[test]
fn an_empty_file_is_added_where_git_says_so() {
    let patch =
        Patch::parse("diff --git a/x b/x\nnew file mode 100644\nindex 0..e69de29\n").unwrap();
    let expected = Applied::Write {
        content: Vec::new(),
        diagnostics: Vec::new(),
    };
    assert_eq!(patch.files[0].apply(None), Ok(expected));
}
