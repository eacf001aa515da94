//! Undoes a plan by the current state of the files and not by remembered progress, so that it can be interrupted and
//! started again.
//!
//! Only changes that are provably ours are undone: a file with other content stays, and is reported.

use super::Leftover;
use super::apply::sync_dirs;
use super::disk::Disk;
use super::error::{TreeError, at};
use super::file::EntryState;
use super::path::join;
use super::plan::{Deed, Dirs, Plan, PlannedChange, View};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// A plan that was not fully undone because the system refused some of it. A retry is possible.
#[derive(Debug)]
pub(super) struct UndoError {
    /// The first error of the filesystem.
    pub(super) cause: TreeError,
    /// Entries that are not, or may not be, restored.
    pub(super) left: Vec<Leftover>,
}

/// Collects what could not be undone; after a refusal the other changes are still undone.
#[derive(Debug, Default)]
struct Attempt {
    left: Vec<Leftover>,
    refused: Option<TreeError>,
}

impl Attempt {
    /// Returns the outcome of one step on `path`; `None` if it was refused.
    fn step<T>(&mut self, path: &str, result: Result<T, TreeError>) -> Option<T> {
        match result {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                self.refuse(path, error);
                None
            }
        }
    }

    /// Records that the system refused to undo `path`.
    fn refuse(&mut self, path: &str, error: TreeError) {
        self.refused.get_or_insert(error);
        self.leave(path, None);
    }

    fn leave(&mut self, path: &str, kept: Option<String>) {
        if self.left.iter().all(|left| left.path != path) {
            let path = path.to_owned();
            self.left.push(Leftover { path, kept });
        }
    }

    /// Syncs the directories and returns true on success. On failure any file may or may not be restored.
    fn sync(&mut self, disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> bool {
        let Err(error) = sync_dirs(disk, plan, dirs) else {
            return true;
        };
        self.refused.get_or_insert(error);
        for left in plan.left() {
            self.leave(&left.path, left.kept);
        }
        false
    }

    /// Syncs and returns the outcome.
    fn finish(
        mut self,
        disk: Disk<'_>,
        plan: &Plan,
        dirs: &mut Dirs,
    ) -> Result<Vec<Leftover>, UndoError> {
        self.sync(disk, plan, dirs);
        match self.refused {
            None => Ok(self.left),
            Some(cause) => Err(UndoError {
                cause,
                left: self.left,
            }),
        }
    }
}

/// Removes the side files and directories of a plan that has touched no target file yet.
pub(super) fn unstage(
    disk: Disk<'_>,
    plan: &Plan,
    dirs: &mut Dirs,
) -> Result<Vec<Leftover>, UndoError> {
    let mut attempt = Attempt::default();
    for change in &plan.changes {
        let path = change.side_path();
        let found = dirs.find(&change.dir);
        let removed = found
            .and_then(|dir| dir.map_or(Ok(()), |dir| disk.remove(dir, &change.side)))
            .map_err(at("remove", &path));
        attempt.step(&path, removed);
    }
    remove_dirs(disk, plan, dirs, &mut attempt);
    attempt.finish(disk, plan, dirs)
}

/// Undoes every change of a plan, last first.
pub(super) fn undo(
    disk: Disk<'_>,
    plan: &Plan,
    dirs: &mut Dirs,
) -> Result<Vec<Leftover>, UndoError> {
    let mut attempt = Attempt::default();
    for change in plan.changes.iter().rev() {
        let path = change.path();
        let outcome = match dirs.find(&change.dir) {
            Ok(Some(dir)) => undo_change(disk, change, dir),
            // A directory that the plan created and that is gone did not exist before either.
            Ok(None) if plan.made.contains(&change.dir) => Ok(Outcome::AsItWas),
            Ok(None) => Ok(Outcome::Lost),
            Err(errno) => Err(errno),
        };
        let outcome = outcome.map_err(at("take back the change of", &path));
        match attempt.step(&path, outcome) {
            None | Some(Outcome::AsItWas) => {}
            Some(Outcome::Lost) => attempt.leave(&path, None),
            Some(Outcome::Kept) => attempt.leave(&path, Some(change.side_path())),
        }
    }
    // Former contents are on disk under their own names before the side files are removed.
    if attempt.sync(disk, plan, dirs) {
        clear_undone(disk, plan, dirs, &mut attempt);
    }
    attempt.finish(disk, plan, dirs)
}

/// Removes the side files and directories of a plan whose files are restored.
fn clear_undone(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs, attempt: &mut Attempt) {
    for change in &plan.changes {
        let path = change.side_path();
        let found = dirs.find(&change.dir);
        let cleared = found
            .and_then(|dir| dir.map_or(Ok(()), |dir| clear(disk, change, dir)))
            .map_err(at("remove", &path));
        attempt.step(&path, cleared);
    }
    remove_dirs(disk, plan, dirs, attempt);
}

enum Outcome {
    /// The former content is there, or content that another program wrote before the change.
    AsItWas,
    /// Another program changed the file; the former content is gone.
    Lost,
    /// Another program changed the file; the former content is in the side file.
    Kept,
}

