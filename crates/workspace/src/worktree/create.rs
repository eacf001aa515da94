//! Makes a worktree, or finishes one whose creation was interrupted.
//!
//! Steps: record `creating`, branch at the base commit, worktree without files, files, record `ready`. Each step is
//! harmless when it was done before. No agent works in the directory before the last one, so a half-filled directory
//! holds nothing of a user.

use super::{ManagedWorktrees, record};
use crate::claims::make_private_dir;
use crate::git::{BranchName, CommitId, GitError, Repository, at, slug};
use crate::plain_file::{self, PlainFile};
use crate::scratch::remove_tree;
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
/// Beginning of the reason for which git locks a worktree that it is making.
const INITIALIZING: &[u8] = b"initializing";

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
        let repository = self.git.open(new.anchor)?;
        let mut record = match record::load(&record::path(&folder, &name))? {
            Some(record) => record,
            None => {
                let record = first_record(&repository, new, &folder, name)?;
                record::save(&record)?;
                holon_fault::hit("worktree.recorded");
                record
            }
        };
        match record.stage {
            WorktreeStage::Creating => self.fill(&repository, &record)?,
            WorktreeStage::Ready => super::look::verify(&record)?,
            WorktreeStage::Removing => {
                return Err(mismatch(&record, "it is being removed"));
            }
        }
        record.stage = WorktreeStage::Ready;
        record::save(&record)?;
        holon_fault::hit("worktree.ready");
        let mut skipped_filters = wanted_filters(Path::new(&record.path));
        skipped_filters.extend(repository.filters().map(str::to_owned));
        Ok(MadeWorktree {
            record,
            skipped_filters,
        })
    }

    fn fill(&self, repository: &Repository, record: &WorktreeRecord) -> Result<(), GitError> {
        let branch = BranchName::parse(&record.branch)?;
        let base = CommitId::parse(&record.base_commit)?;
        ensure_branch(repository, record, &branch, &base)?;
        holon_fault::hit("worktree.branched");
        let path = Path::new(&record.path);
        if super::look::verify(record).is_err() || is_initializing(record) {
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
        // A killed attempt leaves its lock behind, and nothing else works in a directory that is being made.
        remove_if_there(&admin_dir(record).join("index.lock"))?;
        let inside = self.git.open(path)?;
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
    let utf8 = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| GitError::Unverified {
                path: path.to_owned(),
                reason: "the path is not valid UTF-8".to_owned(),
            })
    };
    Ok(WorktreeRecord {
        stage: WorktreeStage::Creating,
        workspace_id: new.workspace_id.clone(),
        workspace_anchor: utf8(new.anchor)?,
        path: utf8(&folder.join(&name))?,
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
                    "--end-of-options".as_ref(),
                    OsStr::new(&full),
                    OsStr::new(base.as_str()),
                    OsStr::new(&none),
                ])
                .map(drop)
        }
    }
}

/// Returns true if git itself was interrupted while it made the worktree: it holds such a lock until it is done.
fn is_initializing(record: &WorktreeRecord) -> bool {
    let lock = PlainFile::open(&admin_dir(record).join("locked"));
    let reason = lock.ok().flatten();
    let reason = reason.and_then(|lock| lock.read_head(INITIALIZING.len() as u64).ok());
    reason.as_deref() == Some(INITIALIZING)
}

/// Removes what an interrupted `git worktree add` left: a directory with nothing but its pointer, and the
/// administrative directory of that name, which belongs to no other worktree.
fn remove_remnants(record: &WorktreeRecord) -> Result<(), GitError> {
    let path = Path::new(&record.path);
    let others = match fs::read_dir(path) {
        Ok(mut entries) => {
            entries.any(|entry| entry.map_or(true, |entry| entry.file_name() != ".git"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(at("list", path)(error)),
    };
    if others {
        return Err(mismatch(record, "there are files in its place"));
    }
    let admin = admin_dir(record);
    let own = path.join(".git");
    if named_directory(record)?.is_some_and(|named| named != own) {
        return Err(mismatch(
            record,
            "another worktree of the repository has its name",
        ));
    }
    remove_if_there(&own)?;
    for dir in [path, admin.as_path()] {
        remove_tree(dir).map_err(|error| at("remove", dir)(io::Error::other(error)))?;
    }
    Ok(())
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

fn remove_if_there(path: &Path) -> Result<(), GitError> {
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
