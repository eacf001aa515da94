//! A tree of files that is read and changed only beneath its root, with atomic changes of several files. A second root may
//! stand beside the first; its files are named by absolute paths and changed by the same call.
//!
//! Owns: which file a path means, that no link leads out of its root, and that the changes of a call are
//! either all made or not at all, even if the process or the machine stops in the middle.
//!
//! Protocol: every new content is first written to a side file, beside its target under a random name; then each is put
//! in place by one rename that keeps the former content under that name; only when all are in place are the former
//! contents removed. The journal is written first and records the plan and the progress, so `settle` can continue from
//! any point: forward if every file is as the journal expects, otherwise back. A call that turns back records that
//! before it undoes anything, and never goes forward again. Changes by other programs are never overwritten.
//!
//! Replacing by rename has the same effects as with most editors: a file with several hard links is separated from the
//! others, and extended attributes are not copied. Mode bits are copied; setuid and setgid only if the owner can be
//! kept too, and never to a new file. A program that has the old file open keeps the old one.

mod apply;
mod disk;
mod draft;
mod error;
mod file;
mod identity;
mod journal;
mod path;
mod plan;
mod replace;
mod second;
mod settle;
#[cfg(test)]
mod tests;
mod undo;
mod walk;

pub use error::TreeError;
pub use identity::RootIdentity;
pub use settle::{SettleOutcome, forget, settle, take_back};

use crate::root::ExecutionRoot;
use disk::{Disk, NoHook, open_dir};
use error::at;
use plan::Plan;
use rustix::io::Errno;
use second::SecondRoot;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// An execution root, held open: it stays the same directory even if its path changes.
#[derive(Debug)]
pub struct Tree {
    dir: OwnedFd,
    /// Canonical path, for the journal.
    path: String,
    identity: RootIdentity,
    /// Directory of files that are named by absolute paths. Absent if all paths are relative.
    second: Option<Box<SecondRoot>>,
}

/// Content and permissions of a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    pub content: Vec<u8>,
    /// Read, write and execute bits.
    pub mode: u32,
}

/// Requested change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the root, plain components only; or absolute and below the second root.
    pub path: String,
    /// Content that must be there now; `None` if the file must not exist.
    pub before: Option<Vec<u8>>,
    /// Content after the change; `None` deletes the file.
    pub after: Option<NewContent>,
}

/// Content and permissions of a file after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContent {
    pub content: Vec<u8>,
    /// Permissions; `None` keeps those of the replaced file, or uses the system's defaults for a new one. Only read,
    /// write and execute bits count.
    pub mode: Option<u32>,
}

/// An entry that was not restored when a change was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// Relative to the root, or absolute below the second one. Another program wrote the entry that is there now, and it was not touched.
    pub path: String,
    /// Path of the former content if it could not be restored; in the same form.
    pub kept: Option<String>,
}

impl Tree {
    /// Opens the directory at an absolute path.
    ///
    /// # Errors
    /// Fails if there is no such directory, or the kernel cannot resolve paths beneath one.
    pub fn open(root: &Path) -> Result<Self, TreeError> {
        let shown = || root.display().to_string();
        let canonical = ExecutionRoot::open(root).map_err(|error| TreeError::Io {
            action: "open the execution root",
            path: shown(),
            source: std::io::Error::other(error),
        })?;
        let path = canonical.path();
        let opened = File::open(path).and_then(|dir| Ok((RootIdentity::of(&dir)?, dir)));
        let (identity, dir) = opened.map_err(|error| at("open", &shown())(disk::number(&error)))?;
        let dir = OwnedFd::from(dir);
        match open_dir(&dir, ".") {
            Ok(_) => {}
            // Old sandboxes refuse an unknown system call instead of reporting it as missing.
            Err(Errno::NOSYS | Errno::PERM) => {
                return Err(TreeError::Unsupported {
                    what: "the kernel, or the sandbox around this process, has no openat2",
                });
            }
            Err(errno) => return Err(at("open", &shown())(errno)),
        }
        Ok(Self {
            dir,
            path: path.display().to_string(),
            identity,
            second: None,
        })
    }

