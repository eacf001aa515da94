//! Lists the files of a managed worktree that differ from the commit at which it began.

use super::ManagedWorktrees;
use super::look::verify;
use crate::git::{CommitId, GitError};
use holon_domain::workspace::WorktreeRecord;
use std::collections::BTreeSet;
use std::path::Path;

impl ManagedWorktrees {
    /// Lists the files that were changed, added or deleted since the worktree was made, committed or not, sorted. Ignored
    /// files are left out. Names are relative to the worktree.
    ///
    /// # Errors
    /// When the directory is no worktree of its repository any more, or git fails.
    pub fn changed_files(&self, record: &WorktreeRecord) -> Result<Vec<String>, GitError> {
        verify(record)?;
        let inside = self.git.open(Path::new(&record.path))?;
        let base = CommitId::parse(&record.base_commit)?;
        let differ = inside.read(&[
            "diff-index",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=none",
            base.as_str(),
            "--",
        ])?;
        let untracked = inside.read(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        let names: BTreeSet<String> = differ
            .split(|byte| *byte == 0)
            .chain(untracked.split(|byte| *byte == 0))
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        Ok(names.into_iter().collect())
    }
}
