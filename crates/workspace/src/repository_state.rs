//! The state of the repository around a directory, for the prompts of agents: where it is, what is checked out, and whether
//! it was changed.
//!
//! The look at the root starts no process. The state is read by the hardened git, with tighter bounds than other commands
//! have, because a model waits for it.

use crate::git::{CommitId, Git, GitError, detect};
use crate::select::WorkspaceSelection;
use holon_domain::limits::{PLACE_GIT_BYTES, PLACE_GIT_MS};
use holon_domain::place::RepositoryWork;
use holon_domain::workspace::DetectedKind;
use std::path::{Path, PathBuf};

/// Characters of a commit's hash that are shown.
const SHORT_HEAD: usize = 10;

impl WorkspaceSelection {
    /// Returns the root of the repository that a directory is in; `None` if it is in none that the runtime would use.
    #[must_use]
    pub fn repository_root(&self, dir: &Path) -> Option<PathBuf> {
        let found = detect(&dir.canonicalize().ok()?, &self.reserved).ok()?;
        match found.kind {
            DetectedKind::AgentHome | DetectedKind::PlainDirectory => None,
            DetectedKind::CanonicalRepo
            | DetectedKind::RepoSubdir
            | DetectedKind::ExistingGitWorktree => Some(found.execution_root),
        }
    }

    /// Reads what is checked out in the repository with this root.
    ///
    /// # Errors
    /// git refuses the repository, or a command reached a bound.
    pub fn repository_work(&self, root: &Path) -> Result<RepositoryWork, GitError> {
        read_work(self.worktrees.git().clone(), root)
    }
}

fn read_work(git: Git, root: &Path) -> Result<RepositoryWork, GitError> {
    let bounded = git.with_read_bounds(PLACE_GIT_MS, PLACE_GIT_BYTES);
    let repository = bounded.open(root)?;
    let head = repository.commit_of("HEAD")?;
    let changes = repository.read(&[
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        "--no-renames",
    ]);
    let is_dirty = match changes {
        Ok(printed) => !printed.is_empty(),
        Err(GitError::TooMuchOutput { .. }) => true,
        Err(error) => return Err(error),
    };
    Ok(RepositoryWork {
        branch: repository.current_branch()?,
        head: head.as_ref().map(short),
        is_dirty,
    })
}

fn short(commit: &CommitId) -> String {
    commit.as_str().chars().take(SHORT_HEAD).collect()
}
