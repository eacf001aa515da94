//! Managed worktrees: those that the runtime makes for isolated work, and cleans up without losing a byte of a user's.
//!
//! Each one lies in `<root>/<workspace id>/<name>` and has a record beside it, `<name>.json`, which is written before
//! the step that it names. So an interrupted creation is finished by the next attempt under the same name, and a
//! worktree without a record is not a managed one.

mod abandoned;
mod aside;
mod changes;
mod create;
mod lock;
mod look;
mod record;
mod remnants;
mod remove;
mod status;
mod unfinished;

pub use create::{MadeWorktree, NewWorktree};

use crate::git::{Git, GitError};
use holon_domain::limits::WORKTREES_LISTED;
use holon_domain::workspace::{UnreadableRecord, WorktreeRecord};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for a git that an ended host left at work on a worktree.
const PATIENCE: Duration = Duration::from_secs(60);

/// The records of a host's managed worktrees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeListing {
    /// Sorted by path, at most [`WORKTREES_LISTED`].
    pub records: Vec<WorktreeRecord>,
    /// Records that cannot be read, sorted by path. Their worktrees are kept.
    pub unreadable: Vec<UnreadableRecord>,
    /// Number of records that were left out.
    pub left_out: usize,
}

/// The managed worktrees of a host. All methods block on the file system and on git.
#[derive(Debug, Clone)]
pub struct ManagedWorktrees {
    /// Directory with one folder for each workspace.
    root: PathBuf,
    git: Git,
    /// Longest wait for another process that works on the worktree to be made.
    patience: Duration,
}

impl ManagedWorktrees {
    /// Returns the worktrees under `root`, which need not exist yet.
    #[must_use]
    pub const fn new(root: PathBuf, git: Git) -> Self {
        Self {
            root,
            git,
            patience: PATIENCE,
        }
    }

    /// Returns the git of the host.
    pub(crate) const fn git(&self) -> &Git {
        &self.git
    }

    /// Waits at most this long for another process that works on a worktree.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the directory with one folder for each workspace, canonical if it exists.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.root
            .canonicalize()
            .unwrap_or_else(|_| self.root.clone())
    }

    /// Finds the record of the worktree with this execution root; `None` if it is not a managed one.
    ///
    /// # Errors
    /// There is a record, and it cannot be read.
    pub fn find(&self, execution_root: &Path) -> Result<Option<WorktreeRecord>, GitError> {
        let folder = execution_root.parent();
        let root = folder.and_then(Path::parent);
        let name = execution_root.file_name().and_then(|name| name.to_str());
        match (folder, name) {
            (Some(folder), Some(name)) if root == Some(self.root().as_path()) => {
                record::load(&record::path(folder, name))
            }
            _ => Ok(None),
        }
    }

    /// Lists the records of all managed worktrees, and those that cannot be read.
    ///
    /// # Errors
    /// A directory cannot be listed.
    pub fn records(&self) -> Result<WorktreeListing, GitError> {
        let record::FoundRecords {
            mut records,
            mut unreadable,
        } = record::load_all(&self.root)?;
        records.sort_by(|one, other| one.path.cmp(&other.path));
        unreadable.sort_by(|one, other| one.path.cmp(&other.path));
        let left_out = records.len().saturating_sub(WORKTREES_LISTED)
            + unreadable.len().saturating_sub(WORKTREES_LISTED);
        records.truncate(WORKTREES_LISTED);
        unreadable.truncate(WORKTREES_LISTED);
        Ok(WorktreeListing {
            records,
            unreadable,
            left_out,
        })
    }
}
