//! Plan files: written atomically, read in any state the agent left them in, removed without touching other files.

use holon_domain::WorkItemId;
use holon_domain::limits::{PLAN_BYTES, PLAN_PREVIEW_BYTES};
use holon_workspace::{plan_folders, read_plan, remove_plan, write_plan};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use tempfile::TempDir;

/// An agent's home, and the plan of one item in it.
struct Home {
    dir: TempDir,
    id: WorkItemId,
}

impl Home {
    fn new() -> Self {
        Self {
            dir: TempDir::new().expect("a directory"),
            id: WorkItemId::from_stored("work_1abc"),
        }
    }

    fn with_plan(text: &str) -> Self {
        let home = Self::new();
        write_plan(home.dir.path(), &home.id, text).expect("written");
        home
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("work-items").join(self.id.as_str())
    }

    fn plan(&self) -> PathBuf {
        self.folder().join("plan.md")
    }
}

#[test]
fn a_plan_is_written_and_read_back() {
    let home = Home::new();
    let written = write_plan(home.dir.path(), &home.id, "# Plan\n").expect("written");
    assert_eq!(fs::read_to_string(home.plan()).expect("a file"), "# Plan\n");
    assert_eq!((written.bytes, written.preview.as_str()), (7, "# Plan\n"));
    assert!(written.preview_complete);
    assert_eq!(read_plan(home.dir.path(), &home.id), Some(written));
    let mode = fs::metadata(home.plan())
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
    let names: Vec<_> = fs::read_dir(home.folder()).expect("a folder").collect();
    assert_eq!(names.len(), 1, "nothing unfinished is left");
}

#[test]
fn writing_again_replaces_the_plan_and_what_an_earlier_attempt_left() {
    let home = Home::with_plan("old");
    fs::write(home.folder().join(".plan.md.new"), "half").expect("a file");
    let written = write_plan(home.dir.path(), &home.id, "new").expect("written");
    assert_eq!(fs::read_to_string(home.plan()).expect("a file"), "new");
    assert_eq!(read_plan(home.dir.path(), &home.id), Some(written));
}

#[test]
fn an_edited_plan_has_another_hash() {
    let home = Home::with_plan("old");
    let before = read_plan(home.dir.path(), &home.id).expect("a plan");
    fs::write(home.plan(), "ä".repeat(PLAN_PREVIEW_BYTES)).expect("edited");
    let after = read_plan(home.dir.path(), &home.id).expect("a plan");
    assert_ne!(before.hash, after.hash);
    assert!(!after.preview_complete);
    assert!(after.preview.len() <= PLAN_PREVIEW_BYTES && after.preview.ends_with('ä'));
}

#[test]
fn of_a_huge_plan_only_the_size_is_told() {
    let home = Home::with_plan("x");
    let file = fs::File::create(home.plan()).expect("a file");
    file.set_len(PLAN_BYTES + 1).expect("grown");
    let plan = read_plan(home.dir.path(), &home.id).expect("a plan");
    assert_eq!((plan.bytes, plan.preview.as_str()), (PLAN_BYTES + 1, ""));
    assert!(plan.hash.is_empty() && plan.is_too_large());
    file.set_len(1 << 40).expect("sparse");
    let plan = read_plan(home.dir.path(), &home.id).expect("a plan");
    assert_eq!(plan.bytes, 1 << 40, "a terabyte is not read");
    file.set_len(PLAN_BYTES).expect("shrunk");
    let plan = read_plan(home.dir.path(), &home.id).expect("a plan");
    assert_eq!(plan.hash.len(), 64, "the largest that is read");
}

#[test]
fn of_a_binary_plan_no_preview_is_shown() {
    let home = Home::with_plan("x");
    fs::write(home.plan(), [0xff, 0, 1]).expect("a file");
    let plan = read_plan(home.dir.path(), &home.id).expect("a plan");
    assert_eq!(
        (plan.bytes, plan.preview.as_str(), plan.preview_complete),
        (3, "", false)
    );
}