    /// Opens the directory at an absolute path, if it still resolves to `canonical` and has the same identity.
    ///
    /// # Errors
    /// [`TreeError::Replaced`] if it does not, otherwise as [`Tree::open`].
    pub(crate) fn open_same(
        root: &Path,
        canonical: &Path,
        identity: &RootIdentity,
    ) -> Result<Self, TreeError> {
        let tree = Self::open(root)?;
        let found = if tree.path() != canonical {
            "its path leads over a link to another place"
        } else if tree.identity.is(identity) {
            return Ok(tree);
        } else {
            "another directory has taken its place"
        };
        Err(TreeError::Replaced {
            path: root.display().to_string(),
            found,
        })
    }

    /// Opens the root of a plan again. A plan of an earlier build has no identity and is opened by its path.
    fn reopen(plan: &Plan) -> Result<Self, TreeError> {
        let root = Path::new(&plan.root);
        let tree = match &plan.root_identity {
            Some(identity) => Self::open_same(root, root, identity),
            None => Self::open(root),
        }?;
        match &plan.second_root {
            Some(second) => {
                let root = Path::new(&second.path);
                let opened = Self::open_same(root, root, &second.identity)?;
                Ok(tree.beside(opened, &second.path))
            }
            None => Ok(tree),
        }
    }

    /// Returns the root's canonical path.
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// Returns the identity of the root directory.
    pub(crate) const fn identity(&self) -> &RootIdentity {
        &self.identity
    }

    /// Reads a regular file; `None` if there is nothing at the path.
    ///
    /// # Errors
    /// Fails if the path leads out or is not allowed, if it is not a regular file (a link as the last component is not), if it is larger than `max_bytes`, or if the system refuses.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Option<FileContent>, TreeError> {
        let (tree, plain) = self.locate(path)?;
        let walked = walk::walk(tree.dir.as_fd(), plain)?;
        if !walked.missing.is_empty() {
            return Ok(None);
        }
        let dir = walked.dir.as_ref().unwrap_or(&tree.dir);
        let found =
            file::read(dir, plain.name, max_bytes).map_err(|unread| unread.on(path, max_bytes))?;
        Ok(found.map(|found| FileContent {
            mode: file::permissions(&found.stat),
            content: found.content,
        }))
    }

    /// Opens a regular file to read it in parts; `None` if there is nothing at the path.
    ///
    /// # Errors
    /// Fails as [`Self::read`] does.
    pub fn open_file(&self, path: &str, max_bytes: u64) -> Result<Option<File>, TreeError> {
        let (tree, plain) = self.locate(path)?;
        let walked = walk::walk(tree.dir.as_fd(), plain)?;
        if !walked.missing.is_empty() {
            return Ok(None);
        }
        let dir = walked.dir.as_ref().unwrap_or(&tree.dir);
        let found = file::open_regular(dir, plain.name, max_bytes)
            .map_err(|unread| unread.on(path, max_bytes))?;
        Ok(found.map(|(file, _)| file))
    }

    /// Makes all changes or none, even if the process crashes at any point. `journal` is a file in an existing
    /// directory outside the reach of the changes, one per call.
    ///
    /// Missing parent directories are created; those a deletion empties stay. After `Ok` the journal stays too, so that
    /// `settle` still returns `Done` if the caller stops before recording its success; [`forget`] removes it. After an
    /// error other than [`TreeError::Unsettled`] there is no journal of this call.
    ///
    /// # Errors
    /// Fails if a path is not allowed, a file is not as `before` says, or the system refuses. Nothing is changed then, except after [`TreeError::Unsettled`].
    pub fn replace(&self, changes: &[FileChange], journal: &Path) -> Result<(), TreeError> {
        replace::replace(Disk::new(&NoHook), self, changes, journal)
    }

    /// Duplicates the descriptor of the root.
    fn root(&self) -> Result<OwnedFd, TreeError> {
        self.dir
            .try_clone()
            .map_err(|error| at("open", &self.path)(disk::number(&error)))
    }
}
