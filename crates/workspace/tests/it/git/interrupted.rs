//! Worktrees that a killed host, a full disk or another program left half made or half removed.

use super::cleaning::{Made, contents, rescue, set_removing, write};
use super::fixture::{World, commit, git};
use holon_domain::workspace::{CleanVerdict, KeepReason, UseMode, WorktreeRecord};
use holon_workspace::{Git, ManagedWorktrees, WorkspaceSelection};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Makes a program that is git, with a script that runs before it.
fn scripted_git(world: &World, before: &str) -> Git {
    let program = world.base().join("scripted-git");
    let base = world.base().display();
    let script = format!("#!/bin/sh\nbase='{base}'\n{before}\nexec git \"$@\"\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Git::with_program(program, "/usr/local/bin:/usr/bin:/bin".into())
}

fn worktrees_with(world: &World, git: Git) -> ManagedWorktrees {
    ManagedWorktrees::new(world.home().join("execution-roots/git-worktree"), git)
}

fn selection_with(world: &World, git: Git) -> WorkspaceSelection {
    WorkspaceSelection {
        worktrees: worktrees_with(world, git),
        ..world.selection()
    }
}

/// Puts the record back into the stage of a creation, and returns it.
fn set_creating(made: &Made) -> WorktreeRecord {
    let file = made.root.with_extension("json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"ready\"", "\"creating\"")).unwrap();
    made.world.worktrees().records().unwrap().records.remove(0)
}

fn is_gone(made: &Made) -> bool {
    let folder = fs::read_dir(made.root.parent().unwrap()).unwrap();
    folder.count() == 0 && !made.has_branch() && !made.admin().exists()
}

#[test]
fn a_creation_that_never_ended_is_cleaned_up() {
    type Interrupt = fn(&Made);
    let interruptions: [(&str, Interrupt); 6] = [
        ("before the index", |m| {
            fs::remove_file(m.admin().join("index")).unwrap();
        }),
        ("in the middle of a file", |m| {
            fs::remove_file(m.admin().join("index")).unwrap();
            write(&m.admin(), "index.lock", "");
            fs::remove_file(m.root.join("sub/b.txt")).unwrap();
            write(&m.root, "a.txt", "on");
        }),
        ("with the index", |_| {}),
        ("while git made the directory", |m| {
            fs::remove_dir_all(&m.root).unwrap();
            let text = format!("gitdir: {}\n", m.admin().display());
            write(&m.root, ".git", &text);
            write(&m.admin(), "locked", "initializing");
        }),
        ("without the pointer", |m| {
            fs::remove_dir_all(&m.root).unwrap();
            fs::create_dir(&m.root).unwrap();
        }),
        ("without the directory", |m| {
            fs::remove_dir_all(&m.root).unwrap();
            fs::remove_file(m.admin().join("HEAD")).unwrap();
        }),
    ];
    for (name, interrupt) in interruptions {
        let made = Made::new();
        interrupt(&made);
        let record = set_creating(&made);
        let worktrees = made.world.worktrees();
        let verdict = worktrees.clean(&record, &[], true);
        assert_eq!(verdict, CleanVerdict::Removable, "{name}");
        let verdict = worktrees.clean(&record, &[], false);
        let is_removed = matches!(verdict, CleanVerdict::Removed { .. });
        assert!(is_removed && is_gone(&made), "{name}: {verdict:?}");
    }
}