#[test]
fn what_is_no_regular_file_of_the_folder_is_missing() {
    let home = Home::with_plan("x");
    let outside = TempDir::new().expect("a directory");
    let secret = outside.path().join("plan.md");
    fs::write(&secret, "secret").expect("a file");
    let missing = |why: &str| assert_eq!(read_plan(home.dir.path(), &home.id), None, "{why}");
    fs::remove_file(home.plan()).expect("removed");
    missing("deleted");
    symlink(&secret, home.plan()).expect("a link");
    missing("a link");
    fs::remove_file(home.plan()).expect("removed");
    fs::create_dir(home.plan()).expect("a directory");
    missing("a directory");
    fs::remove_dir(home.plan()).expect("removed");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, home.plan(), pipe, mode, 0).expect("a pipe");
    missing("a pipe, which is not waited for");
    fs::remove_dir_all(home.folder()).expect("removed");
    symlink(outside.path(), home.folder()).expect("a link");
    missing("a linked folder");
    fs::remove_dir_all(home.dir.path().join("work-items")).expect("removed");
    missing("no folder at all");
}

#[test]
fn nothing_is_written_through_a_link() {
    let home = Home::new();
    let outside = TempDir::new().expect("a directory");
    symlink(outside.path(), home.dir.path().join("work-items")).expect("a link");
    write_plan(home.dir.path(), &home.id, "x").expect_err("a linked folder of all items");
    fs::remove_file(home.dir.path().join("work-items")).expect("removed");
    fs::create_dir(home.dir.path().join("work-items")).expect("a directory");
    symlink(outside.path(), home.folder()).expect("a link");
    write_plan(home.dir.path(), &home.id, "x").expect_err("a linked folder");
    fs::remove_file(home.folder()).expect("removed");
    fs::create_dir(home.folder()).expect("a directory");
    let target = outside.path().join("target");
    fs::write(&target, "untouched").expect("a file");
    for name in ["plan.md", ".plan.md.new"] {
        symlink(&target, home.folder().join(name)).expect("a link");
    }
    write_plan(home.dir.path(), &home.id, "mine").expect("the link itself is replaced");
    assert_eq!(fs::read_to_string(&target).expect("a file"), "untouched");
    assert_eq!(fs::read_to_string(home.plan()).expect("a file"), "mine");
    assert!(fs::symlink_metadata(home.plan()).expect("a file").is_file());
}

#[test]
fn a_name_that_is_no_id_leads_nowhere() {
    let home = Home::with_plan("x");
    for name in ["", "work_", "..", "work_/../../x", "work_a/b", "notes"] {
        let id = WorkItemId::from_stored(name);
        assert!(write_plan(home.dir.path(), &id, "x").is_err(), "{name:?}");
        assert_eq!(read_plan(home.dir.path(), &id), None, "{name:?}");
    }
}

#[test]
fn only_folders_of_items_are_listed_and_removed() {
    let home = Home::with_plan("x");
    let all = home.dir.path().join("work-items");
    fs::create_dir(all.join("notes")).expect("a directory of the agent");
    assert_eq!(
        plan_folders(home.dir.path()).expect("listed"),
        std::slice::from_ref(&home.id)
    );
    remove_plan(home.dir.path(), &home.id).expect("removed");
    remove_plan(home.dir.path(), &home.id).expect("harmless when gone");
    assert!(!home.folder().exists());
    assert!(all.join("notes").exists());
    assert_eq!(plan_folders(home.dir.path()).expect("listed"), []);
}

#[test]
fn removal_keeps_what_the_agent_put_beside_the_plan_and_what_is_behind_a_link() {
    let home = Home::with_plan("x");
    fs::write(home.folder().join("notes.md"), "mine").expect("a file");
    remove_plan(home.dir.path(), &home.id).expect("removed");
    assert!(home.folder().join("notes.md").exists() && !home.plan().exists());
    fs::remove_dir_all(home.folder()).expect("removed");
    let outside = TempDir::new().expect("a directory");
    fs::write(outside.path().join("plan.md"), "theirs").expect("a file");
    symlink(outside.path(), home.folder()).expect("a link");
    remove_plan(home.dir.path(), &home.id).expect("left alone");
    assert!(outside.path().join("plan.md").exists());
}

#[test]
fn a_home_without_plans_has_no_folders() {
    let home = Home::new();
    assert_eq!(plan_folders(home.dir.path()).expect("listed"), []);
    symlink("/", home.dir.path().join("work-items")).expect("a link");
    assert_eq!(plan_folders(home.dir.path()).expect("listed"), []);
}
