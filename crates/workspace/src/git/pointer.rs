//! The pointers between a linked worktree and its repository, read and verified in both directions.
//!
//! A `.git` file can name any directory. It is believed only if that directory names the worktree in turn, lies where
//! its repository keeps such directories, and belongs to the same user; no link may stand on the way.

use super::GitError;
use crate::plain_file;
use holon_domain::limits::GIT_POINTER_BYTES;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// A linked worktree whose pointers agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkedWorktree {
    /// Directory of the repository that all of its worktrees share.
    pub(super) common_dir: PathBuf,
}

/// Target of the `.git` file of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GitFile {
    /// A worktree of another directory's repository.
    Linked(LinkedWorktree),
    /// A repository of its own, kept elsewhere: a submodule, or one with a separate directory.
    Own,
}

/// Follows the `.git` file of `root`, a canonical directory.
pub(super) fn follow(root: &Path) -> Result<GitFile, GitError> {
    let refuse = |reason: &str| GitError::Unverified {
        path: root.to_owned(),
        reason: reason.to_owned(),
    };
    let file = root.join(".git");
    let text = read_pointer(&file)?;
    let target = text
        .strip_prefix("gitdir: ")
        .ok_or_else(|| refuse("its .git file has no gitdir line"))?;
    let admin = resolve(root, target).ok_or_else(|| refuse("its .git file names no directory"))?;
    if !is_git_dir_of_worktree(&admin) {
        return Ok(GitFile::Own);
    }
    let back = read_pointer(&admin.join("gitdir"))?;
    let back = admin.join(&back);
    if back.file_name() != Some(".git".as_ref())
        || back
            .parent()
            .and_then(|dir| dir.canonicalize().ok())
            .as_deref()
            != Some(root)
    {
        return Err(refuse(
            "the repository that its .git file names does not name it in turn",
        ));
    }
    let common = read_pointer(&admin.join("commondir"))?;
    let common = resolve(&admin, &common)
        .ok_or_else(|| refuse("the repository of the worktree is not there"))?;
    if admin.parent() != Some(common.join("worktrees").as_path()) {
        return Err(refuse(
            "its administrative directory is not one of the repository that it names",
        ));
    }
    if !is_git_dir(&common) {
        return Err(refuse("the directory it shares is no repository"));
    }
    same_owner(&[&file, &admin, &common])
        .map_err(|()| refuse("the worktree and the repository belong to different users"))?;
    Ok(GitFile::Linked(LinkedWorktree { common_dir: common }))
}

/// Returns true if `admin` is an administrative directory of the repository `common`, a canonical directory.
pub(super) fn is_admin_of(admin: &Path, common: &Path) -> bool {
    let shared = read_pointer(&admin.join("commondir")).ok();
    let shared = shared.and_then(|target| resolve(admin, &target));
    shared.as_deref() == Some(common) && admin.parent() == Some(common.join("worktrees").as_path())
}

/// Returns true if a directory has what git itself asks of a repository.
pub(super) fn is_git_dir(dir: &Path) -> bool {
    is_plain_dir(&dir.join("objects"))
        && is_plain_dir(&dir.join("refs"))
        && fs::symlink_metadata(dir.join("HEAD")).is_ok_and(|found| !found.is_dir())
}

/// Returns true if the repository of a directory is another one: git follows such a pointer without any check.
pub(super) fn leads_elsewhere(dir: &Path) -> bool {
    let names = ["commondir", "gitdir"].iter();
    names
        .map(|name| dir.join(name))
        .any(|pointer| fs::symlink_metadata(pointer).is_ok())
}

fn is_git_dir_of_worktree(dir: &Path) -> bool {
    ["gitdir", "commondir"]
        .iter()
        .all(|name| fs::symlink_metadata(dir.join(name)).is_ok_and(|found| found.is_file()))
}

fn is_plain_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Resolves a pointer to a directory. `None` if it is missing, or leads over a symbolic link below its first directory:
/// a canonical path is its own resolution.
fn resolve(base: &Path, target: &str) -> Option<PathBuf> {
    let asked = normalize(&base.join(target))?;
    let found = asked.canonicalize().ok()?;
    (found == asked && found.is_dir()).then_some(found)
}

/// Removes `.` and `..` by the spelling alone.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => plain.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => plain.push(part),
        }
    }
    plain.is_absolute().then_some(plain)
}

/// Reads a pointer: one line of a small regular file.
fn read_pointer(path: &Path) -> Result<String, GitError> {
    let refuse = |reason: String| GitError::Unverified {
        path: path.to_owned(),
        reason,
    };
    let text = plain_file::read(path, GIT_POINTER_BYTES)
        .map_err(|failure| refuse(format!("it cannot be read: {failure}")))?
        .ok_or_else(|| refuse("it is missing".to_owned()))?;
    let text = String::from_utf8(text).map_err(|_| refuse("it is not valid UTF-8".to_owned()))?;
    let line = text.trim_end_matches(['\n', '\r']);
    if line.is_empty() || line.contains(['\n', '\r', '\0']) {
        return Err(refuse("it does not have exactly one line".to_owned()));
    }
    Ok(line.to_owned())
}

fn same_owner(paths: &[&Path]) -> Result<(), ()> {
    let mut owners = paths
        .iter()
        .map(|path| fs::symlink_metadata(path).map(|found| found.uid()));
    let first = owners.next().and_then(Result::ok);
    if owners.all(|owner| owner.ok() == first) {
        Ok(())
    } else {
        Err(())
    }
}