fn undo_change(
    disk: Disk<'_>,
    change: &PlannedChange,
    dir: BorrowedFd<'_>,
) -> Result<Outcome, Errno> {
    let View { target, side } = change.inspect(dir)?;
    match (&change.deed, target, side) {
        (Deed::Rewrite { .. }, EntryState::After, EntryState::Before | EntryState::Other) => {
            exchange_back(disk, change, dir)
        }
        (Deed::Rewrite { .. }, EntryState::Absent | EntryState::Other, EntryState::Before)
        | (
            Deed::Rewrite { .. },
            EntryState::Absent | EntryState::Before | EntryState::Other,
            EntryState::Other,
        )
        | (
            Deed::Delete { .. },
            EntryState::Before | EntryState::After | EntryState::Other,
            EntryState::Other,
        )
        | (
            Deed::Delete { .. },
            EntryState::After | EntryState::Other,
            EntryState::Before | EntryState::After,
        ) => Ok(Outcome::Kept),
        (
            Deed::Rewrite { .. },
            EntryState::Absent | EntryState::After | EntryState::Other,
            EntryState::Absent,
        )
        | (Deed::Add { .. }, EntryState::Before | EntryState::Other, EntryState::Absent)
        | (Deed::Delete { .. }, EntryState::Absent, EntryState::Absent) => Ok(Outcome::Lost),
        (Deed::Add { .. }, EntryState::After, EntryState::Absent) => withdraw(disk, change, dir),
        (
            Deed::Delete { .. },
            EntryState::Absent,
            EntryState::Before | EntryState::After | EntryState::Other,
        ) => match disk.rename_new(dir, &change.side, &change.name) {
            Ok(()) => Ok(Outcome::AsItWas),
            Err(Errno::EXIST) => Ok(Outcome::Kept),
            Err(errno) => Err(errno),
        },
        (Deed::Rewrite { .. }, _, EntryState::After)
        | (Deed::Rewrite { .. }, EntryState::Before, EntryState::Before | EntryState::Absent)
        | (Deed::Add { .. }, EntryState::Absent, EntryState::Absent)
        | (Deed::Add { .. }, _, EntryState::Before | EntryState::After | EntryState::Other)
        | (Deed::Delete { .. }, EntryState::Before, EntryState::Before | EntryState::After)
        | (
            Deed::Delete { .. },
            EntryState::Before | EntryState::After | EntryState::Other,
            EntryState::Absent,
        ) => Ok(Outcome::AsItWas),
    }
}

/// Restores the former content of a file, unless it was changed at the same moment.
fn exchange_back(
    disk: Disk<'_>,
    change: &PlannedChange,
    dir: BorrowedFd<'_>,
) -> Result<Outcome, Errno> {
    disk.exchange(dir, &change.side, &change.name)?;
    if change.compare_entry(dir, &change.side)? == EntryState::After {
        return Ok(Outcome::AsItWas);
    }
    disk.exchange(dir, &change.side, &change.name)?;
    Ok(Outcome::Kept)
}

/// Removes a new file, unless it was changed at the same moment.
fn withdraw(disk: Disk<'_>, change: &PlannedChange, dir: BorrowedFd<'_>) -> Result<Outcome, Errno> {
    disk.rename_new(dir, &change.name, &change.side)?;
    if change.compare_entry(dir, &change.side)? == EntryState::After {
        return Ok(Outcome::AsItWas);
    }
    match disk.rename_new(dir, &change.side, &change.name) {
        Ok(()) => Ok(Outcome::Lost),
        Err(Errno::EXIST) => Ok(Outcome::Kept),
        Err(errno) => Err(errno),
    }
}

/// Removes a side file whose content is ours or is in place again.
fn clear(disk: Disk<'_>, change: &PlannedChange, dir: BorrowedFd<'_>) -> Result<(), Errno> {
    match change.inspect(dir)? {
        View {
            side: EntryState::After,
            ..
        }
        | View {
            side: EntryState::Before,
            target: EntryState::Before,
        } => disk.remove(dir, &change.side),
        View {
            side: EntryState::Absent | EntryState::Before | EntryState::Other,
            ..
        } => Ok(()),
    }
}

/// Removes the former contents of a plan that is done.
pub(super) fn clear_done(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<(), Errno> {
    for change in &plan.changes {
        if let Some(dir) = dirs.find(&change.dir)?
            && change.compare_entry(dir, &change.side)? == EntryState::Before
        {
            disk.remove(dir, &change.side)?;
        }
    }
    Ok(())
}

/// Removes the directories a plan created, if they are empty.
fn remove_dirs(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs, attempt: &mut Attempt) {
    for made in plan.made.iter().rev() {
        let Some((name, parents)) = made.split_last() else {
            continue;
        };
        let path = join(parents, name);
        let found = dirs.find(parents);
        let removed = found.and_then(|dir| dir.map_or(Ok(()), |dir| disk.remove_dir(dir, name)));
        match removed {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => attempt.leave(&path, None),
            Err(errno) => attempt.refuse(&path, at("remove directory", &path)(errno)),
        }
    }
}
