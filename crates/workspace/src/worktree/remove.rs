//! Removes a managed worktree that nothing speaks against.
//!
//! Steps: rescue ref, refs of abandoned commits, record `removing`, directory, administrative directory, branch by its
//! expected commit, record. The directory is moved away and looked at again before it is removed. A crash after any step
//! leaves a record, and the next clean-up goes on.

use super::abandoned::rescue_abandoned;
use super::aside::take_back;
use super::create::{admin_dir, named_directory};
use super::lock::WorktreeLock;
use super::remnants::{is_unmade, remove_remnants};
use super::unfinished::Compare;
use super::{ManagedWorktrees, record};
use crate::git::{BranchName, CommitId, GitError, Repository, at};
use crate::scratch::remove_tree;
use holon_domain::workspace::{
    CleanVerdict, KeepReason, WorktreeRecord, WorktreeStage, WorktreeUser,
};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Longest wait of a clean-up for another process that works on a worktree.
const PATIENCE: Duration = Duration::from_secs(2);

impl ManagedWorktrees {
    /// Removes a worktree if nothing is lost by it. With `dry_run` it only says what would happen.
    #[must_use]
    pub fn clean(
        &self,
        record: &WorktreeRecord,
        users: &[WorktreeUser],
        dry_run: bool,
    ) -> CleanVerdict {
        if dry_run {
            let reasons = self.keep_reasons(record, users);
            return if reasons.is_empty() {
                CleanVerdict::Removable
            } else {
                CleanVerdict::Kept { reasons }
            };
        }
        let cleaned = self.clean_locked(record, users);
        cleaned.unwrap_or_else(|error| CleanVerdict::Kept {
            reasons: vec![KeepReason::Unknown {
                detail: error.to_string(),
            }],
        })
    }

    fn clean_locked(
        &self,
        record: &WorktreeRecord,
        users: &[WorktreeUser],
    ) -> Result<CleanVerdict, GitError> {
        let lock = WorktreeLock::take(Path::new(&record.path), PATIENCE)?;
        take_back(record)?;
        restore_pointer(record)?;
        let reasons = self.keep_reasons(record, users);
        if reasons.is_empty() {
            self.remove(record, lock, Compare::Content)
        } else {
            Ok(CleanVerdict::Kept { reasons })
        }
    }

    /// Removes a worktree for which no reason to keep it was found.
    pub(super) fn remove(
        &self,
        record: &WorktreeRecord,
        lock: WorktreeLock,
        compare: Compare,
    ) -> Result<CleanVerdict, GitError> {
        let anchor = Path::new(&record.workspace_anchor);
        let repository = self.git.open(anchor)?.holding(lock.file());
        let branch = BranchName::parse(&record.branch)?;
        let tip = repository.commit_of(&branch.full_ref())?;
        let rescue_ref = match (&tip, compare) {
            (Some(tip), Compare::Content) => Some(write_rescue(&repository, &branch, tip)?),
            // A creation that failed at once has a branch at its base, which is the commit of another one.
            (_, Compare::Path) | (None, Compare::Content) => None,
        };
        holon_fault::hit("worktree.rescued");
        rescue_abandoned(&repository, record, &branch)?;
        save_removing(record)?;
        holon_fault::hit("worktree.removing");
        if is_unmade(record) {
            remove_remnants(record)?;
        } else if Path::new(&record.path).symlink_metadata().is_ok() {
            let reasons = self.take_away(record, compare)?;
            if !reasons.is_empty() {
                record::save(record)?;
                return Ok(CleanVerdict::Kept { reasons });
            }
        }
        forget_missing(record)?;
        holon_fault::hit("worktree.removed");
        if let Some(tip) = &tip {
            remove_branch(&repository, &branch, tip)?;
        }
        holon_fault::hit("worktree.branch_removed");
        record::remove(record)?;
        lock.forget()?;
        holon_fault::hit("worktree.forgotten");
        Ok(CleanVerdict::Removed { rescue_ref })
    }
}

/// Writes down that a worktree is being removed. One that was never ready keeps its record, which lets its removal go
/// on just as well: on a full disk no record can be written.
fn save_removing(record: &WorktreeRecord) -> Result<(), GitError> {
    match record.stage {
        WorktreeStage::Creating => Ok(()),
        WorktreeStage::Ready | WorktreeStage::Removing => record::save(&WorktreeRecord {
            stage: WorktreeStage::Removing,
            ..record.clone()
        }),
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

/// Keeps the last commit of a branch under a ref that no clean-up removes. One that is there already stays if it names
/// the same commit.
fn write_rescue(
    repository: &Repository,
    branch: &BranchName,
    tip: &CommitId,
) -> Result<String, GitError> {
    let rescue = branch.rescue_ref();
    let is_symbolic = repository.symbolic_target(&rescue)?.is_some();
    if is_symbolic || repository.commit_of(&rescue)?.as_ref() != Some(tip) {
        let none = tip.none();
        repository.write(&[
            "update-ref".as_ref(),
            "--no-deref".as_ref(),
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
            "--no-deref".as_ref(),
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
        // Without it the rest holds nothing, in whatever order it goes.
        match std::fs::remove_file(admin.join("HEAD")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(at("remove", &admin)(error));
            }
            Ok(()) | Err(_) => {}
        }
        remove_tree(&admin).map_err(|error| at("remove", &admin)(io::Error::other(error)))?;
    }
    Ok(())
}
