//! Removes a managed worktree that nothing speaks against.
//!
//! Steps: rescue ref, refs of abandoned commits, record `removing`, worktree by git without force, branch by its expected commit, record. A crash
//! after any step leaves a record, and the next clean-up goes on. git looks again for changes before it removes.

use super::abandoned::rescue_abandoned;
use super::create::{admin_dir, named_directory};
use super::{ManagedWorktrees, record};
use crate::git::{BranchName, CommitId, GitError, Repository, at};
use crate::scratch::remove_tree;
use holon_domain::workspace::{
    CleanVerdict, KeepReason, WorktreeRecord, WorktreeStage, WorktreeUser,
};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

impl ManagedWorktrees {
    /// Removes a worktree if nothing is lost by it. With `dry_run` it only says what would happen.
    #[must_use]
    pub fn clean(
        &self,
        record: &WorktreeRecord,
        users: &[WorktreeUser],
        dry_run: bool,
    ) -> CleanVerdict {
        if !dry_run && let Err(error) = restore_pointer(record) {
            return CleanVerdict::Kept {
                reasons: vec![KeepReason::Unknown {
                    detail: error.to_string(),
                }],
            };
        }
        let reasons = self.keep_reasons(record, users);
        if !reasons.is_empty() {
            return CleanVerdict::Kept { reasons };
        }
        if dry_run {
            return CleanVerdict::Removable;
        }
        match self.remove(record) {
            Ok(rescue_ref) => CleanVerdict::Removed { rescue_ref },
            Err(error) => CleanVerdict::Kept {
                reasons: vec![KeepReason::Unknown {
                    detail: error.to_string(),
                }],
            },
        }
    }

    fn remove(&self, record: &WorktreeRecord) -> Result<Option<String>, GitError> {
        let repository = self.git.open(Path::new(&record.workspace_anchor))?;
        let branch = BranchName::parse(&record.branch)?;
        let tip = repository.commit_of(&branch.full_ref())?;
        let rescue = match &tip {
            Some(tip) => Some(write_rescue(&repository, &branch, tip)?),
            None => None,
        };
        holon_fault::hit("worktree.rescued");
        rescue_abandoned(&repository, record, &branch)?;
        record::save(&WorktreeRecord {
            stage: WorktreeStage::Removing,
            ..record.clone()
        })?;
        holon_fault::hit("worktree.removing");
        let path = Path::new(&record.path);
        if path.symlink_metadata().is_ok() {
            let inside = self.git.open(path)?;
            restore_files(&inside, record)?;
            repository.clone().with_settings_of(&inside).write(&[
                "worktree".as_ref(),
                "remove".as_ref(),
                "--".as_ref(),
                path.as_os_str(),
            ])?;
        } else {
            forget_missing(record)?;
        }
        holon_fault::hit("worktree.removed");
        if let Some(tip) = &tip {
            remove_branch(&repository, &branch, tip)?;
        }
        holon_fault::hit("worktree.branch_removed");
        record::remove(record)?;
        holon_fault::hit("worktree.forgotten");
        Ok(rescue)
    }
}

/// Writes the pointer of a worktree again that git deleted before its removal was interrupted. Without it the directory
/// belongs to no repository, and nothing can be said about its files.
fn restore_pointer(record: &WorktreeRecord) -> Result<(), GitError> {
    let path = Path::new(&record.path);
    let (pointer, admin) = (path.join(".git"), admin_dir(record));
    let is_missing = matches!(
        pointer.symlink_metadata(),
        Err(error) if error.kind() == io::ErrorKind::NotFound
    );
    let is_interrupted = record.stage == WorktreeStage::Removing && path.is_dir() && is_missing;
    if !is_interrupted || named_directory(record)?.as_ref() != Some(&pointer) {
        return Ok(());
    }
    let text = format!("gitdir: {}\n", admin.display());
    std::fs::write(&pointer, text).map_err(at("write", &pointer))
}

/// Writes the files again that git deleted before its removal was interrupted, because git removes a worktree with
/// missing files only by force.
fn restore_files(inside: &Repository, record: &WorktreeRecord) -> Result<(), GitError> {
    match record.stage {
        WorktreeStage::Removing => {
            let args = ["checkout-index", "--all", "--quiet"].map(OsStr::new);
            inside.write(&args).map(drop)
        }
        WorktreeStage::Creating | WorktreeStage::Ready => Ok(()),
    }
}

/// Keeps the last commit of a branch under a ref that no clean-up removes. One that is there already stays if it names
/// the same commit.
fn write_rescue(
    repository: &Repository,
    branch: &BranchName,
    tip: &CommitId,
) -> Result<String, GitError> {
    let rescue = branch.rescue_ref();
    if repository.commit_of(&rescue)?.as_ref() != Some(tip) {
        let none = tip.none();
        repository.write(&[
            "update-ref".as_ref(),
            "--end-of-options".as_ref(),
            OsStr::new(&rescue),
            OsStr::new(tip.as_str()),
            OsStr::new(&none),
        ])?;
    }
    Ok(rescue)
}

/// Removes a branch if it is still at this commit and no other worktree has it checked out.
fn remove_branch(
    repository: &Repository,
    branch: &BranchName,
    tip: &CommitId,
) -> Result<(), GitError> {
    let full = branch.full_ref();
    let users = repository.read(&["for-each-ref", "--format=%(worktreepath)", &full])?;
    if users.iter().any(|byte| !byte.is_ascii_whitespace()) {
        return Ok(());
    }
    repository
        .write(&[
            "update-ref".as_ref(),
            "-d".as_ref(),
            "--end-of-options".as_ref(),
            OsStr::new(&full),
            OsStr::new(tip.as_str()),
        ])
        .map(drop)
}

/// Removes the administrative directory of a worktree whose own directory is gone. It was looked at before: it names
/// that directory, or names none because a removal by git was interrupted.
fn forget_missing(record: &WorktreeRecord) -> Result<(), GitError> {
    let admin = admin_dir(record);
    let own = Path::new(&record.path).join(".git");
    if named_directory(record)?.is_none_or(|named| named == own) {
        remove_tree(&admin).map_err(|error| at("remove", &admin)(io::Error::other(error)))?;
    }
    Ok(())
}
