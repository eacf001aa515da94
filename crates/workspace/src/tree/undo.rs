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

/// Removes sides and directories of a plan that has touched no file yet.
pub(super) fn unstage(
    disk: Disk<'_>,
    plan: &Plan,
    dirs: &mut Dirs,
) -> Result<Vec<Left>, TreeError> {
    for change in &plan.changes {
        let path = change.side_path();
        if let Some(dir) = dirs
            .find(&change.dir)
            .map_err(at("open the parent of", &path))?
        {
            disk.remove(dir, &change.side)
                .map_err(at("remove", &path))?;
        }
    }
    let left = remove_dirs(disk, plan, dirs)?;
    sync_dirs(disk, plan, dirs)?;
    Ok(left)
}

/// Takes back every change of a plan, last first.
pub(super) fn undo(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<Vec<Left>, TreeError> {
    let mut left = Vec::new();
    for change in plan.changes.iter().rev() {
        let path = change.path();
        let Some(dir) = dirs
            .find(&change.dir)
            .map_err(at("open the parent of", &path))?
        else {
            // A directory of ours that is gone was not there before either.
            if !plan.made.contains(&change.dir) {
                left.push(Left { path, kept: None });
            }
            continue;
        };
        match take_back(disk, change, dir).map_err(at("take back the change of", &path))? {
            Outcome::AsItWas => {}
            Outcome::Lost => left.push(Left { path, kept: None }),
            Outcome::Kept => left.push(Left {
                path,
                kept: Some(change.side_path()),
            }),
        }
    }
    sync_dirs(disk, plan, dirs)?;
    for change in &plan.changes {
        let path = change.side_path();
        if let Some(dir) = dirs
            .find(&change.dir)
            .map_err(at("open the parent of", &path))?
        {
            clear(disk, change, dir).map_err(at("remove", &path))?;
        }
    }
    left.extend(remove_dirs(disk, plan, dirs)?);
    sync_dirs(disk, plan, dirs)?;
    Ok(left)
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
fn remove_dirs(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<Vec<Left>, TreeError> {
    let mut left = Vec::new();
    for made in plan.made.iter().rev() {
        let Some((name, parents)) = made.split_last() else {
            continue;
        };
        let path = join(parents, name);
        let Some(parent) = dirs
            .find(parents)
            .map_err(at("open the parent of", &path))?
        else {
            continue;
        };
        match disk.remove_dir(parent, name) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => left.push(Left { path, kept: None }),
            Err(errno) => return Err(at("remove directory", &path)(errno)),
        }
    }
    Ok(left)
}
