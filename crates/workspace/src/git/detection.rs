//! Detection: what a path is. It reads a few files and starts no process, so a hostile repository runs nothing.

use super::GitError;
use super::pointer::{self, GitFile};
use holon_domain::workspace::{DetectedKind, ReservedDirs};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Kind of a path, and the directories that follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    pub kind: DetectedKind,
    /// Directory that identifies the project.
    pub anchor: PathBuf,
    /// Directory in which tools run.
    pub execution_root: PathBuf,
    pub cwd: PathBuf,
    /// Directory of the repository, which all of its worktrees share. Absent for a plain directory, and for a
    /// repository that is kept elsewhere.
    pub repository: Option<PathBuf>,
    /// True if the runtime can make worktrees of the anchor: it has the repository in its own `.git` directory.
    pub can_isolate: bool,
}

/// Looks at `path`, a canonical directory.
///
/// # Errors
/// A `.git` file leads somewhere that does not lead back.
pub fn detect(path: &Path, reserved: &ReservedDirs) -> Result<Detection, GitError> {
    let device = device(path);
    for root in path.ancestors() {
        if self::device(root) != device {
            break;
        }
        let Ok(found) = fs::symlink_metadata(root.join(".git")) else {
            continue;
        };
        if reaches_reserved(root, reserved) {
            break;
        }
        if found.is_dir() && pointer::is_git_dir(&root.join(".git")) {
            if pointer::leads_elsewhere(&root.join(".git")) {
                return Err(GitError::Unverified {
                    path: root.to_owned(),
                    reason: "its .git directory names another repository".to_owned(),
                });
            }
            return Ok(repository(path, root, true));
        }
        if found.is_file() {
            return match pointer::follow(root)? {
                GitFile::Linked(linked) => Ok(worktree(path, root, &linked.common_dir)),
                GitFile::Own => Ok(repository(path, root, false)),
            };
        }
        if found.is_symlink() {
            return Err(GitError::Unverified {
                path: root.to_owned(),
                reason: "its .git is a symbolic link".to_owned(),
            });
        }
    }
    Ok(Detection::plain(path))
}

impl Detection {
    /// Describes a directory without a repository.
    pub(crate) fn plain(path: &Path) -> Self {
        Self {
            kind: DetectedKind::PlainDirectory,
            anchor: path.to_owned(),
            execution_root: path.to_owned(),
            cwd: path.to_owned(),
            repository: None,
            can_isolate: false,
        }
    }
}

fn repository(path: &Path, root: &Path, can_isolate: bool) -> Detection {
    Detection {
        kind: if path == root {
            DetectedKind::CanonicalRepo
        } else {
            DetectedKind::RepoSubdir
        },
        anchor: root.to_owned(),
        execution_root: root.to_owned(),
        cwd: path.to_owned(),
        repository: can_isolate.then(|| root.join(".git")),
        can_isolate,
    }
}

/// The anchor of a worktree is the directory around its repository. A bare repository has none; then the worktree is a
/// project of its own.
fn worktree(path: &Path, root: &Path, common_dir: &Path) -> Detection {
    let parent = common_dir
        .parent()
        .filter(|_| common_dir.file_name() == Some(".git".as_ref()));
    Detection {
        kind: DetectedKind::ExistingGitWorktree,
        anchor: parent.unwrap_or(root).to_owned(),
        execution_root: root.to_owned(),
        cwd: path.to_owned(),
        repository: Some(common_dir.to_owned()),
        can_isolate: parent.is_some(),
    }
}

/// Returns the repository of which `root`, a canonical directory, is a linked worktree; `None` if it is none.
pub(crate) fn worktree_repository(root: &Path) -> Result<Option<PathBuf>, GitError> {
    match pointer::follow(root)? {
        GitFile::Linked(linked) => Ok(Some(linked.common_dir)),
        GitFile::Own => Ok(None),
    }
}

/// Returns true if `admin` is the administrative directory of a linked worktree of the repository `common`.
pub(crate) fn is_admin_of(admin: &Path, common: &Path) -> bool {
    pointer::is_admin_of(admin, common)
}

fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.dev())
}

/// Returns true if a repository would bring directories of the host into the workspace, such as one around the user's
/// whole home. Its sub-directories count as plain ones.
fn reaches_reserved(root: &Path, reserved: &ReservedDirs) -> bool {
    reserved.find_reached(root).is_some()
}
