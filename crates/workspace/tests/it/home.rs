//! Homes are made whole, left alone, and removed without harm to anything else.

use holon_domain::AgentId;
use holon_workspace::{Error, prepare_home, remove_home};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

fn main_id() -> AgentId {
    AgentId::parse("main").unwrap()
}

fn names(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_home_has_every_part_and_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let agents = dir.path().join("deep/agents");
    let home = prepare_home(&agents, &main_id()).unwrap();
    assert_eq!(home, agents.join("main"));
    for name in ["notes", "work", "skills", "task-output", "tool-artifacts"] {
        assert!(home.join(name).is_dir(), "{name}");
    }
    for name in ["state", "ledger", "indexes", "cache"] {
        assert!(home.join(".holon").join(name).is_dir(), "{name}");
    }
    let guide = fs::read_to_string(home.join("AGENTS.md")).unwrap();
    assert!(guide.contains("`.holon/`") && guide.contains("owned by the runtime"));
    for file in ["AGENTS.md", "memory/self.md", "memory/operator.md"] {
        let found = fs::metadata(home.join(file)).unwrap();
        assert!(found.len() > 0 && found.mode() & 0o777 == 0o600, "{file}");
    }
    for directory in [agents.clone(), home] {
        assert_eq!(
            fs::metadata(&directory).unwrap().mode() & 0o777,
            0o700,
            "{}",
            directory.display()
        );
    }
    assert_eq!(
        names(&agents),
        BTreeSet::from(["main".to_owned()]),
        "no temporary directory is left"
    );
}

#[test]
fn an_existing_home_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let home = prepare_home(dir.path(), &main_id()).unwrap();
    fs::write(home.join("AGENTS.md"), "mine").unwrap();
    fs::remove_dir(home.join("notes")).unwrap();
    assert_eq!(prepare_home(dir.path(), &main_id()).unwrap(), home);
    assert_eq!(fs::read_to_string(home.join("AGENTS.md")).unwrap(), "mine");
    assert!(!home.join("notes").exists());
}

#[test]
fn leftovers_of_an_interrupted_attempt_are_removed_and_those_of_others_kept() {
    let dir = tempfile::tempdir().unwrap();
    for leftover in [
        ".main.0123456789abcdef.new/memory",
        ".main.fedcba9876543210.gone",
        ".main.b.0123456789abcdef.new",
    ] {
        fs::create_dir_all(dir.path().join(leftover)).unwrap();
    }
    prepare_home(dir.path(), &main_id()).unwrap();
    let kept = BTreeSet::from([".main.b.0123456789abcdef.new".to_owned(), "main".to_owned()]);
    assert_eq!(names(dir.path()), kept);
}

#[test]
fn what_is_no_directory_is_not_taken_for_a_home() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    symlink(elsewhere.path(), dir.path().join("link")).unwrap();
    symlink("/no/such/place", dir.path().join("dangling")).unwrap();
    for name in ["file", "link", "dangling"] {
        let refused = prepare_home(dir.path(), &AgentId::parse(name).unwrap()).unwrap_err();
        assert!(matches!(refused, Error::HomeBlocked { .. }), "{refused}");
        assert!(refused.to_string().contains("move it away"));
    }
    assert_eq!(names(elsewhere.path()).len(), 0);
}

#[test]
fn removing_a_home_leaves_other_homes_and_link_targets_alone() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("precious"), "x").unwrap();
    let home = prepare_home(dir.path(), &main_id()).unwrap();
    prepare_home(dir.path(), &AgentId::parse("other").unwrap()).unwrap();
    symlink(elsewhere.path(), home.join("work/link")).unwrap();
    remove_home(dir.path(), &main_id()).unwrap();
    assert_eq!(names(dir.path()), BTreeSet::from(["other".to_owned()]));
    assert!(elsewhere.path().join("precious").exists());
}

#[test]
fn removing_is_harmless_when_there_is_nothing_and_finishes_what_was_begun() {
    let dir = tempfile::tempdir().unwrap();
    remove_home(&dir.path().join("no/such"), &main_id()).unwrap();
    fs::create_dir_all(dir.path().join(".main.0123456789abcdef.gone/work")).unwrap();
    remove_home(dir.path(), &main_id()).unwrap();
    remove_home(dir.path(), &main_id()).unwrap();
    assert_eq!(names(dir.path()).len(), 0);
}

#[test]
fn a_home_that_is_a_link_loses_the_link_only() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("precious"), "x").unwrap();
    symlink(elsewhere.path(), dir.path().join("main")).unwrap();
    remove_home(dir.path(), &main_id()).unwrap();
    assert_eq!(names(dir.path()).len(), 0);
    assert!(elsewhere.path().join("precious").exists());
}

#[test]
fn read_only_directories_do_not_keep_a_home_alive() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let home = prepare_home(dir.path(), &main_id()).unwrap();
    let locked = home.join("work/cache/inner");
    fs::create_dir_all(&locked).unwrap();
    fs::write(locked.join("file"), "x").unwrap();
    symlink(outside.path(), home.join("work/cache/link")).unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for path in [&locked, &home.join("work/cache")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o500)).unwrap();
    }
    remove_home(dir.path(), &main_id()).unwrap();
    assert_eq!(names(dir.path()).len(), 0);
    assert_eq!(fs::metadata(outside.path()).unwrap().mode() & 0o777, 0o755);
}

#[test]
fn a_home_can_be_made_again_after_it_was_removed() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let home = prepare_home(dir.path(), &main_id()).unwrap();
        assert!(home.join("memory/self.md").exists());
        remove_home(dir.path(), &main_id()).unwrap();
        assert!(!home.exists());
    }
}

#[test]
fn a_filesystem_that_refuses_is_named_with_the_path() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let refused = prepare_home(&dir.path().join("file/agents"), &main_id())
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("file/agents") && refused.contains("check permissions"),
        "{refused}"
    );
}
