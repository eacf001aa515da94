//! What an interrupted `git worktree add` leaves: directories without files.

use super::create::{admin_dir, mismatch, named_directory, remove_if_there};
use super::look::verify;
use crate::git::{GitError, at};
use crate::plain_file::PlainFile;
use crate::scratch::remove_tree;
use holon_domain::workspace::{WorktreeRecord, WorktreeStage};
use std::fs;
use std::io;
use std::path::Path;

/// Beginning of the reason for which git locks a worktree that it is making.
const INITIALIZING: &[u8] = b"initializing";

/// Returns true if a creation was interrupted before git had made the worktree, so that there are no files in it yet.
pub(super) fn is_unmade(record: &WorktreeRecord) -> bool {
    record.stage == WorktreeStage::Creating && (verify(record).is_err() || is_initializing(record))
}

/// Returns true if git itself was interrupted while it made the worktree: it holds such a lock until it is done.
fn is_initializing(record: &WorktreeRecord) -> bool {
    let lock = PlainFile::open(&admin_dir(record).join("locked"));
    let reason = lock.ok().flatten();
    let reason = reason.and_then(|lock| lock.read_head(INITIALIZING.len() as u64).ok());
    reason.as_deref() == Some(INITIALIZING)
}

/// Checks that an interrupted `git worktree add` left no more than a directory with nothing but its pointer, and an
/// administrative directory of that name, which belongs to no other worktree.
pub(super) fn check_remnants(record: &WorktreeRecord) -> Result<(), GitError> {
    let path = Path::new(&record.path);
    let others = match fs::read_dir(path) {
        Ok(mut entries) => {
            entries.any(|entry| entry.map_or(true, |entry| entry.file_name() != ".git"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(at("list", path)(error)),
    };
    if others {
        return Err(mismatch(record, "there are files in its place"));
    }
    if named_directory(record)?.is_some_and(|named| named != path.join(".git")) {
        return Err(mismatch(
            record,
            "another worktree of the repository has its name",
        ));
    }
    Ok(())
}

/// Removes what an interrupted `git worktree add` left.
pub(super) fn remove_remnants(record: &WorktreeRecord) -> Result<(), GitError> {
    check_remnants(record)?;
    let (path, admin) = (Path::new(&record.path), admin_dir(record));
    remove_if_there(&path.join(".git"))?;
    for dir in [path, admin.as_path()] {
        remove_tree(dir).map_err(|error| at("remove", dir)(io::Error::other(error)))?;
    }
    Ok(())
}
