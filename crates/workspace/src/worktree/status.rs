//! Finds the files of a worktree that its branch does not hold: changed, untracked, ignored, and those git hides.

use crate::git::{CommitId, GitError, Repository};
use holon_domain::workspace::{KeepReason, WorktreeStage};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Mode of a submodule in the index.
const GITLINK: &[u8] = b"160000";

#[derive(Debug, Default)]
struct Counts {
    tracked: u64,
    /// Tracked files among them that are only missing in the directory.
    deleted: u64,
    untracked: u64,
    ignored: u64,
    ignored_bytes: u64,
}

/// Returns the reasons to keep the files of a worktree. Missing files are none if a removal was interrupted: git deleted
/// them, and its branch holds them.
pub(super) fn find_changes(
    inside: &Repository,
    stage: WorktreeStage,
) -> Result<Vec<KeepReason>, GitError> {
    let printed = inside.read(&[
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=all",
        "--ignored=traditional",
        "--ignore-submodules=all",
        "--no-renames",
    ])?;
    let mut counts = count(inside.root(), &printed);
    let index = inside.read(&["ls-files", "-z", "-v", "-s"])?;
    let (hidden, has_submodule) = read_index(inside.root(), &index);
    counts.tracked += hidden;
    match stage {
        WorktreeStage::Removing => counts.tracked -= counts.deleted,
        WorktreeStage::Creating | WorktreeStage::Ready => {}
    }
    let mut reasons = Vec::new();
    if counts.tracked > 0 {
        reasons.push(KeepReason::TrackedChanges {
            files: counts.tracked,
        });
    }
    if counts.untracked > 0 {
        reasons.push(KeepReason::UntrackedFiles {
            files: counts.untracked,
        });
    }
    if counts.ignored > 0 {
        reasons.push(KeepReason::IgnoredFiles {
            files: counts.ignored,
            bytes: counts.ignored_bytes,
        });
    }
    if has_submodule {
        reasons.push(KeepReason::Submodules);
    }
    Ok(reasons)
}

/// Counts the staged files of a worktree whose directory is gone: those in which its index differs from its last
/// commit, or from `base` if its branch is gone too.
pub(super) fn count_staged(remains: &Repository, base: &str) -> Result<u64, GitError> {
    let head = remains.commit_of("HEAD")?;
    let commit = match head {
        Some(head) => head,
        None => CommitId::parse(base)?,
    };
    let changed = remains.read(&[
        "diff-index",
        "--cached",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--ignore-submodules=none",
        commit.as_str(),
        "--",
    ])?;
    Ok(changed.iter().filter(|byte| **byte == 0).count() as u64)
}

fn count(root: &Path, printed: &[u8]) -> Counts {
    let mut counts = Counts::default();
    for entry in printed
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
    {
        match entry.split_at_checked(2) {
            Some((b"? ", _)) => counts.untracked += 1,
            Some((b"! ", path)) => {
                counts.ignored += 1;
                counts.ignored_bytes += size(&join(root, path));
            }
            Some((b"1 ", rest)) if rest.starts_with(b".D ") => {
                counts.tracked += 1;
                counts.deleted += 1;
            }
            // Changed and unmerged entries. An entry of an unknown kind counts as a change.
            Some(_) | None => counts.tracked += 1,
        }
    }
    counts
}

/// Returns the number of tracked files whose changes git does not look for, and whether a submodule has files.
fn read_index(root: &Path, printed: &[u8]) -> (u64, bool) {
    let (mut hidden, mut has_submodule) = (0, false);
    for entry in printed
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
    {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let (head, path) = entry.split_at(tab);
        let path = join(root, path.get(1..).unwrap_or_default());
        let (tag, mode) = (head.first().copied(), head.get(2..8));
        if mode == Some(GITLINK) {
            has_submodule |= fs::read_dir(&path).is_ok_and(|mut files| files.next().is_some());
        }
        // A lower-case tag is "assume unchanged"; `S` is "skip this file", which should not be there.
        let is_hidden = match tag {
            Some(b'S') => path.symlink_metadata().is_ok(),
            Some(tag) => tag.is_ascii_lowercase(),
            None => false,
        };
        hidden += u64::from(is_hidden);
    }
    (hidden, has_submodule)
}

fn join(root: &Path, path: &[u8]) -> PathBuf {
    root.join(std::ffi::OsStr::from_bytes(path))
}

/// Returns the bytes of a file, or of the files in a directory, which git lists whole if it is a repository itself.
fn size(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else {
        return 0;
    };
    if !found.is_dir() {
        return found.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}
