//! The parts of a repository's own directory that must not lead elsewhere or make a reader wait.
//!
//! git follows a link in the place of a directory and writes there: a repository from an archive could so make the
//! host's git write into another one. A pipe in the place of a file makes git wait for ever.

use super::GitError;
use super::pointer::{self, GitFile};
use std::fs;
use std::path::Path;

/// Parts in which the runtime's git creates, replaces or removes files. None may be a symbolic link.
const WRITTEN: [&str; 14] = [
    "objects",
    "refs",
    "refs/heads",
    "refs/heads/holon",
    "refs/holon",
    "refs/holon/rescue",
    "refs/holon/abandoned",
    "logs",
    "logs/refs",
    "logs/refs/heads",
    "logs/refs/heads/holon",
    "packed-refs",
    "reftable",
    "worktrees",
];
/// Files that git reads by itself. Each is a regular file if it is there, also behind a link.
const READ: [&str; 10] = [
    "HEAD",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
];

/// Checks the repository of `root`, a directory with a `.git` in it or the administrative directory of a worktree.
pub(super) fn check(root: &Path, admin: Option<&Path>) -> Result<(), GitError> {
    let own = root.join(".git");
    match admin {
        // Administrative directories lie in `worktrees` of their repository.
        Some(admin) => check_dir(root, admin.ancestors().nth(2).unwrap_or(admin)),
        None if own.is_dir() => check_dir(root, &own),
        None if own.is_file() => match pointer::follow(root)? {
            GitFile::Linked(linked) => check_dir(root, &linked.common_dir),
            GitFile::Own => Ok(()),
        },
        // git says what is wrong with a directory that has no repository.
        None => Ok(()),
    }
}

fn check_dir(root: &Path, dir: &Path) -> Result<(), GitError> {
    let refuse = |part: &str, reason: &str| {
        Err(GitError::Unverified {
            path: root.to_owned(),
            reason: format!("its .git/{part} {reason}"),
        })
    };
    for part in WRITTEN {
        if fs::symlink_metadata(dir.join(part)).is_ok_and(|found| found.is_symlink()) {
            return refuse(part, "is a symbolic link");
        }
    }
    for part in READ {
        if fs::metadata(dir.join(part)).is_ok_and(|found| !found.is_file()) {
            return refuse(part, "is not a regular file");
        }
    }
    Ok(())
}
