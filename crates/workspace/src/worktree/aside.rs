//! Takes the directory of a worktree away: it is moved, looked at again, and only then removed.
//!
//! A program that writes by the path of the worktree no longer reaches it after the move, so what the second look finds
//! is all there is. A removal that stops after the move is taken back by the next attempt.

use super::ManagedWorktrees;
use super::create::admin_dir;
use super::look::{find_changes, find_own_refs, look_at_admin, process_inside};
use super::unfinished::Compare;
use crate::git::{GitError, at};
use crate::home::put_in_place;
use crate::scratch::remove_tree;
use holon_domain::workspace::{KeepReason, WorktreeRecord};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the directory to which a worktree is moved. Names of worktrees have no dot, so none has this name.
fn aside_of(record: &WorktreeRecord) -> PathBuf {
    Path::new(&record.path).with_extension("gone")
}

/// Moves a worktree back to its place if an attempt to remove it stopped after the move.
pub(super) fn take_back(record: &WorktreeRecord) -> Result<(), GitError> {
    let (path, aside) = (Path::new(&record.path), aside_of(record));
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    if is_there(path) || !is_there(&aside) {
        return Ok(());
    }
    put_in_place(&aside, path).map_err(at("move back", &aside))
}

impl ManagedWorktrees {
    /// Removes the directory of a worktree, or puts it back and returns the reasons to keep it.
    pub(super) fn take_away(
        &self,
        record: &WorktreeRecord,
        compare: Compare,
    ) -> Result<Vec<KeepReason>, GitError> {
        let (path, aside) = (Path::new(&record.path), aside_of(record));
        put_in_place(path, &aside).map_err(at("move", path))?;
        holon_fault::hit("worktree.moved");
        match self.look_again(record, &aside, compare) {
            Ok(reasons) if reasons.is_empty() => remove_files(&aside).map(|()| reasons),
            kept @ (Ok(_) | Err(_)) => {
                put_in_place(&aside, path).map_err(at("move back", &aside))?;
                kept
            }
        }
    }

    /// Looks for users first: a process that has no file or directory of the worktree open cannot get one any more.
    fn look_again(
        &self,
        record: &WorktreeRecord,
        aside: &Path,
        compare: Compare,
    ) -> Result<Vec<KeepReason>, GitError> {
        let user = process_inside(aside).or_else(|| process_with_file(aside));
        let mut reasons: Vec<KeepReason> = user
            .map(|pid| KeepReason::UsedByProcess { pid })
            .into_iter()
            .collect();
        reasons.extend(look_at_admin(record));
        let inside = self.git.open_moved(aside, &admin_dir(record))?;
        find_own_refs(&inside, &mut reasons)?;
        reasons.extend(find_changes(&inside, record, compare)?);
        reasons.extend(self.look_at_branch(record)?);
        Ok(reasons)
    }
}

/// Finds another process that has a file in a directory open. Systems without `/proc` report none.
fn process_with_file(dir: &Path) -> Option<u32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").ok()?;
    entries.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let mut files = fs::read_dir(entry.path().join("fd")).ok()?.flatten();
        let is_inside = |file: &Path| fs::read_link(file).is_ok_and(|file| file.starts_with(dir));
        (pid != own && files.any(|file| is_inside(&file.path()))).then_some(pid)
    })
}

/// Removes a directory, and its pointer to the repository last: without it nothing can be said about the files.
fn remove_files(aside: &Path) -> Result<(), GitError> {
    let remove = |path: &Path| {
        remove_tree(path).map_err(|error| at("remove", path)(io::Error::other(error)))
    };
    for entry in fs::read_dir(aside).map_err(at("list", aside))? {
        let entry = entry.map_err(at("list", aside))?;
        if entry.file_name() != ".git" {
            remove(&entry.path())?;
        }
    }
    holon_fault::hit("worktree.emptied");
    remove(aside)
}
