//! Repositories whose own directory has links or pipes in it, as an archive can bring them.

use super::fixture::{World, git};
use crate::hostile_reads::{make_pipe, within};
use holon_domain::workspace::{UseMode, WorkspaceErrorKind};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn names(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn a_link_in_the_repository_leads_no_write_of_git_elsewhere() {
    for part in [
        "refs/heads",
        "refs/heads/holon",
        "refs/holon",
        "logs",
        "logs/refs",
        "logs/refs/heads",
        "worktrees",
    ] {
        let world = World::new();
        let (place, victim) = (
            world.repo().join(".git").join(part),
            world.base().join("victim"),
        );
        fs::create_dir_all(&place).unwrap();
        fs::rename(&place, &victim).unwrap();
        symlink(&victim, &place).unwrap();
        let before = names(&victim);
        let order = world.by_path(&world.repo(), UseMode::Isolated);
        let refused = world.selection().select(&order).unwrap_err();
        assert_eq!(
            refused.kind,
            WorkspaceErrorKind::UnverifiedRepository,
            "{part}: {refused}"
        );
        assert!(refused.message.contains(part), "{part}: {refused}");
        assert_eq!(names(&victim), before, "{part}");
    }
}

#[test]
fn packed_refs_that_are_a_link_are_refused() {
    let world = World::new();
    git(&world.repo(), &["pack-refs", "--all"]);
    let (file, victim) = (
        world.repo().join(".git/packed-refs"),
        world.base().join("victim"),
    );
    fs::rename(&file, &victim).unwrap();
    symlink(&victim, &file).unwrap();
    let order = world.by_path(&world.repo(), UseMode::Isolated);
    let refused = world.selection().select(&order).unwrap_err();
    assert!(refused.message.contains("packed-refs"), "{refused}");
}

#[test]
fn a_pipe_in_the_repository_makes_no_git_wait() {
    for part in ["info/attributes", "info/exclude", "packed-refs", "shallow"] {
        let world = World::new();
        let file = world.repo().join(".git").join(part);
        if file.exists() {
            fs::remove_file(&file).unwrap();
        }
        make_pipe(&file);
        let order = world.by_path(&world.repo(), UseMode::Isolated);
        let selection = world.selection();
        let refused = within(move || selection.select(&order)).unwrap_err();
        assert!(refused.message.contains(part), "{part}: {refused}");
    }
}
