//! Keeps the commits of a worktree that only its reflogs name: those that a reset, an amend or a rebase left behind.
//!
//! The reflogs go with the worktree and its branch, and then nothing holds such a commit. Before a removal each one that
//! no ref reaches gets a ref of its own, so that git does not collect it.

use super::create::{admin_dir, mismatch};
use crate::git::{BranchName, CommitId, GitError, Repository};
use crate::plain_file;
use holon_domain::limits::WORKTREE_REFLOG_BYTES;
use holon_domain::workspace::WorktreeRecord;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Most refs that are written for one worktree. One with more abandoned ends of history is kept.
const MAX_REFS: usize = 64;
/// Characters of a commit id in the name of its ref.
const SHORT_ID: usize = 16;

/// Writes a ref for every abandoned end of history. Finds nothing more when it is repeated.
///
/// # Errors
/// git failed, or a reflog cannot be read. The worktree then stays.
pub(super) fn rescue_abandoned(
    repository: &Repository,
    record: &WorktreeRecord,
    branch: &BranchName,
) -> Result<(), GitError> {
    let ids = logged_commits(record, branch)?;
    if ids.is_empty() {
        return Ok(());
    }
    for _ in 0..MAX_REFS {
        let Some(end) = find_unreachable(repository, &ids)? else {
            return Ok(());
        };
        let name = abandoned_ref(branch, &end);
        let none = end.none();
        repository.write(&[
            "update-ref".as_ref(),
            "--no-deref".as_ref(),
            "--end-of-options".as_ref(),
            OsStr::new(&name),
            OsStr::new(end.as_str()),
            OsStr::new(&none),
        ])?;
        holon_fault::hit("worktree.abandoned_rescued");
    }
    let reason = format!(
        "its reflog names more than {MAX_REFS} commits that no ref holds; tag those that you need, or expire the reflog"
    );
    Err(mismatch(record, &reason))
}

/// Returns the ref that keeps an abandoned commit.
fn abandoned_ref(branch: &BranchName, commit: &CommitId) -> String {
    let rescue = branch.rescue_ref();
    let name = rescue.rsplit('/').next().unwrap_or_default();
    let short = commit.as_str().get(..SHORT_ID).unwrap_or_default();
    format!("refs/holon/abandoned/{name}-{short}")
}

/// Returns the commits that the reflogs of the worktree and of its branch name.
fn logged_commits(
    record: &WorktreeRecord,
    branch: &BranchName,
) -> Result<BTreeSet<String>, GitError> {
    let common = Path::new(&record.workspace_anchor).join(".git");
    let logs: [PathBuf; 2] = [
        admin_dir(record).join("logs/HEAD"),
        common.join("logs").join(branch.full_ref()),
    ];
    let mut ids = BTreeSet::new();
    for log in logs {
        let text = plain_file::read(&log, WORKTREE_REFLOG_BYTES).map_err(|failure| {
            let reason = format!("{}: {failure}", log.display());
            mismatch(record, &reason)
        })?;
        ids.extend(commits_of(&text.unwrap_or_default()));
    }
    Ok(ids)
}

/// Returns the ids on the lines of a reflog: `<old> <new> <who> <time> <zone>\t<message>`.
fn commits_of(log: &[u8]) -> BTreeSet<String> {
    let log = String::from_utf8_lossy(log);
    let words = log.lines().flat_map(|line| line.split(' ').take(2));
    let ids = words.filter(|word| CommitId::parse(word).is_ok());
    let is_none = |word: &&str| word.bytes().all(|byte| byte == b'0');
    ids.filter(|word| !is_none(word))
        .map(str::to_owned)
        .collect()
}

/// Finds one commit that no ref reaches and that is no ancestor of another such one.
fn find_unreachable(
    repository: &Repository,
    ids: &BTreeSet<String>,
) -> Result<Option<CommitId>, GitError> {
    // Objects that git has collected already are passed over.
    let mut args = vec![
        "rev-list",
        "--topo-order",
        "--max-count=1",
        "--ignore-missing",
    ];
    args.extend(ids.iter().map(String::as_str));
    args.extend(["--not", "--all"]);
    let printed = repository.read(&args)?;
    let printed = String::from_utf8_lossy(&printed);
    let found = printed.trim_end();
    (!found.is_empty())
        .then(|| CommitId::parse(found))
        .transpose()
}
