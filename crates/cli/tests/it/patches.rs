//! `ApplyPatch` in the real program: all files change or none, and nothing outside the workspace is touched.

use crate::support::world;
use holon_testkit::World;
use serde_json::json;

/// Runs one patch in a project with a file of three lines, and returns the text the model reads.
fn patch(world: &World, patch: &str) -> String {
    let call = json!({ "tool": "ApplyPatch", "input": { "patch": patch } });
    let model = world.model(
        "patcher",
        &json!([{ "calls": [call] }, { "text": "{{tool_result}}" }]),
    );
    let root = world.path().join("project").display().to_string();
    let ran = world.run(&["run", "go", "--model", &model, "--workspace-root", &root]);
    ran.answer().trim_end().to_owned()
}

fn project() -> World {
    let world = world();
    world.write("project/a.txt", "one\ntwo\nthree\n");
    world.write("outside.txt", "mine\n");
    world
}

fn read(world: &World, path: &str) -> Option<String> {
    std::fs::read_to_string(world.path().join(path)).ok()
}

#[test]
fn several_files_are_changed_added_renamed_and_deleted_in_one_call() {
    let world = project();
    world.write("project/old.txt", "bye\n");
    world.write("project/b.txt", "same\n");
    let told = patch(
        &world,
        "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+zwei\n\
         --- /dev/null\n+++ b/new/c.txt\n@@ -0,0 +1 @@\n+fresh\n\
         --- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\
         diff --git a/b.txt b/d.txt\nrename from b.txt\nrename to d.txt\n",
    );
    assert_eq!(told, "M a.txt\nA new/c.txt\nD old.txt\nR b.txt -> d.txt");
    assert_eq!(read(&world, "project/a.txt").unwrap(), "one\nzwei\nthree\n");
    assert_eq!(read(&world, "project/new/c.txt").unwrap(), "fresh\n");
    assert_eq!(read(&world, "project/d.txt").unwrap(), "same\n");
    assert_eq!(read(&world, "project/old.txt"), None);
    assert_eq!(read(&world, "project/b.txt"), None);
}

#[test]
fn a_part_that_does_not_fit_leaves_every_file_alone_and_shows_the_real_lines() {
    let world = project();
    let told = patch(
        &world,
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+fresh\n\
         --- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-zwei\n+two\n",
    );
    assert!(told.contains("context_not_found"), "{told}");
    assert!(told.contains(r#"{"line":2,"text":"two"}"#), "{told}");
    assert_eq!(read(&world, "project/new.txt"), None);
    assert_eq!(read(&world, "project/a.txt").unwrap(), "one\ntwo\nthree\n");
}

#[test]
fn nothing_outside_the_workspace_can_be_named_or_reached_through_a_link() {
    let world = project();
    std::os::unix::fs::symlink("..", world.path().join("project/up")).unwrap();
    std::os::unix::fs::symlink("../outside.txt", world.path().join("project/link.txt")).unwrap();
    for path in [
        "../outside.txt",
        "up/outside.txt",
        "link.txt",
        ".git/hooks/x",
    ] {
        let told = patch(
            &world,
            &format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-mine\n+theirs\n"),
        );
        let refused = ["path_escape", "not_a_file"]
            .iter()
            .any(|kind| told.contains(kind));
        assert!(refused, "{path}: {told}");
        assert_eq!(read(&world, "outside.txt").unwrap(), "mine\n");
    }
}

#[test]
fn a_workspace_that_a_link_has_replaced_is_not_followed() {
    let world = project();
    world.write("other/a.txt", "one\ntwo\nthree\n");
    let replace = "mv ../project ../moved && ln -s other ../project";
    let calls = [
        json!({ "tool": "ExecCommand", "input": { "cmd": replace } }),
        json!({ "tool": "ApplyPatch", "input": {
            "patch": "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+zwei\n"
        } }),
    ];
    let [first, second] = calls.map(|call| json!({ "calls": [call] }));
    let model = world.model(
        "mover",
        &json!([first, second, { "text": "{{tool_result}}" }]),
    );
    let root = world.path().join("project").display().to_string();
    let ran = world.run(&["run", "go", "--model", &model, "--workspace-root", &root]);
    let told = ran.answer();
    assert!(told.contains("execution_root_violation"), "{told}");
    for path in ["moved/a.txt", "other/a.txt"] {
        assert_eq!(read(&world, path).unwrap(), "one\ntwo\nthree\n", "{path}");
    }
}
