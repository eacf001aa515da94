//! Managed worktrees: those that the runtime makes for isolated work, and cleans up without losing a byte of a user's.
//!
//! Each one lies in `<root>/<workspace id>/<name>` and has a record beside it, `<name>.json`, which is written before
//! the step that it names. So an interrupted creation is finished by the next attempt under the same name, and a
//! worktree without a record is not a managed one.

mod create;
mod look;
mod record;
mod remove;
mod status;

pub use create::{MadeWorktree, NewWorktree};

use crate::git::{Git, GitError};
use holon_domain::limits::WORKTREES_LISTED;
use holon_domain::workspace::WorktreeRecord;
use std::path::{Path, PathBuf};

/// The managed worktrees of a host. All methods block on the file system and on git.
#[derive(Debug, Clone)]
pub struct ManagedWorktrees {
    /// Directory with one folder for each workspace.
    root: PathBuf,
    git: Git,
}

impl ManagedWorktrees {
    /// Returns the worktrees under `root`, which need not exist yet.
    #[must_use]
    pub const fn new(root: PathBuf, git: Git) -> Self {
        Self { root, git }
    }

    /// Finds the record of the worktree with this execution root.
    #[must_use]
    pub fn find(&self, execution_root: &Path) -> Option<WorktreeRecord> {
        let folder = execution_root.parent()?;
        let root = self.root.canonicalize().ok()?;
        if folder.parent()? != root && folder.parent()? != self.root {
            return None;
        }
        record::load(&record::path(folder, execution_root.file_name()?.to_str()?))
    }

    /// Lists the records, sorted by path, at most [`WORKTREES_LISTED`], and the number of those left out.
    ///
    /// # Errors
    /// A directory cannot be listed.
    pub fn records(&self) -> Result<(Vec<WorktreeRecord>, usize), GitError> {
        let mut found = record::load_all(&self.root)?;
        found.sort_by(|one, other| one.path.cmp(&other.path));
        let left_out = found.len().saturating_sub(WORKTREES_LISTED);
        found.truncate(WORKTREES_LISTED);
        Ok((found, left_out))
    }
}
