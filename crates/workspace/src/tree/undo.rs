//! Taking a plan back, by what is seen and not by what is remembered, so that it can be cut off and begun again.
//!
//! Only what is provably ours is undone: a file that is not what we put there stays, and is reported.

use super::Left;
use super::apply::sync_dirs;
use super::disk::Disk;
use super::error::{TreeError, at};
use super::file::Seen;
use super::path::join;
use super::plan::{Change, Deed, Dirs, Plan, View};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// A plan that is not taken back as a whole, because the system refused some of it. It can be tried again.
#[derive(Debug)]
pub(super) struct Stuck {
    /// The first refusal.
    pub(super) cause: TreeError,
    /// What is not as it was, or may not be.
    pub(super) left: Vec<Left>,
}

/// Collects what could not be taken back; one refusal keeps nothing else from being taken back.
#[derive(Debug, Default)]
struct Attempt {
    left: Vec<Left>,
    refused: Option<TreeError>,
}

impl Attempt {
    /// The outcome of one step on `path`; none when it was refused.
    fn step<T>(&mut self, path: &str, result: Result<T, TreeError>) -> Option<T> {
        match result {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                self.refuse(path, error);
                None
            }
        }
    }

    /// Notes that the system refused to take back `path`.
    fn refuse(&mut self, path: &str, error: TreeError) {
        self.refused.get_or_insert(error);
        self.leave(path, None);
    }

    fn leave(&mut self, path: &str, kept: Option<String>) {
        if self.left.iter().all(|left| left.path != path) {
            let path = path.to_owned();
            self.left.push(Left { path, kept });
        }
    }

    /// Makes what was done durable; whether that worked. If not, any file may be as it was or not.
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

    /// Says how it ended, once that is durable.
    fn finish(mut self, disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<Vec<Left>, Stuck> {
        self.sync(disk, plan, dirs);
        match self.refused {
            None => Ok(self.left),
            Some(cause) => Err(Stuck {
                cause,
                left: self.left,
            }),
        }
    }
}

/// Removes sides and directories of a plan that has touched no file yet.
pub(super) fn unstage(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<Vec<Left>, Stuck> {
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

/// Takes back every change of a plan, last first.
pub(super) fn undo(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<Vec<Left>, Stuck> {
    let mut attempt = Attempt::default();
    for change in plan.changes.iter().rev() {
        let path = change.path();
        let outcome = match dirs.find(&change.dir) {
            Ok(Some(dir)) => take_back(disk, change, dir),
            // A directory of ours that is gone was not there before either.
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
    // Former contents are on disk under their own names before the sides go.
    if attempt.sync(disk, plan, dirs) {
        clear_undone(disk, plan, dirs, &mut attempt);
    }
    attempt.finish(disk, plan, dirs)
}

/// Removes the sides and directories of a plan whose files are as they were.
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
    /// What stands there is what stood there, or somebody else's who came before us.
    AsItWas,
    /// Somebody has changed what we put there; the former content is gone.
    Lost,
    /// Somebody has changed what we put there; the former content is at the side.
    Kept,
}

fn take_back(disk: Disk<'_>, change: &Change, dir: BorrowedFd<'_>) -> Result<Outcome, Errno> {
    let View { target, side } = change.look(dir)?;
    match (&change.deed, target, side) {
        (Deed::Rewrite { .. }, Seen::After, Seen::Before | Seen::Other) => {
            exchange_back(disk, change, dir)
        }
        (Deed::Rewrite { .. }, Seen::Absent | Seen::Other, Seen::Before)
        | (Deed::Rewrite { .. }, Seen::Absent | Seen::Before | Seen::Other, Seen::Other)
        | (Deed::Delete { .. }, Seen::Before | Seen::After | Seen::Other, Seen::Other)
        | (Deed::Delete { .. }, Seen::After | Seen::Other, Seen::Before | Seen::After) => {
            Ok(Outcome::Kept)
        }
        (Deed::Rewrite { .. }, Seen::Absent | Seen::After | Seen::Other, Seen::Absent)
        | (Deed::Add { .. }, Seen::Before | Seen::Other, Seen::Absent)
        | (Deed::Delete { .. }, Seen::Absent, Seen::Absent) => Ok(Outcome::Lost),
        (Deed::Add { .. }, Seen::After, Seen::Absent) => withdraw(disk, change, dir),
        (Deed::Delete { .. }, Seen::Absent, Seen::Before | Seen::After | Seen::Other) => {
            match disk.rename_new(dir, &change.side, &change.name) {
                Ok(()) => Ok(Outcome::AsItWas),
                Err(Errno::EXIST) => Ok(Outcome::Kept),
                Err(errno) => Err(errno),
            }
        }
        (Deed::Rewrite { .. }, _, Seen::After)
        | (Deed::Rewrite { .. }, Seen::Before, Seen::Before | Seen::Absent)
        | (Deed::Add { .. }, Seen::Absent, Seen::Absent)
        | (Deed::Add { .. }, _, Seen::Before | Seen::After | Seen::Other)
        | (Deed::Delete { .. }, Seen::Before, Seen::Before | Seen::After)
        | (Deed::Delete { .. }, Seen::Before | Seen::After | Seen::Other, Seen::Absent) => {
            Ok(Outcome::AsItWas)
        }
    }
}

/// Gives a file its former content back, unless it was changed in the very moment.
fn exchange_back(disk: Disk<'_>, change: &Change, dir: BorrowedFd<'_>) -> Result<Outcome, Errno> {
    disk.exchange(dir, &change.side, &change.name)?;
    if change.see(dir, &change.side)? == Seen::After {
        return Ok(Outcome::AsItWas);
    }
    disk.exchange(dir, &change.side, &change.name)?;
    Ok(Outcome::Kept)
}

/// Takes a new file away, unless it was changed in the very moment.
fn withdraw(disk: Disk<'_>, change: &Change, dir: BorrowedFd<'_>) -> Result<Outcome, Errno> {
    disk.rename_new(dir, &change.name, &change.side)?;
    if change.see(dir, &change.side)? == Seen::After {
        return Ok(Outcome::AsItWas);
    }
    match disk.rename_new(dir, &change.side, &change.name) {
        Ok(()) => Ok(Outcome::Lost),
        Err(Errno::EXIST) => Ok(Outcome::Kept),
        Err(errno) => Err(errno),
    }
}

/// Removes a side that holds nothing but what we wrote or what is in place again.
fn clear(disk: Disk<'_>, change: &Change, dir: BorrowedFd<'_>) -> Result<(), Errno> {
    match change.look(dir)? {
        View {
            side: Seen::After, ..
        }
        | View {
            side: Seen::Before,
            target: Seen::Before,
        } => disk.remove(dir, &change.side),
        View {
            side: Seen::Absent | Seen::Before | Seen::Other,
            ..
        } => Ok(()),
    }
}

/// Removes the former contents of a plan that is done.
pub(super) fn clear_done(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<(), Errno> {
    for change in &plan.changes {
        if let Some(dir) = dirs.find(&change.dir)?
            && change.see(dir, &change.side)? == Seen::Before
        {
            disk.remove(dir, &change.side)?;
        }
    }
    Ok(())
}

/// Removes the directories a plan made, as far as nobody has put anything into them.
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
