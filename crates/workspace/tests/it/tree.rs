//! Files beneath a root are read and changed; nothing outside ever is.

mod hostile;

use holon_workspace::{
    FileChange, FileContent, NewContent, SettleOutcome, Tree, TreeError, forget, settle, take_back,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

type Snapshot = BTreeMap<PathBuf, (u32, u64, Vec<u8>)>;

/// Kind, permissions, inode and content of every entry below a directory.
fn snapshot(dir: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        let bytes = if found.is_file() {
            fs::read(&path).unwrap()
        } else if found.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else {
            Vec::new()
        };
        if found.is_dir() {
            all.extend(snapshot(&path));
        }
        all.insert(path, (found.mode(), found.ino(), bytes));
    }
    all
}

/// `house/` with links and special files, `outside/` beside it, and a directory for journals.
struct Sandbox {
    dir: tempfile::TempDir,
    base: PathBuf,
}

impl Sandbox {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for name in [
            "house/sub/deep",
            "house/.git/hooks",
            "house/.holon/state",
            "house/a-directory",
            "outside/inner",
            "journals",
        ] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        for name in [
            "house/file",
            "house/sub/file",
            "house/.git/config",
            "outside/file",
            "outside/inner/file",
        ] {
            fs::write(base.join(name), "content\n").unwrap();
        }
        Self { dir, base }
    }

    fn tree(&self) -> Tree {
        Tree::open(&self.base.join("house")).unwrap()
    }

    fn replace(&self, changes: &[FileChange]) -> Result<(), TreeError> {
        self.tree().replace(changes, &self.journal())
    }

    fn journal(&self) -> PathBuf {
        self.base.join("journals/call")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.join("house").join(name)
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.path(name)).unwrap();
    }
}

fn rewrite(path: &str, before: &str, after: &str) -> FileChange {
    FileChange {
        before: Some(before.as_bytes().to_vec()),
        ..add(path, after)
    }
}

fn add(path: &str, after: &str) -> FileChange {
    FileChange {
        path: path.to_owned(),
        before: None,
        after: Some(NewContent {
            content: after.as_bytes().to_vec(),
            mode: None,
        }),
    }
}

fn delete(path: &str, before: &str) -> FileChange {
    FileChange {
        after: None,
        ..rewrite(path, before, "")
    }
}

#[test]
fn links_between_directories_inside_are_followed() {
    let sandbox = Sandbox::new();
    sandbox.link("inside", "sub");
    sandbox.link("sub/deep/back", "../../sub/./deep/..");
    let found = sandbox.tree().read("sub/deep/back/file", 100).unwrap();
    assert_eq!(found.unwrap().content, b"content\n");
    sandbox
        .replace(&[
            rewrite("inside/file", "content\n", "new\n"),
            add("inside/made/x", "x"),
        ])
        .unwrap();
    assert_eq!(
        fs::read_to_string(sandbox.path("sub/file")).unwrap(),
        "new\n"
    );
    assert_eq!(fs::read_to_string(sandbox.path("sub/made/x")).unwrap(), "x");
    let twice = [
        rewrite("inside/file", "new\n", "1"),
        rewrite("sub/file", "new\n", "2"),
    ];
    let refused = sandbox.replace(&twice).unwrap_err();
    assert!(refused.to_string().contains("named twice"), "{refused}");
}

#[test]
fn reading_is_bounded_and_tells_nothing_from_something() {
    let sandbox = Sandbox::new();
    let tree = sandbox.tree();
    fs::set_permissions(sandbox.path("file"), fs::Permissions::from_mode(0o4751)).unwrap();
    let found = FileContent {
        content: b"content\n".to_vec(),
        mode: 0o751,
    };
    assert_eq!(tree.read("file", 8).unwrap(), Some(found));
    assert!(matches!(
        tree.read("file", 7),
        Err(TreeError::TooLarge { max_bytes: 7, .. })
    ));
    assert_eq!(tree.read("no-such", 8).unwrap(), None);
    assert_eq!(tree.read("no/such/file", 8).unwrap(), None);
}

#[test]
fn a_root_that_is_moved_is_still_the_root() {
    let sandbox = Sandbox::new();
    let tree = sandbox.tree();
    fs::rename(sandbox.base.join("house"), sandbox.base.join("moved")).unwrap();
    symlink("outside", sandbox.base.join("house")).unwrap();
    tree.replace(&[rewrite("file", "content\n", "new\n")], &sandbox.journal())
        .unwrap();
    assert_eq!(
        fs::read_to_string(sandbox.base.join("moved/file")).unwrap(),
        "new\n"
    );
    assert_eq!(
        fs::read_to_string(sandbox.base.join("outside/file")).unwrap(),
        "content\n"
    );
}