#[test]
fn files_that_no_commit_holds_are_kept_in_a_creation_too() {
    type State = (&'static str, fn(&Made), KeepReason);
    let states: [State; 4] = [
        (
            "changed file",
            |m| write(&m.root, "a.txt", "one\nmore\n"),
            KeepReason::TrackedChanges { files: 1 },
        ),
        (
            "link in the place of a file",
            |m| {
                fs::remove_file(m.root.join("a.txt")).unwrap();
                std::os::unix::fs::symlink("sub/b.txt", m.root.join("a.txt")).unwrap();
            },
            KeepReason::TrackedChanges { files: 1 },
        ),
        (
            "new file",
            |m| write(&m.root, "sub/new.txt", "x"),
            KeepReason::UntrackedFiles { files: 1 },
        ),
        (
            "file in the place of a directory",
            |m| {
                fs::remove_dir_all(m.root.join("sub")).unwrap();
                write(&m.root, "sub", "x");
            },
            KeepReason::UntrackedFiles { files: 1 },
        ),
    ];
    for (name, make, reason) in states {
        let made = Made::new();
        fs::remove_file(made.admin().join("index")).unwrap();
        make(&made);
        let before = contents(&made.root);
        let record = set_creating(&made);
        let verdict = made.world.worktrees().clean(&record, &[], false);
        let reasons = vec![reason];
        assert_eq!(verdict, CleanVerdict::Kept { reasons }, "{name}");
        assert_eq!(contents(&made.root), before, "{name}");
    }
}

#[test]
fn a_creation_that_fails_leaves_nothing() {
    let world = World::new();
    let fails = "if [ \"$2\" = read-tree ]; then printf on > a.txt; echo full >&2; exit 1; fi";
    let selection = selection_with(&world, scripted_git(&world, fails));
    let order = world.by_path(&world.repo(), UseMode::Isolated);
    let refused = selection.select(&order).unwrap_err();
    assert!(refused.message.contains("full"), "{refused}");
    assert_eq!(world.worktrees().records().unwrap().records, []);
    let folders = fs::read_dir(world.worktrees().root()).unwrap();
    for folder in folders {
        assert_eq!(fs::read_dir(folder.unwrap().path()).unwrap().count(), 0);
    }
    assert_eq!(git(&world.repo(), &["branch", "--list", "holon/*"]), "");
    assert!(!world.repo().join(".git/worktrees").join("fix-it").exists());
    world.selection().select(&order).unwrap();
}

#[test]
fn a_request_that_is_refused_leaves_no_worktree() {
    let world = World::new();
    let mut order = world.by_path(&world.repo(), UseMode::Isolated);
    order.request.cwd = Some("not-there".to_owned());
    world.selection().select(&order).unwrap_err();
    assert_eq!(world.worktrees().records().unwrap().records, []);
    assert_eq!(git(&world.repo(), &["branch", "--list", "holon/*"]), "");
}

#[test]
fn a_repository_whose_path_has_two_lines_is_not_isolated() {
    let world = World::new();
    let repo = world.base().join("two\nlines");
    super::fixture::make_repository(&repo);
    let order = world.by_path(&repo, UseMode::Isolated);
    let refused = world.selection().select(&order).unwrap_err();
    assert!(refused.message.contains("one line"), "{refused}");
    assert_eq!(world.worktrees().records().unwrap().records, []);
}

/// git deletes files in no order that matters here, and does not get to write any of them again.
#[test]
fn a_half_removed_worktree_is_removed_without_writing_files() {
    let world_of = Made::new();
    rescue(&world_of);
    set_removing(&world_of);
    fs::remove_file(world_of.root.join("a.txt")).unwrap();
    fs::remove_file(world_of.root.join(".git")).unwrap();
    let world = &world_of.world;
    let refuse = "case \"$2\" in checkout-index|read-tree|checkout) : > \"$base/wrote\";; esac";
    let worktrees = worktrees_with(world, scripted_git(world, refuse));
    let record = worktrees.records().unwrap().records.remove(0);
    let verdict = worktrees.clean(&record, &[], false);
    let is_removed = matches!(verdict, CleanVerdict::Removed { .. });
    assert!(is_removed && is_gone(&world_of), "{verdict:?}");
    assert!(!world.base().join("wrote").exists());
}

/// A program that writes into a worktree by its path, after the look and before the removal.
#[test]
fn a_file_that_is_written_during_a_clean_up_is_kept() {
    for (name, file) in [("ignored", "sub/out.o"), ("untracked", "sub/out.txt")] {
        let made = Made::new();
        write(&made.repo().join(".git/info"), "exclude", "*.o\n");
        let target = made.root.join(file);
        let script = format!(
            "if [ \"$2\" = status ] && [ ! -e \"$base/written\" ]; then git \"$@\"; : > \"$base/written\"; \
             echo precious > '{}'; exit 0; fi",
            target.display()
        );
        let worktrees = worktrees_with(&made.world, scripted_git(&made.world, &script));
        let verdict = worktrees.clean(&made.record, &[], false);
        let is_kept = matches!(verdict, CleanVerdict::Kept { .. });
        assert!(is_kept, "{name}: {verdict:?}");
        let text = fs::read_to_string(&target).unwrap();
        assert_eq!(text, "precious\n", "{name}");
        assert!(
            made.root.join("a.txt").exists() && made.has_branch(),
            "{name}"
        );
        assert_eq!(
            worktrees.records().unwrap().records,
            [made.record],
            "{name}"
        );
    }
}

#[test]
fn a_removal_that_stopped_after_the_move_is_finished_or_taken_back() {
    for has_work in [false, true] {
        let made = Made::new();
        rescue(&made);
        set_removing(&made);
        let aside = made.root.with_extension("gone");
        fs::rename(&made.root, &aside).unwrap();
        fs::remove_file(aside.join("a.txt")).unwrap();
        if has_work {
            write(&aside, "new.txt", "work");
        }
        let worktrees = made.world.worktrees();
        let record = worktrees.records().unwrap().records.remove(0);
        let verdict = worktrees.clean(&record, &[], false);
        if has_work {
            let reasons = vec![KeepReason::UntrackedFiles { files: 1 }];
            assert_eq!(verdict, CleanVerdict::Kept { reasons });
            assert!(made.root.join("new.txt").exists());
        } else {
            let is_removed = matches!(verdict, CleanVerdict::Removed { .. });
            assert!(is_removed && is_gone(&made), "{verdict:?}");
        }
    }
}

#[test]
fn a_branch_that_is_a_symbolic_ref_is_kept_with_the_branch_that_it_names() {
    let made = Made::new();
    let repo = made.repo();
    git(&repo, &["worktree", "remove", &made.record.path]);
    git(&repo, &["branch", "-D", &made.record.branch]);
    let branch = format!("refs/heads/{}", made.record.branch);
    git(&repo, &["symbolic-ref", &branch, "refs/heads/main"]);
    let main = git(&repo, &["rev-parse", "main"]);
    let reasons = made.kept();
    let is_mismatch = matches!(reasons.as_slice(), [KeepReason::Mismatch { .. }]);
    assert!(is_mismatch, "{reasons:?}");
    assert_eq!(git(&repo, &["rev-parse", "refs/heads/main"]), main);
    assert_eq!(git(&repo, &["symbolic-ref", &branch]), "refs/heads/main");
}

#[test]
fn refs_of_the_worktree_alone_are_seen_in_every_format_of_refs() {
    for format in ["files", "reftable"] {
        let world = World::new();
        let repo = world.base().join("formatted");
        fs::create_dir(&repo).unwrap();
        let option = format!("--ref-format={format}");
        git(
            &repo,
            &["init", "--quiet", "--initial-branch=main", &option],
        );
        write(&repo, "a", "a");
        commit(&repo, "one");
        let order = world.by_path(&repo, UseMode::Isolated);
        let entry = world.selection().select(&order).unwrap().entry;
        let root = PathBuf::from(entry.execution_root);
        commit(&root, "precious");
        git(&root, &["update-ref", "refs/worktree/save", "HEAD"]);
        git(&root, &["reset", "--quiet", "--hard", "HEAD~1"]);
        let record = world.worktrees().records().unwrap().records.remove(0);
        let verdict = world.worktrees().clean(&record, &[], false);
        let CleanVerdict::Kept { reasons } = verdict else {
            panic!("{format}: {verdict:?}");
        };
        let [KeepReason::OperationUnderWay { file }] = reasons.as_slice() else {
            panic!("{format}: {reasons:?}");
        };
        assert!(file.starts_with("refs/worktree"), "{format}: {file}");
        assert!(Path::new(&record.path).exists(), "{format}");
    }
}

/// The git of a killed host: it inherited the lock, and works on in a directory that is not ready.
#[test]
fn a_creation_waits_for_the_git_of_an_earlier_host() {
    let made = Made::new();
    write(&made.admin(), "index.lock", "");
    write(&made.root, "a.txt", "on");
    set_creating(&made);
    let lock = fs::File::open(made.root.with_extension("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let selection = WorkspaceSelection {
        worktrees: made.world.worktrees().with_patience(Duration::ZERO),
        ..made.world.selection()
    };
    let order = made.world.by_path(&made.repo(), UseMode::Isolated);
    let refused = selection.select(&order).unwrap_err();
    assert!(refused.message.contains("still works"), "{refused}");
    assert!(made.admin().join("index.lock").exists());
    assert_eq!(fs::read_to_string(made.root.join("a.txt")).unwrap(), "on");
    drop(lock);
    selection.select(&order).unwrap();
    assert_eq!(
        fs::read_to_string(made.root.join("a.txt")).unwrap(),
        "one\n"
    );
}

#[test]
fn every_git_that_changes_a_worktree_holds_its_lock() {
    let world = World::new();
    let note = "case \"$2\" in read-tree|update-ref|worktree) \
                echo \"$2 $(readlink /proc/self/fd/0)\" >> \"$base/inputs\";; esac";
    let selection = selection_with(&world, scripted_git(&world, note));
    let order = world.by_path(&world.repo(), UseMode::Isolated);
    let root = PathBuf::from(selection.select(&order).unwrap().entry.execution_root);
    let record = selection.worktrees.records().unwrap().records.remove(0);
    let verdict = selection.worktrees.clean(&record, &[], false);
    assert!(
        matches!(verdict, CleanVerdict::Removed { .. }),
        "{verdict:?}"
    );
    let inputs = fs::read_to_string(world.base().join("inputs")).unwrap();
    let lock = root.with_extension("lock").display().to_string();
    assert!(inputs.lines().count() >= 5, "{inputs}");
    assert!(inputs.lines().all(|line| line.ends_with(&lock)), "{inputs}");
}
