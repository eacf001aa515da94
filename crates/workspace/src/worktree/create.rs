//! Makes a worktree, or finishes one whose creation was interrupted.
//!
//! Steps: record `creating`, branch at the base commit, worktree without files, files, record `ready`. Each step is
//! harmless when it was done before. No agent works in the directory before the last one, so a half-filled directory
//! holds nothing of a user.
//!
//! All steps hold the lock of the worktree, and so does every git in them. An attempt that fails takes its steps back.

use super::aside::take_back;
use super::lock::WorktreeLock;
use super::look::verify;
use super::remnants::{is_unmade, remove_remnants};
use super::unfinished::Compare;
use super::{ManagedWorktrees, record};
use crate::claims::make_private_dir;
use crate::git::{BranchName, CommitId, GitError, Repository, at, slug};
use crate::plain_file::{self, PlainFile};
use holon_domain::limits::GIT_POINTER_BYTES;
use holon_domain::workspace::{WorktreeOwner, WorktreeRecord, WorktreeStage};
use holon_domain::{AgentId, WorkspaceId};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Bytes of the digest in a name: eight hexadecimal characters.
const SHORT_ID_BYTES: usize = 4;
/// Most bytes of an attributes file that are searched for filters.
const ATTRIBUTES_BYTES: u64 = 64 << 10;

/// A worktree to make.
#[derive(Debug, Clone, Copy)]
pub struct NewWorktree<'a> {
    pub workspace_id: &'a WorkspaceId,
    /// Canonical directory of the repository.
    pub anchor: &'a Path,
    pub agent_id: &'a AgentId,
    /// Words for the name. Absent if the default is used.
    pub label: Option<&'a str>,
    /// Identity of the request. The same request finds the same worktree.
    pub request: &'a str,
}

/// A worktree that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWorktree {
    pub record: WorktreeRecord,
    /// Filters that the repository asks for and that did not run.
    pub skipped_filters: BTreeSet<String>,
}

impl ManagedWorktrees {
    /// Makes the worktree of a request, or finds the one that the request made before.
    ///
    /// # Errors
    /// git failed, the repository has no commit, or what is on disk contradicts the record.
    pub fn create(&self, new: &NewWorktree<'_>) -> Result<MadeWorktree, GitError> {
        let name = name_of(new);
        let folder = self.root.join(new.workspace_id.as_str());
        make_private_dir(&folder).map_err(at("create", &folder))?;
        let folder = folder.canonicalize().map_err(at("open", &folder))?;
        let lock = WorktreeLock::take(&folder.join(&name), self.patience)?;
        let begun = self.begin(new, &folder, &name, &lock);
        let (repository, mut record, compare) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                if !record::path(&folder, &name).exists() {
                    // An empty file that stays behind is taken by the next attempt.
                    lock.forget().unwrap_or_default();
                }
                return Err(error);
            }
        };
        match record.stage {
            WorktreeStage::Creating => {
                if let Err(error) = self.finish(&repository, &mut record, &lock) {
                    self.discard(&repository, &record, lock, compare);
                    return Err(error);
                }
            }
            WorktreeStage::Ready => verify(&record)?,
            WorktreeStage::Removing => {
                return Err(mismatch(&record, "it is being removed"));
            }
        }
        holon_fault::hit("worktree.ready");
        let mut skipped_filters = wanted_filters(Path::new(&record.path));
        skipped_filters.extend(repository.filters().map(str::to_owned));
        Ok(MadeWorktree {
            record,
            skipped_filters,
        })
    }

    /// Opens the repository, and finds or writes the record of the worktree.
    fn begin(
        &self,
        new: &NewWorktree<'_>,
        folder: &Path,
        name: &str,
        lock: &WorktreeLock,
    ) -> Result<(Repository, WorktreeRecord, Compare), GitError> {
        let repository = self.git.open(new.anchor)?.holding(lock.file());
        if let Some(record) = record::load(&record::path(folder, name))? {
            return Ok((repository, record, Compare::Content));
        }
        let record = first_record(&repository, new, folder, name.to_owned())?;
        record::save(&record)?;
        holon_fault::hit("worktree.recorded");
        // Whatever is in the directory after this was written by this attempt.
        Ok((repository, record, Compare::Path))
    }

    fn finish(
        &self,
        repository: &Repository,
        record: &mut WorktreeRecord,
        lock: &WorktreeLock,
    ) -> Result<(), GitError> {
        take_back(record)?;
        self.fill(repository, record, lock)?;
        let ready = WorktreeRecord {
            stage: WorktreeStage::Ready,
            ..record.clone()
        };
        record::save(&ready)?;
        *record = ready;
        Ok(())
    }

    /// Removes what a failed creation left. What cannot be removed stays with its record, for the next attempt or a
    /// clean-up; the caller reports the failure of the creation.
    fn discard(
        &self,
        repository: &Repository,
        record: &WorktreeRecord,
        lock: WorktreeLock,
        compare: Compare,
    ) {
        let base = CommitId::parse(&record.base_commit).ok();
        let tip = repository.commit_of(&format!("refs/heads/{}", record.branch));
        let is_own = tip.is_ok_and(|tip| tip.is_none() || tip == base);
        let reasons = self.look(record, compare);
        if is_own && reasons.is_ok_and(|reasons| reasons.is_empty()) {
            drop(self.remove(record, lock, compare));
        }
    }

    fn fill(
        &self,
        repository: &Repository,
        record: &WorktreeRecord,
        lock: &WorktreeLock,
    ) -> Result<(), GitError> {
        let branch = BranchName::parse(&record.branch)?;
        let base = CommitId::parse(&record.base_commit)?;
        ensure_branch(repository, record, &branch, &base)?;
        holon_fault::hit("worktree.branched");
        let path = Path::new(&record.path);
        if is_unmade(record) {
            remove_remnants(record)?;
            repository.write(&[
                "worktree".as_ref(),
                "add".as_ref(),
                "--quiet".as_ref(),
                "--no-checkout".as_ref(),
                "--".as_ref(),
                path.as_os_str(),
                OsStr::new(branch.as_str()),
            ])?;
            holon_fault::hit("worktree.added");
        }
        // A killed attempt leaves its lock of the index behind. Its git has ended: this attempt holds the worktree.
        remove_if_there(&admin_dir(record).join("index.lock"))?;
        let inside = self.git.open(path)?.holding(lock.file());
        inside.write(&[
            "read-tree".as_ref(),
            "--reset".as_ref(),
            "-u".as_ref(),
            "--no-recurse-submodules".as_ref(),
            OsStr::new(base.as_str()),
        ])?;
        holon_fault::hit("worktree.filled");
        Ok(())
    }
}

