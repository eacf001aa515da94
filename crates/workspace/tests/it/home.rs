//! Homes are created completely, left unchanged, and removed without affecting anything else.

use holon_domain::AgentId;
use holon_workspace::{Error, check_home, make_home, remove_home};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

fn main_id() -> AgentId {
    AgentId::parse("main").unwrap()
}

/// Creates the home of an agent and returns its path.
fn made(agents: &Path, agent_id: &AgentId) -> Result<PathBuf, Error> {
    let home = agents.join(agent_id.as_str());
    make_home(&home, || true).map(|()| home)
}

fn names(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_home_begins_with_a_guide_and_a_memory_and_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let agents = dir.path().join("deep/agents");
    let home = made(&agents, &main_id()).unwrap();
    assert_eq!(home, agents.join("main"));
    let parts = BTreeSet::from(["AGENTS.md".to_owned(), "memory".to_owned()]);
    assert_eq!(
        names(&home),
        parts,
        "other folders come with what is put into them"
    );
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
    let home = made(dir.path(), &main_id()).unwrap();
    fs::write(home.join("AGENTS.md"), "mine").unwrap();
    fs::remove_dir_all(home.join("memory")).unwrap();
    assert_eq!(made(dir.path(), &main_id()).unwrap(), home);
    assert_eq!(fs::read_to_string(home.join("AGENTS.md")).unwrap(), "mine");
    assert!(!home.join("memory").exists());
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
    made(dir.path(), &main_id()).unwrap();
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
        let refused = made(dir.path(), &AgentId::parse(name).unwrap()).unwrap_err();
        assert!(matches!(refused, Error::HomeBlocked { .. }), "{refused}");
        assert!(refused.to_string().contains("move it away"));
        let refused = check_home(&dir.path().join(name)).unwrap_err();
        assert!(matches!(refused, Error::HomeBlocked { .. }), "{refused}");
    }
    assert_eq!(names(elsewhere.path()).len(), 0);
}

#[test]
fn removing_a_home_leaves_other_homes_and_link_targets_alone() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("precious"), "x").unwrap();
    let home = made(dir.path(), &main_id()).unwrap();
    made(dir.path(), &AgentId::parse("other").unwrap()).unwrap();
    symlink(elsewhere.path(), home.join("link")).unwrap();
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
    let home = made(dir.path(), &main_id()).unwrap();
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
        let home = made(dir.path(), &main_id()).unwrap();
        assert!(home.join("memory/self.md").exists());
        remove_home(dir.path(), &main_id()).unwrap();
        assert!(!home.exists());
    }
}

#[test]
fn a_filesystem_that_refuses_is_named_with_the_path() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let refused = made(&dir.path().join("file/agents"), &main_id())
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("file/agents") && refused.contains("check permissions"),
        "{refused}"
    );
}

#[test]
fn a_look_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    check_home(&dir.path().join("agents/main")).unwrap();
    assert_eq!(names(dir.path()).len(), 0);
}

#[test]
fn a_home_that_is_not_wanted_any_more_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    make_home(&dir.path().join("main"), || false).unwrap();
    assert_eq!(names(dir.path()).len(), 0);
}

#[test]
fn a_removal_waits_for_a_home_that_is_being_made_and_takes_it_too() {
    let dir = tempfile::tempdir().unwrap();
    let (asked, at_gate) = channel();
    let (answer, wanted) = channel();
    std::thread::scope(|scope| {
        let home = dir.path().join("main");
        scope.spawn(move || {
            let is_wanted = || {
                asked.send(()).unwrap();
                wanted.recv().unwrap()
            };
            make_home(&home, is_wanted).unwrap();
        });
        at_gate.recv().unwrap();
        let removal = scope.spawn(|| remove_home(dir.path(), &main_id()).unwrap());
        // The removal waits for the lock now or reaches it later: either way it finds the home.
        answer.send(true).unwrap();
        removal.join().unwrap();
    });
    assert_eq!(names(dir.path()).len(), 0);
}
