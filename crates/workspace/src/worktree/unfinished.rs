//! Compares the files of a worktree whose creation never ended with its base commit.
//!
//! Such a directory has no index yet, and no agent ever got it. A file that is the one of the commit, or its beginning,
//! was written by git; a missing one was not written yet. Everything else is kept. Nothing is written, so that it works
//! on a full disk.

use crate::git::{CommitId, GitError, Repository, at};
use crate::plain_file;
use holon_domain::limits::GIT_OUTPUT_BYTES;
use holon_domain::workspace::{KeepReason, WorktreeRecord};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Mode of a symbolic link in a tree.
const LINK: &str = "120000";
/// Mode of a submodule in a tree.
const GITLINK: &str = "160000";
/// Files whose content git is asked for in one command.
const HASHED_AT_ONCE: usize = 256;

/// How much of a file must be as in the base commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    /// Its path: the runtime's git wrote it a moment ago, or was about to replace it.
    Path,
    /// Its bytes: the file may be what an agent wrote.
    Content,
}

/// A file of the base commit.
#[derive(Debug)]
struct TreeFile {
    mode: String,
    object: String,
}

/// Returns the reasons to keep the files of a worktree that is not ready.
pub(super) fn find_changes(
    inside: &Repository,
    record: &WorktreeRecord,
    compare: Compare,
) -> Result<Vec<KeepReason>, GitError> {
    let base = CommitId::parse(&record.base_commit)?;
    let expected = read_tree(inside, &base)?;
    let (mut changed, mut untracked) = (0, 0);
    let mut regular = Vec::new();
    for path in list_files(inside.root())? {
        let full = inside.root().join(&path);
        let kind = full.symlink_metadata().map_err(at("look at", &full))?;
        match expected.get(&path) {
            None => untracked += 1,
            Some(_) if compare == Compare::Path => {}
            Some(file) if kind.is_symlink() && file.mode == LINK => {
                let target = fs::read_link(&full).map_err(at("read", &full))?;
                let stored = read_blob(inside, file)?;
                changed += u64::from(target.as_os_str().as_bytes() != stored);
            }
            Some(file) if kind.is_file() && file.mode != LINK && file.mode != GITLINK => {
                regular.push((path, file));
            }
            Some(_) => changed += 1,
        }
    }
    for some in regular.chunks(HASHED_AT_ONCE) {
        changed += count_changed(inside, some)?;
    }
    let mut reasons = Vec::new();
    if changed > 0 {
        reasons.push(KeepReason::TrackedChanges { files: changed });
    }
    if untracked > 0 {
        reasons.push(KeepReason::UntrackedFiles { files: untracked });
    }
    Ok(reasons)
}

/// Reads the files of a commit by their paths.
fn read_tree(
    inside: &Repository,
    base: &CommitId,
) -> Result<BTreeMap<PathBuf, TreeFile>, GitError> {
    let printed = inside.read(&["ls-tree", "-r", "-z", "--full-tree", base.as_str()])?;
    let entries = printed.split(|byte| *byte == 0);
    // An entry is `<mode> <type> <object>\t<path>`.
    let files = entries.filter_map(|entry| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = entry.split_at(tab);
        let mut words = std::str::from_utf8(head).ok()?.split(' ');
        let (mode, object) = (words.next()?.to_owned(), words.nth(1)?.to_owned());
        let path = OsString::from_vec(path.get(1..)?.to_vec());
        Some((PathBuf::from(path), TreeFile { mode, object }))
    });
    Ok(files.collect())
}

/// Lists what is in a directory and its directories, except its pointer to the repository. Empty directories hold
/// nothing.
fn list_files(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let (mut files, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(dir) = open.pop() {
        let full = root.join(&dir);
        for entry in fs::read_dir(&full).map_err(at("list", &full))? {
            let entry = entry.map_err(at("list", &full))?;
            let path = dir.join(entry.file_name());
            if entry.file_type().map_err(at("look at", &full))?.is_dir() {
                open.push(path);
            } else if path != Path::new(".git") {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// Counts the regular files that are neither the ones of the commit nor their beginnings.
fn count_changed(inside: &Repository, files: &[(PathBuf, &TreeFile)]) -> Result<u64, GitError> {
    let mut args: Vec<&OsStr> = vec!["hash-object".as_ref(), "--".as_ref()];
    args.extend(files.iter().map(|(path, _)| path.as_os_str()));
    let printed = inside.read_os(&args)?;
    let printed = String::from_utf8_lossy(&printed);
    let hashes: Vec<&str> = printed.lines().collect();
    let mut changed = 0;
    for (number, (path, file)) in files.iter().enumerate() {
        let is_same = hashes.get(number).is_some_and(|hash| *hash == file.object);
        changed += u64::from(!is_same && !is_beginning(inside, path, file)?);
    }
    Ok(changed)
}

/// Returns true if a file is the beginning of the one in the commit: git was ended while it wrote it. Larger files than
/// one output of git, and files that cannot be read, count as changed.
fn is_beginning(inside: &Repository, path: &Path, file: &TreeFile) -> Result<bool, GitError> {
    let full = inside.root().join(path);
    let Ok(Some(found)) = plain_file::read(&full, GIT_OUTPUT_BYTES as u64) else {
        return Ok(false);
    };
    match read_blob(inside, file) {
        Ok(stored) => Ok(stored.starts_with(&found)),
        Err(GitError::TooMuchOutput { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn read_blob(inside: &Repository, file: &TreeFile) -> Result<Vec<u8>, GitError> {
    inside.read(&["cat-file", "blob", &file.object])
}