/// Returns the administrative directory that git keeps for a managed worktree.
pub(super) fn admin_dir(record: &WorktreeRecord) -> PathBuf {
    let anchor = Path::new(&record.workspace_anchor);
    anchor.join(".git/worktrees").join(&record.name)
}

pub(super) fn mismatch(record: &WorktreeRecord, reason: &str) -> GitError {
    GitError::Unverified {
        path: PathBuf::from(&record.path),
        reason: reason.to_owned(),
    }
}

fn name_of(new: &NewWorktree<'_>) -> String {
    let mut digest = Sha256::new();
    digest.update(new.agent_id.as_str());
    digest.update([0]);
    digest.update(new.request);
    let digest = digest.finalize();
    let short: String = digest
        .iter()
        .take(SHORT_ID_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{}-{short}", slug(new.label))
}

fn first_record(
    repository: &Repository,
    new: &NewWorktree<'_>,
    folder: &Path,
    name: String,
) -> Result<WorktreeRecord, GitError> {
    let base = repository
        .commit_of("HEAD")?
        .ok_or_else(|| GitError::NoCommit {
            path: new.anchor.to_owned(),
        })?;
    // The pointers between a worktree and its repository have one line each.
    let line = |path: &Path| {
        let text = path.to_str().filter(|text| !text.contains(['\n', '\r']));
        text.map(str::to_owned).ok_or_else(|| GitError::Unverified {
            path: path.to_owned(),
            reason: "the path is not one line of UTF-8".to_owned(),
        })
    };
    Ok(WorktreeRecord {
        stage: WorktreeStage::Creating,
        workspace_id: new.workspace_id.clone(),
        workspace_anchor: line(new.anchor)?,
        path: line(&folder.join(&name))?,
        branch: BranchName::of_worktree(&name)?.as_str().to_owned(),
        base_commit: base.as_str().to_owned(),
        original_branch: repository.current_branch()?.unwrap_or_default(),
        name,
        owner: WorktreeOwner::Session {
            agent_id: new.agent_id.clone(),
        },
    })
}

fn ensure_branch(
    repository: &Repository,
    record: &WorktreeRecord,
    branch: &BranchName,
    base: &CommitId,
) -> Result<(), GitError> {
    let full = branch.full_ref();
    if repository.symbolic_target(&full)?.is_some() {
        return Err(mismatch(record, "its branch is a symbolic ref"));
    }
    match repository.commit_of(&full)? {
        Some(found) if found == *base => Ok(()),
        Some(_) => Err(mismatch(
            record,
            "its branch exists and is at another commit",
        )),
        None => {
            let none = base.none();
            repository
                .write(&[
                    "update-ref".as_ref(),
                    "--no-deref".as_ref(),
                    "--end-of-options".as_ref(),
                    OsStr::new(&full),
                    OsStr::new(base.as_str()),
                    OsStr::new(&none),
                ])
                .map(drop)
        }
    }
}

/// Returns the `.git` file that the administrative directory of a worktree names. `None` if there is no such directory,
/// or it names nothing because git was interrupted.
pub(super) fn named_directory(record: &WorktreeRecord) -> Result<Option<PathBuf>, GitError> {
    let pointer = admin_dir(record).join("gitdir");
    let text = match plain_file::read(&pointer, GIT_POINTER_BYTES) {
        Ok(text) => text.unwrap_or_default(),
        Err(failure) => {
            let reason = format!("{}: {failure}", pointer.display());
            return Err(mismatch(record, &reason));
        }
    };
    let named = OsStr::from_bytes(text.trim_ascii());
    Ok((!named.is_empty()).then(|| PathBuf::from(named)))
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the filters that the attributes at the top of a worktree name.
fn wanted_filters(path: &Path) -> BTreeSet<String> {
    let file = PlainFile::open(&path.join(".gitattributes"));
    let file = file.ok().flatten();
    let head = file.and_then(|file| file.read_head(ATTRIBUTES_BYTES).ok());
    let head = head.unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    head.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.strip_prefix("filter="))
        .map(|name| name.chars().take(64).collect())
        .collect()
}
