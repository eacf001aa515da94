//! git as the runtime itself calls it: hardened, bounded, and never trusting the repository.
//!
//! A repository's configuration is code: hooks, file-system monitors, filters and diff drivers run programs. [`Git`]
//! takes no configuration of the user or the system, and [`Repository`] overrides or refuses what the repository itself
//! sets. Detection of a path ([`detect`]) starts no process at all.

mod bounded;
mod detection;
mod names;
mod overrides;
mod parent_death;
mod parts;
mod pointer;
mod remote;
mod repository;

pub use detection::{Detection, detect};
pub(crate) use detection::{is_admin_of, worktree_repository};
pub use names::{BranchName, CommitId, slug};
pub(crate) use remote::{GitUrl, RemoteBounds, RemoteGit};
pub use repository::{Git, GitOutput, Repository};

use std::io;
use std::path::PathBuf;

/// Reason for which git, or a repository, was not used.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be started: {0}; install git 2.40 or newer")]
    NotStarted(io::Error),
    #[error("git {command} took longer than {limit_ms} ms in {} and was killed", dir.display())]
    TimedOut {
        command: String,
        dir: PathBuf,
        limit_ms: u64,
    },
    #[error("git {command} printed more than {limit} bytes in {} and was killed", dir.display())]
    TooMuchOutput {
        command: String,
        dir: PathBuf,
        limit: usize,
    },
    #[error("git {command} failed in {}: {stderr}", dir.display())]
    Failed {
        command: String,
        dir: PathBuf,
        /// Standard error of git, cut to a bound.
        stderr: String,
    },
    #[error("{} belongs to another user, which git refuses as dubious ownership; the host's git reads no safe.directory \
             setting, so use the workspace in direct mode, or give it to the user of the host", dir.display())]
    OtherOwner { dir: PathBuf },
    #[error("{name:?} is not a name that git gets from the runtime")]
    InvalidName { name: String },
    #[error("the configuration of {} sets {key}, with which the runtime's git does not work; use the workspace in \
             direct mode, or remove that setting", dir.display())]
    RefusedConfig { dir: PathBuf, key: String },
    #[error("{} is not a repository that can be verified: {reason}", path.display())]
    Unverified { path: PathBuf, reason: String },
    #[error("the record {} of a managed worktree cannot be read: {detail}; its worktree and its branch are kept as they \
             are; put the record back, or move the directory away by hand", path.display())]
    UnreadableRecord { path: PathBuf, detail: String },
    #[error("another process still works on the worktree {}, perhaps a git that an ended host left behind; try again once \
             it has ended", path.display())]
    InUse { path: PathBuf },
    #[error("the repository {} has no commit yet; make a first commit, or use it in direct mode", path.display())]
    NoCommit { path: PathBuf },
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted operation, as a verb for the message.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

pub(crate) fn at<'a>(
    action: &'static str,
    path: &'a std::path::Path,
) -> impl FnOnce(io::Error) -> GitError + 'a {
    move |source| GitError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
