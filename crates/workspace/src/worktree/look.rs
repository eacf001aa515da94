//! Finds out whether a managed worktree can be removed without losing anything, and if not, why.

use super::create::{admin_dir, mismatch, named_directory};
use super::remnants::{check_remnants, is_unmade};
use super::unfinished::{self, Compare};
use super::{ManagedWorktrees, status};
use crate::git::{BranchName, CommitId, GitError, Repository, is_admin_of, worktree_repository};
use holon_domain::workspace::{
    KeepReason, WorktreeOwner, WorktreeRecord, WorktreeStage, WorktreeTask, WorktreeUser,
};
use std::fs;
use std::io;
use std::path::Path;

/// Files of git that say that an operation is under way, or that hold refs of this worktree alone.
const UNDER_WAY: [&str; 9] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "refs/worktree",
    "refs/bisect",
];

/// Checks that the directory of a record is a worktree of its repository.
pub(super) fn verify(record: &WorktreeRecord) -> Result<(), GitError> {
    let path = Path::new(&record.path);
    if !path.is_dir() {
        return Err(mismatch(record, "its directory is gone"));
    }
    let common = Path::new(&record.workspace_anchor).join(".git");
    match worktree_repository(path)? {
        Some(found) if found == common => Ok(()),
        Some(_) | None => Err(mismatch(record, "it belongs to another repository")),
    }
}

impl ManagedWorktrees {
    /// Returns every reason to keep a worktree. None means that nothing of a user is in it.
    #[must_use]
    pub fn keep_reasons(&self, record: &WorktreeRecord, users: &[WorktreeUser]) -> Vec<KeepReason> {
        let mut reasons: Vec<KeepReason> = users_inside(record, users);
        match self.look(record, Compare::Content) {
            Ok(more) => reasons.extend(more),
            Err(GitError::Unverified { reason, .. }) => {
                reasons.push(KeepReason::Mismatch { detail: reason });
            }
            Err(error) => reasons.push(KeepReason::Unknown {
                detail: error.to_string(),
            }),
        }
        reasons
    }

    /// Returns the reasons to keep a worktree that its directory and its repository show.
    pub(super) fn look(
        &self,
        record: &WorktreeRecord,
        compare: Compare,
    ) -> Result<Vec<KeepReason>, GitError> {
        if is_unmade(record) {
            check_remnants(record)?;
            return self.look_at_branch(record);
        }
        match Path::new(&record.path).symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.look_at_remains(record),
            // A directory that cannot be read is not gone: looking inside says what is wrong.
            Ok(_) | Err(_) => self.look_inside(record, compare),
        }
    }

    fn look_inside(
        &self,
        record: &WorktreeRecord,
        compare: Compare,
    ) -> Result<Vec<KeepReason>, GitError> {
        verify(record)?;
        let mut reasons = look_at_admin(record);
        let inside = self.git.open(Path::new(&record.path))?;
        if inside.current_branch()?.as_deref() != Some(&record.branch) {
            reasons.push(other_branch(record));
        }
        find_own_refs(&inside, &mut reasons)?;
        reasons.extend(find_changes(&inside, record, compare)?);
        reasons.extend(self.look_at_branch(record)?);
        Ok(reasons)
    }

    /// Looks at what git still keeps of a worktree whose directory is gone. It may be on a disk that is not there, and
    /// its administrative directory alone holds a detached commit, staged files and the state of a rebase.
    fn look_at_remains(&self, record: &WorktreeRecord) -> Result<Vec<KeepReason>, GitError> {
        let admin = admin_dir(record);
        if admin.symlink_metadata().is_err() {
            return self.look_at_branch(record);
        }
        let own = Path::new(&record.path).join(".git");
        if let Some(moved) = named_directory(record)?.filter(|named| *named != own) {
            let reason = format!("its repository knows it as {}", moved.display());
            return Err(mismatch(record, &reason));
        }
        let mut reasons = look_at_admin(record);
        if admin.join("HEAD").symlink_metadata().is_ok() {
            self.look_at_head(record, &admin, &mut reasons)?;
        } else if record.stage != WorktreeStage::Removing {
            return Err(mismatch(
                record,
                "its repository lost what it had checked out",
            ));
        }
        reasons.extend(self.look_at_branch(record)?);
        Ok(reasons)
    }

    /// Compares the checked-out commit and the index of a worktree whose directory is gone with its branch.
    fn look_at_head(
        &self,
        record: &WorktreeRecord,
        admin: &Path,
        reasons: &mut Vec<KeepReason>,
    ) -> Result<(), GitError> {
        let common = Path::new(&record.workspace_anchor).join(".git");
        if !is_admin_of(admin, &common) {
            return Err(mismatch(record, "it belongs to another repository"));
        }
        let remains = self.git.open_admin(admin)?;
        find_own_refs(&remains, reasons)?;
        if remains.current_branch()?.as_deref() != Some(&record.branch) {
            reasons.push(other_branch(record));
        }
        // Without an index nothing was staged: git was interrupted while it made or removed the worktree.
        if admin.join("index").symlink_metadata().is_ok() {
            let files = status::count_staged(&remains, &record.base_commit)?;
            reasons.extend((files > 0).then_some(KeepReason::TrackedChanges { files }));
        }
        Ok(())
    }

    pub(super) fn look_at_branch(
        &self,
        record: &WorktreeRecord,
    ) -> Result<Vec<KeepReason>, GitError> {
        let repository = self.git.open(Path::new(&record.workspace_anchor))?;
        let own = own_commits(&repository, record)?;
        Ok(own.into_iter().collect())
    }
}