#[test]
fn mode_bits_are_kept_given_or_the_systems_and_a_new_file_is_never_setuid() {
    let sandbox = Sandbox::new();
    for (name, mode) in [("file", 0o6755), ("sub/file", 0o3440)] {
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::write(sandbox.path("plain"), "").unwrap();
    let mut given = add("given", "x");
    given.after.as_mut().unwrap().mode = Some(0o4711);
    let mut only_mode = rewrite("plain", "", "");
    only_mode.after.as_mut().unwrap().mode = Some(0o700);
    let usual = fs::metadata(sandbox.path("plain")).unwrap().mode();
    sandbox
        .replace(&[
            rewrite("file", "content\n", "new\n"),
            rewrite("sub/file", "content\n", "new\n"),
            given,
            only_mode,
            add("new", "x"),
        ])
        .unwrap();
    for (name, mode) in [
        ("file", 0o106_755),
        ("sub/file", 0o103_440),
        ("given", 0o100_711),
        ("plain", 0o100_700),
        ("new", usual),
    ] {
        assert_eq!(
            fs::metadata(sandbox.path(name)).unwrap().mode(),
            mode,
            "{name}"
        );
    }
}

#[test]
fn a_file_that_is_not_as_it_was_seen_refuses_the_whole_call() {
    let sandbox = Sandbox::new();
    let before = snapshot(sandbox.dir.path());
    let good = || rewrite("file", "content\n", "new\n");
    let refusal = |change| sandbox.replace(&[good(), change]).unwrap_err();
    for stale in ["CONTENT\n", "content", "content\nmore\n", ""] {
        for change in [rewrite("sub/file", stale, "x"), delete("sub/file", stale)] {
            assert!(
                matches!(refusal(change), TreeError::Changed { .. }),
                "{stale:?}"
            );
        }
    }
    assert!(matches!(
        refusal(add("sub/file", "x")),
        TreeError::Exists { .. }
    ));
    assert!(matches!(
        refusal(rewrite("no/such", "", "x")),
        TreeError::Missing { .. }
    ));
    assert!(matches!(
        refusal(delete("no-such", "")),
        TreeError::Missing { .. }
    ));
    assert!(matches!(refusal(good()), TreeError::Refused { .. }));
    // A file cannot be a directory to another file of the same call.
    let changes = [add("new", "x"), add("new/below", "x")];
    assert!(matches!(
        sandbox.replace(&changes),
        Err(TreeError::Exists { .. })
    ));
    assert_eq!(snapshot(sandbox.dir.path()), before);
    assert_eq!(settle(&sandbox.journal()).unwrap(), SettleOutcome::Nothing);
}

#[test]
fn parents_are_made_and_those_a_deletion_empties_stay() {
    let sandbox = Sandbox::new();
    sandbox
        .replace(&[
            add("x/y/z/one", "1"),
            add("x/y/two", "2"),
            delete("sub/file", "content\n"),
        ])
        .unwrap();
    assert_eq!(fs::read_to_string(sandbox.path("x/y/z/one")).unwrap(), "1");
    assert_eq!(fs::read_to_string(sandbox.path("x/y/two")).unwrap(), "2");
    assert!(!sandbox.path("sub/file").exists());
    sandbox.replace(&[delete("x/y/z/one", "1")]).unwrap();
    assert_eq!(fs::read_dir(sandbox.path("x/y/z")).unwrap().count(), 0);
}

#[test]
fn a_hard_link_keeps_the_old_content_under_its_other_name() {
    let sandbox = Sandbox::new();
    fs::hard_link(sandbox.base.join("outside/file"), sandbox.path("linked")).unwrap();
    sandbox
        .replace(&[rewrite("linked", "content\n", "new\n")])
        .unwrap();
    assert_eq!(fs::read_to_string(sandbox.path("linked")).unwrap(), "new\n");
    assert_eq!(
        fs::read_to_string(sandbox.base.join("outside/file")).unwrap(),
        "content\n"
    );
}

#[test]
fn a_journal_answers_until_it_is_forgotten_or_used_again() {
    let sandbox = Sandbox::new();
    let journal = sandbox.journal();
    assert_eq!(settle(&journal).unwrap(), SettleOutcome::Nothing);
    sandbox
        .replace(&[rewrite("file", "content\n", "1")])
        .unwrap();
    // Later changes by others do not change the recorded outcome of the call.
    fs::write(sandbox.path("file"), "2").unwrap();
    assert_eq!(settle(&journal).unwrap(), SettleOutcome::Done);
    sandbox
        .replace(&[
            rewrite("file", "2", "3"),
            rewrite("sub/file", "content\n", "content\n"),
        ])
        .unwrap();
    assert_eq!(settle(&journal).unwrap(), SettleOutcome::Done);
    assert_eq!(fs::read_to_string(sandbox.path("file")).unwrap(), "3");
    forget(&journal).unwrap();
    forget(&journal).unwrap();
    assert_eq!(settle(&journal).unwrap(), SettleOutcome::Nothing);
    let nowhere = sandbox.base.join("no-such/journal");
    let refused = sandbox
        .tree()
        .replace(&[rewrite("file", "3", "4")], &nowhere)
        .unwrap_err();
    assert!(matches!(refused, TreeError::Journal { .. }), "{refused}");
    assert_eq!(fs::read_to_string(sandbox.path("file")).unwrap(), "3");
}

#[test]
fn a_root_is_an_existing_directory() {
    let sandbox = Sandbox::new();
    for path in [
        sandbox.path("file"),
        sandbox.path("no-such"),
        PathBuf::from("relative"),
    ] {
        assert!(Tree::open(&path).is_err(), "{}", path.display());
    }
}

#[test]
fn a_call_whose_journal_has_no_directory_yet_changed_nothing() {
    let sandbox = Sandbox::new();
    let journal = sandbox.base.join("no-such/journal");
    assert_eq!(settle(&journal).unwrap(), SettleOutcome::Nothing);
    forget(&journal).unwrap();
}

/// Leaves a call that changes `file` in the state after a crash during the commit.
fn cut_off(sandbox: &Sandbox) -> String {
    sandbox
        .replace(&[rewrite("file", "content\n", "new\n")])
        .unwrap();
    let journal = fs::read_to_string(sandbox.journal()).unwrap();
    let plan = journal.lines().next().unwrap().to_owned();
    let parsed: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let side = parsed["changes"][0]["side"].as_str().unwrap().to_owned();
    fs::write(sandbox.path("file"), "content\n").unwrap();
    fs::write(sandbox.path(&side), "new\n").unwrap();
    let committing = format!("{plan}\n\n{{\"phase\":\"committing\"}}\n");
    fs::write(sandbox.journal(), committing).unwrap();
    side
}

#[test]
fn a_call_that_is_taken_back_is_never_carried_on_and_leaves_no_temporary_file() {
    let sandbox = Sandbox::new();
    let side = cut_off(&sandbox);
    let undone = SettleOutcome::Undone { left: Vec::new() };
    assert_eq!(take_back(&sandbox.journal()).unwrap(), undone);
    assert_eq!(settle(&sandbox.journal()).unwrap(), undone);
    assert_eq!(
        fs::read_to_string(sandbox.path("file")).unwrap(),
        "content\n"
    );
    assert!(!sandbox.path(&side).exists());
    // Without the request to undo it, the call would have been completed.
    cut_off(&sandbox);
    assert_eq!(settle(&sandbox.journal()).unwrap(), SettleOutcome::Done);
    assert_eq!(take_back(&sandbox.journal()).unwrap(), SettleOutcome::Done);
}

#[test]
fn a_journal_of_a_host_that_kept_no_identity_is_settled_by_its_path() {
    let sandbox = Sandbox::new();
    cut_off(&sandbox);
    let journal = fs::read_to_string(sandbox.journal()).unwrap();
    let (plan, phases) = journal.split_once('\n').unwrap();
    let mut plan: serde_json::Value = serde_json::from_str(plan).unwrap();
    assert!(
        plan.as_object_mut()
            .unwrap()
            .remove("root_identity")
            .is_some()
    );
    fs::write(sandbox.journal(), format!("{plan}\n{phases}")).unwrap();
    assert_eq!(settle(&sandbox.journal()).unwrap(), SettleOutcome::Done);
}

#[test]
fn a_call_is_not_settled_in_a_directory_that_took_the_place_of_its_root() {
    let sandbox = Sandbox::new();
    let side = cut_off(&sandbox);
    let (house, moved) = (sandbox.base.join("house"), sandbox.base.join("moved"));
    fs::rename(&house, &moved).unwrap();
    fs::create_dir(&house).unwrap();
    for name in ["file", side.as_str()] {
        fs::copy(moved.join(name), house.join(name)).unwrap();
    }
    let refused = settle(&sandbox.journal()).unwrap_err();
    assert!(matches!(refused, TreeError::Replaced { .. }), "{refused}");
    assert_eq!(fs::read_to_string(house.join("file")).unwrap(), "content\n");
    fs::remove_dir_all(&house).unwrap();
    fs::rename(&moved, &house).unwrap();
    assert_eq!(settle(&sandbox.journal()).unwrap(), SettleOutcome::Done);
}
