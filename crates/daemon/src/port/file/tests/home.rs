//! Patches of files in the agent's home, beside those of the workspace.

use super::*;
use std::os::unix::fs::symlink;

/// A patch that adds a file with one line.
fn add(path: &str) -> String {
    format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+new\n")
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn one_patch_changes_files_of_both_and_names_them_as_they_were_written() {
    let house = House::new();
    let home = house.home();
    fs::create_dir(house.dir.path().join("home/memory")).expect("a folder");
    let note = format!("{home}/memory/self.md");
    fs::write(&note, "one\n").expect("a note");
    let patch = format!(
        "{PATCH}--- a/{note}\n+++ b/{note}\n@@ -1 +1,2 @@\n one\n+two\n{}",
        add(&format!("{home}/notes/deep/x.md"))
    );
    let applied = house.apply("call_1", &patch).expect("it applies");
    let paths: Vec<&str> = applied
        .changed_files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let deep = format!("{home}/notes/deep/x.md");
    assert_eq!(paths, ["a.txt", note.as_str(), deep.as_str()]);
    assert_eq!(read(house.root().join("a.txt")).as_deref(), Some("eins\n"));
    assert_eq!(read(&note).as_deref(), Some("one\ntwo\n"));
    assert_eq!(read(&deep).as_deref(), Some("new\n"));
}

#[test]
fn a_part_that_does_not_fit_leaves_the_files_of_both_alone() {
    let house = House::new();
    let note = format!("{}/memory/self.md", house.home());
    let patch = format!("{}{}", add(&note), PATCH.replace("-one", "-uno"));
    let refused = house.apply("call_1", &patch).expect_err("it does not fit");
    assert_eq!(refused.kind, ToolErrorKind::ContextNotFound);
    assert_eq!(read(&note), None);
    let patch = format!("{PATCH}--- {note}\n+++ {note}\n@@ -1 +1 @@\n-one\n+two\n");
    let refused = house.apply("call_2", &patch).expect_err("there is no note");
    assert_eq!(refused.kind, ToolErrorKind::FileMissing);
    assert_eq!(read(house.root().join("a.txt")).as_deref(), Some("one\n"));
}

#[test]
fn nothing_but_the_home_is_named_by_an_absolute_path() {
    let house = House::new();
    let (home, root) = (house.home(), house.root());
    fs::create_dir(house.dir.path().join("homely")).expect("a folder");
    for path in [
        format!("{home}/.holon/state/x"),
        format!("{home}/sub/.Holon/x"),
        format!("{home}/.git/hooks/x"),
        format!("{home}/../root/x"),
        format!("{home}ly/x"),
        home,
        root.join("x").display().to_string(),
        "/dev/sda".to_owned(),
        "/etc/passwd".to_owned(),
    ] {
        let refused = house.apply("call_1", &add(&path)).expect_err(&path);
        assert_eq!(refused.kind, ToolErrorKind::PathEscape, "{path}");
    }
    assert_eq!(House::names(&root), ["a.txt"]);
}

#[test]
fn no_link_leads_out_of_the_home_and_a_home_that_is_one_is_refused() {
    let house = House::new();
    let home = house.dir.path().join("home");
    symlink("../root", home.join("out")).expect("a link");
    symlink("../root/a.txt", home.join("a.txt")).expect("a link");
    let path = home.join("out/x").display().to_string();
    let refused = house
        .apply("call_1", &add(&path))
        .expect_err("it leads out");
    assert_eq!(refused.kind, ToolErrorKind::PathEscape);
    let linked = home.join("a.txt").display().to_string();
    let patch = PATCH
        .replace("a/a.txt", &linked)
        .replace("b/a.txt", &linked);
    let refused = house.apply("call_2", &patch).expect_err("it is a link");
    assert_eq!(refused.kind, ToolErrorKind::NotAFile);
    assert_eq!(read(house.root().join("a.txt")).as_deref(), Some("one\n"));

    fs::rename(&home, house.dir.path().join("moved")).expect("a rename");
    symlink("root", &home).expect("a link");
    let path = format!("{}/x", house.home());
    let refused = house.apply("call_3", &add(&path)).expect_err("a link");
    assert_eq!(refused.kind, ToolErrorKind::ToolExecutionFailed);
    assert_eq!(House::names(&house.root()), ["a.txt"]);
}

#[test]
fn a_note_is_written_while_the_workspace_is_gone_and_into_a_home_that_is_not_there_yet() {
    let house = House::new();
    fs::remove_dir_all(house.root()).expect("it is removed");
    fs::remove_dir_all(house.home()).expect("it is removed");
    let note = format!("{}/memory/new.md", house.home());
    house.apply("call_1", &add(&note)).expect("it applies");
    assert_eq!(read(&note).as_deref(), Some("new\n"));
}

#[test]
fn a_patch_of_both_that_was_cut_off_is_taken_back_in_both() {
    let house = House::new();
    let note = format!("{}/note.md", house.home());
    let patch = format!("{}{}", add("b/b.txt"), add(&note));
    house.apply("call_1", &patch).expect("it applies");
    let journal = house.journal("call_1");
    cut_off(&journal, "\n{\"phase\":\"committing\"}\n");
    let settled = house.settled_outcome("call_1", &patch).expect("a proof");
    assert_eq!(settled.expect("it is in place").changed_files.len(), 2);
    cut_off(&journal, "\n{\"phase\":\"committing\"}\n");
    house.apply("call_2", PATCH).expect("it applies");
    assert_eq!(read(&note), None, "it is taken back");
    assert_eq!(House::names(&house.root()), ["a.txt"]);
}