/// Returns the reasons to keep the files of a worktree.
pub(super) fn find_changes(
    inside: &Repository,
    record: &WorktreeRecord,
    compare: Compare,
) -> Result<Vec<KeepReason>, GitError> {
    match record.stage {
        WorktreeStage::Creating => unfinished::find_changes(inside, record, compare),
        WorktreeStage::Ready | WorktreeStage::Removing => {
            status::find_changes(inside, record.stage)
        }
    }
}

/// Adds a reason for refs that only this worktree has. git is asked, because not every format of refs has files.
pub(super) fn find_own_refs(
    inside: &Repository,
    reasons: &mut Vec<KeepReason>,
) -> Result<(), GitError> {
    let is_known = |reason: &KeepReason| matches!(reason, KeepReason::OperationUnderWay { .. });
    if reasons.iter().any(is_known) {
        return Ok(());
    }
    let printed = inside.read(&[
        "for-each-ref",
        "--count=1",
        "--format=%(refname)",
        "refs/worktree",
        "refs/bisect",
        "refs/rewritten",
    ])?;
    let name = String::from_utf8_lossy(&printed).trim_end().to_owned();
    let found = (!name.is_empty()).then_some(KeepReason::OperationUnderWay { file: name });
    reasons.extend(found);
    Ok(())
}

/// Returns the reasons that the administrative directory of a worktree shows by its files.
pub(super) fn look_at_admin(record: &WorktreeRecord) -> Vec<KeepReason> {
    let admin = admin_dir(record);
    let is_there = |name: &str| admin.join(name).symlink_metadata().is_ok();
    let mut reasons = Vec::new();
    if is_there("locked") {
        reasons.push(KeepReason::Locked);
    }
    if let Some(file) = UNDER_WAY.iter().find(|name| is_there(name)) {
        reasons.push(KeepReason::OperationUnderWay {
            file: (*file).to_owned(),
        });
    }
    reasons
}

fn other_branch(record: &WorktreeRecord) -> KeepReason {
    KeepReason::Mismatch {
        detail: format!("its branch is not {} any more", record.branch),
    }
}

/// Returns a reason to keep a branch with commits that no other branch, remote branch or tag holds.
fn own_commits(
    repository: &Repository,
    record: &WorktreeRecord,
) -> Result<Option<KeepReason>, GitError> {
    let branch = BranchName::parse(&record.branch)?;
    let full = branch.full_ref();
    if let Some(target) = repository.symbolic_target(&full)? {
        let reason = format!("its branch is a symbolic ref to {target}");
        return Err(mismatch(record, &reason));
    }
    let Some(tip) = repository.commit_of(&full)? else {
        return Ok(None);
    };
    if tip == CommitId::parse(&record.base_commit)? {
        return Ok(None);
    }
    let contains = format!("--contains={}", tip.as_str());
    let holders = repository.read(&[
        "for-each-ref",
        "--format=%(refname)",
        &contains,
        "refs/heads",
        "refs/remotes",
        "refs/tags",
    ])?;
    let holders = String::from_utf8_lossy(&holders);
    let is_held = holders.lines().any(|name| name != full);
    Ok((!is_held).then(|| KeepReason::OwnCommits {
        tip: tip.as_str().to_owned(),
    }))
}

/// Returns the agents and the tasks that work in a worktree, and one process whose current directory it is.
fn users_inside(record: &WorktreeRecord, users: &[WorktreeUser]) -> Vec<KeepReason> {
    let path = Path::new(&record.path);
    let mut inside: Vec<KeepReason> = users
        .iter()
        .filter(|user| is_inside(user, record))
        .map(|user| KeepReason::ActiveFor {
            agent_id: user.agent_id.clone(),
        })
        .collect();
    for user in users {
        let tasks = user.tasks.iter().filter(|task| runs_inside(task, path));
        inside.extend(tasks.map(|task| KeepReason::UsedByTask {
            agent_id: user.agent_id.clone(),
            task_id: task.task_id.clone(),
        }));
    }
    inside.extend(process_inside(path).map(|pid| KeepReason::UsedByProcess { pid }));
    inside
}

/// Returns true if an agent works in a worktree, or may be about to: its turn is open, and the worktree was made for it.
fn is_inside(user: &WorktreeUser, record: &WorktreeRecord) -> bool {
    let WorktreeOwner::Session { agent_id } = &record.owner;
    let works_there = |root: &String| Path::new(root).starts_with(&record.path);
    user.execution_roots.iter().any(works_there) || (user.in_turn && user.agent_id == *agent_id)
}

/// Returns true if a task runs in a directory. The stored path of a task may lead over links.
fn runs_inside(task: &WorktreeTask, path: &Path) -> bool {
    let workdir = Path::new(&task.workdir);
    let resolved = workdir.canonicalize();
    workdir.starts_with(path) || resolved.is_ok_and(|resolved| resolved.starts_with(path))
}

/// Finds a process of this user that works in a directory. Systems without `/proc` report none.
pub(super) fn process_inside(path: &Path) -> Option<u32> {
    let entries = fs::read_dir("/proc").ok()?;
    entries.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let cwd = fs::read_link(entry.path().join("cwd")).ok()?;
        cwd.starts_with(path).then_some(pid)
    })
}
