//! The state of a repository as a turn is told it.

use super::fixture::{World, commit, git};
use holon_domain::place::RepositoryWork;
use holon_workspace::{Git, GitError, ManagedWorktrees, WorkspaceSelection};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn work(world: &World) -> RepositoryWork {
    world.selection().repository_work(&world.repo()).unwrap()
}

/// Returns a selection whose git is a script. `body` may end in `exec git "$@"`.
fn with_script(world: &World, body: &str) -> WorkspaceSelection {
    let script = world.base().join("git.sh");
    fs::write(&script, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let git = Git::with_program(script, "/usr/local/bin:/usr/bin:/bin".into());
    WorkspaceSelection {
        worktrees: ManagedWorktrees::new(world.home().join("roots"), git),
        ..world.selection()
    }
}

#[test]
fn the_branch_the_commit_and_changes_are_told() {
    let world = World::new();
    let repo = world.repo();
    let head = git(&repo, &["rev-parse", "HEAD"]);
    let short: String = head.trim().chars().take(10).collect();
    let clean = RepositoryWork {
        branch: Some("main".to_owned()),
        head: Some(short),
        is_dirty: false,
    };
    assert_eq!(work(&world), clean);
    fs::write(repo.join(".git/info/exclude"), "ignored\n").unwrap();
    fs::write(repo.join("ignored"), "").unwrap();
    assert_eq!(work(&world), clean, "an ignored file is no change");
    let dirty = RepositoryWork {
        is_dirty: true,
        ..clean.clone()
    };
    fs::write(repo.join("new"), "").unwrap();
    assert_eq!(work(&world), dirty, "a new file is a change");
    fs::remove_file(repo.join("new")).unwrap();
    fs::write(repo.join("a.txt"), "changed\n").unwrap();
    assert_eq!(work(&world), dirty);
    git(&repo, &["checkout", "--quiet", "--", "a.txt"]);
    git(&repo, &["checkout", "--quiet", "--detach"]);
    let detached = RepositoryWork {
        branch: None,
        ..clean
    };
    assert_eq!(work(&world), detached);
}

#[test]
fn a_repository_without_a_commit_has_a_branch_and_no_head() {
    let world = World::new();
    let empty = world.base().join("empty");
    fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "--quiet", "--initial-branch=first"]);
    let told = world.selection().repository_work(&empty).unwrap();
    assert_eq!((told.branch.as_deref(), told.head), (Some("first"), None));
}

#[test]
fn the_root_is_found_from_below_and_a_plain_directory_has_none() {
    let world = World::new();
    let selection = world.selection();
    let below = selection.repository_root(&world.repo().join("sub"));
    assert_eq!(below, Some(world.repo()));
    assert_eq!(selection.repository_root(&world.agent_home()), None);
    assert_eq!(selection.repository_root(&world.base().join("none")), None);
    commit(&world.repo(), "second");
    git(&world.repo(), &["worktree", "add", "--quiet", "../other"]);
    let other = world.base().join("other");
    assert_eq!(selection.repository_root(&other), Some(other));
}

#[test]
fn a_long_list_of_changes_counts_as_changes() {
    let world = World::new();
    let body =
        "case \" $* \" in *\" status \"*) exec head -c 1000000 /dev/zero;; esac\nexec git \"$@\"";
    let told = with_script(&world, body).repository_work(&world.repo());
    assert!(told.unwrap().is_dirty);
}

#[test]
fn a_git_that_does_not_answer_is_given_up() {
    let world = World::new();
    let told = with_script(&world, "exec sleep 600").repository_work(&world.repo());
    assert!(matches!(told, Err(GitError::TimedOut { .. })), "{told:?}");
}
