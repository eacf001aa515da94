//! Executes a plan: directories and side files first, then one rename per file.

use super::disk::{Disk, open_dir};
use super::draft::{Draft, Payload};
use super::error::{TreeError, at};
use super::file::EntryState;
use super::path::join;
use super::plan::{Deed, Dirs, Plan, PlannedChange};
use rustix::fs::Mode;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

/// Creates the directories and writes the side files durably.
pub(super) fn stage(disk: Disk<'_>, draft: &mut Draft<'_>) -> Result<(), TreeError> {
    for path in draft.plan.made.clone() {
        if make_dir(disk, &mut draft.dirs, &path)? == DirOrigin::ByAnother {
            draft.plan.made.retain(|made| *made != path);
        }
    }
    for (change, payload) in draft.plan.changes.iter().zip(&draft.payloads) {
        if let Some(payload) = payload {
            let dir = directory(&mut draft.dirs, change)?;
            write_side(disk, dir, change, payload).map_err(at("write", &change.path()))?;
        }
    }
    sync_dirs(disk, &draft.plan, &mut draft.dirs)
}

#[derive(Debug, PartialEq, Eq)]
enum DirOrigin {
    ByUs,
    ByAnother,
}

fn make_dir(disk: Disk<'_>, dirs: &mut Dirs, path: &[String]) -> Result<DirOrigin, TreeError> {
    let Some((name, parents)) = path.split_last() else {
        return Ok(DirOrigin::ByAnother);
    };
    let shown = join(parents, name);
    let io = |errno| match errno {
        Errno::NOTDIR | Errno::LOOP => TreeError::NotADirectory {
            path: shown.clone(),
        },
        errno => at("make directory", &shown)(errno),
    };
    let parent = dirs
        .find(parents)
        .map_err(io)?
        .ok_or(Errno::NOTDIR)
        .map_err(io)?;
    let made = match disk.make_dir(parent, name) {
        Ok(()) => DirOrigin::ByUs,
        Err(Errno::EXIST) => DirOrigin::ByAnother,
        Err(errno) => return Err(io(errno)),
    };
    let dir = open_dir(parent, name).map_err(io)?;
    dirs.hold(path.to_vec(), dir);
    Ok(made)
}

fn write_side(
    disk: Disk<'_>,
    dir: BorrowedFd<'_>,
    change: &PlannedChange,
    payload: &Payload<'_>,
) -> Result<(), Errno> {
    // A file that replaces another may hold secrets, so it is private until it has its permissions.
    let first = if payload.mode.is_some() { 0o600 } else { 0o666 };
    let mut file = disk.create(dir, &change.side, Mode::from_raw_mode(first))?;
    disk.write(&mut file, payload.content)?;
    if let Some(mode) = payload.mode {
        disk.set_owner_and_mode(&file, payload.owner, mode | payload.special)?;
    }
    disk.sync(&file)
}

/// Puts one file in place. The former content is then in the side file and is checked there, where no other program
/// reaches it: if it is not what the plan expects, the change is refused, and undoing it restores the content.
pub(super) fn apply(
    disk: Disk<'_>,
    dirs: &mut Dirs,
    change: &PlannedChange,
) -> Result<(), TreeError> {
    let dir = directory(dirs, change)?;
    let path = change.path();
    let refused = |errno| match errno {
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => TreeError::Unsupported {
            what: "the filesystem cannot exchange two files in one step",
        },
        Errno::NOENT => TreeError::Changed { path: path.clone() },
        Errno::EXIST => TreeError::Exists { path: path.clone() },
        errno => at("put in place", &path)(errno),
    };
    match &change.deed {
        Deed::Rewrite { .. } => disk.exchange(dir, &change.side, &change.name),
        Deed::Add { .. } => {
            return disk
                .rename_new(dir, &change.side, &change.name)
                .map_err(refused);
        }
        Deed::Delete { .. } => disk.rename_new(dir, &change.name, &change.side),
    }
    .map_err(refused)?;
    match change
        .compare_entry(dir, &change.side)
        .map_err(at("read", &path))?
    {
        EntryState::Before => Ok(()),
        EntryState::Absent | EntryState::After | EntryState::Other => {
            Err(TreeError::Changed { path })
        }
    }
}

/// Makes the changes in every directory of a plan survive a power failure.
pub(super) fn sync_dirs(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<(), TreeError> {
    let changed = plan.changes.iter().map(|change| change.dir.as_slice());
    let made = plan
        .made
        .iter()
        .filter_map(|path| path.split_last().map(|(_, parents)| parents));
    for path in changed.chain(made).collect::<BTreeSet<_>>() {
        let shown = path.join("/");
        if let Some(dir) = dirs.find(path).map_err(at("open", &shown))? {
            disk.sync(dir).map_err(at("sync", &shown))?;
        }
    }
    Ok(())
}

fn directory<'d>(dirs: &'d mut Dirs, change: &PlannedChange) -> Result<BorrowedFd<'d>, TreeError> {
    let path = change.path();
    dirs.find(&change.dir)
        .map_err(at("open the parent of", &path))?
        .ok_or(TreeError::NotADirectory { path })
}
