//! Errors about fetching, with the next step.

use crate::error::Error;
use crate::git::GitError;
use holon_domain::limits::{INSTALL_BYTES, INSTALL_DEPTH, INSTALL_FILES};
use holon_domain::remote::GitHubRepo;
use holon_domain::text::{self, is_display_control};

/// A directory that was not fetched. Nothing is left of the attempt.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The repository does not answer, does not exist, or needs a login.
    #[error(
        "{repository} cannot be read: {reason}; only public repositories are fetched, so clone any other and name \
             its directory"
    )]
    Unreachable { repository: String, reason: String },
    /// The time or the bytes of a fetch are used up.
    #[error("fetching from {repository} was given up: {source}")]
    OutOfBounds {
        repository: String,
        source: GitError,
    },
    /// No branch, tag or commit fits.
    #[error(
        "{repository} has no branch or tag with which {shown:?} begins, and it is no full commit id"
    )]
    NoRef { repository: String, shown: String },
    /// The commit has no such directory.
    #[error("{repository} has no directory {directory:?} at commit {commit}")]
    NoDirectory {
        repository: String,
        directory: String,
        commit: String,
    },
    /// The repository has no such skill, or several.
    #[error("{repository}: {reason}")]
    NoSkill { repository: String, reason: String },
    /// The tree holds something that is not fetched.
    #[error("{path:?} cannot be fetched: {reason}")]
    Refused { path: String, reason: &'static str },
    /// The tree exceeds a bound.
    #[error(
        "{path:?} cannot be fetched: a directory has at most {INSTALL_FILES} files, {INSTALL_BYTES} bytes and \
             {INSTALL_DEPTH} levels"
    )]
    TooLarge { path: String },
    /// git could not be run.
    #[error(transparent)]
    Git(GitError),
    /// The filesystem refused to write the folder.
    #[error(transparent)]
    Files(#[from] Error),
}

impl FetchError {
    /// Names the repository of a failed git command.
    pub(super) fn of(repo: &GitHubRepo, source: GitError) -> Self {
        let repository = repo.to_string();
        match source {
            GitError::Failed { stderr, .. } => Self::Unreachable {
                repository,
                reason: one_line(&stderr),
            },
            GitError::TimedOut { .. } | GitError::TooMuchOutput { .. } => {
                Self::OutOfBounds { repository, source }
            }
            other @ (GitError::NotStarted(_)
            | GitError::OtherOwner { .. }
            | GitError::InvalidName { .. }
            | GitError::InUse { .. }
            | GitError::RefusedConfig { .. }
            | GitError::Unverified { .. }
            | GitError::UnreadableRecord { .. }
            | GitError::NoCommit { .. }
            | GitError::Io { .. }) => Self::Git(other),
        }
    }

    /// Returns true if the fetch ran out of time.
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::OutOfBounds {
                source: GitError::TimedOut { .. },
                ..
            }
        )
    }
}

/// Words of git and of the server, on one line and without unseen characters.
fn one_line(words: &str) -> String {
    let plain: String = words
        .chars()
        .map(|c| if is_display_control(c) { ' ' } else { c })
        .collect();
    text::preview(&plain.split_whitespace().collect::<Vec<_>>().join(" "), 300)
}

/// Shows a path of a repository, whatever its characters are.
pub(super) fn shown(path: &[u8]) -> String {
    text::preview(&String::from_utf8_lossy(path), 200)
}
