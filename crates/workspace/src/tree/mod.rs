//! A tree of files that is read and changed beneath its root only, and changed all or nothing.
//!
//! Owns: which file a relative path means, that no link leads out of the root, and that a call's changes are
//! wholly there or wholly not, also when the process or the machine stops in the middle. Not here: what the
//! changes are.
//!
//! How a change is made whole: every new content is first written beside its target under a random name; then
//! each is put in place by one rename that keeps what was there under that name; only when all are in place are
//! the old contents removed. The journal, written first, says what is to be done and how far it is, so `settle`
//! can go on from any point: forward where every file is as the journal knows it, otherwise back. A call that turned
//! back says so in its journal before it takes anything back, and is never carried on after that. What somebody else has
//! written meanwhile is never overwritten.
//!
//! What replacing by rename means, as with most editors: a file with several hard links is separated from the
//! others, and extended attributes are not carried over. Mode bits are; setuid and setgid only where the owner can be
//! kept too, and never on to a new file. A program that holds the old file open goes on with the old one.

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
mod settle;
#[cfg(test)]
mod tests;
mod undo;
mod walk;

pub use error::TreeError;
pub use identity::RootIdentity;
pub use settle::{Settled, forget, settle, take_back};

use crate::root::ExecutionRoot;
use disk::{Disk, Unhindered, open_dir};
use error::at;
use path::Plain;
use plan::Plan;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// An execution root, held open: it stays the same directory whatever happens to its path.
#[derive(Debug)]
pub struct Tree {
    dir: OwnedFd,
    /// Canonical, for the journal.
    path: String,
    identity: RootIdentity,
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its bytes.
    pub content: Vec<u8>,
    /// Its permissions: read, write and execute.
    pub mode: u32,
}

/// One file's change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    /// Relative to the root, plain components only.
    pub path: String,
    /// What must be there now; `None`: nothing.
    pub before: Option<Vec<u8>>,
    /// What is to be there; `None`: nothing.
    pub after: Option<After>,
}

/// A file as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    /// Its bytes.
    pub content: Vec<u8>,
    /// Its permissions; `None` keeps those of the file that is replaced, or takes what the system gives to a new
    /// one. Only read, write and execute count.
    pub mode: Option<u32>,
}

/// A file or directory that is not as it was before a change that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The path, relative to the root. What stands there is somebody else's and was not touched.
    pub path: String,
    /// Where its former content is kept, when it could not be put back; relative to the root.
    pub kept: Option<String>,
}

impl Tree {
    /// Opens the directory at an absolute path.
    ///
    /// # Errors
    /// When there is no such directory, or the kernel cannot resolve paths beneath one.
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
            // Old sandboxes answer an unknown call with a refusal.
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
        })
    }

    /// Opens the directory at an absolute path, if it still leads to `canonical` and is still the directory it was.
    ///
    /// # Errors
    /// [`TreeError::Replaced`] when it is not, otherwise as [`Tree::open`].
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

    /// Opens the root of a plan again. A plan from before identities were kept is taken by its path.
    fn reopen(plan: &Plan) -> Result<Self, TreeError> {
        let root = Path::new(&plan.root);
        match &plan.root_identity {
            Some(identity) => Self::open_same(root, root, identity),
            None => Self::open(root),
        }
    }

    /// The root's canonical path.
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// Which directory the root is.
    pub(crate) const fn identity(&self) -> &RootIdentity {
        &self.identity
    }

    /// Reads a regular file; `None` when there is nothing at the path.
    ///
    /// # Errors
    /// When the path leads out or is refused, when it is no regular file (a link as the last component is none),
    /// when it is larger than `max_bytes`, or when the system refuses.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Option<Found>, TreeError> {
        let plain = Plain::parse(path)?;
        let walked = walk::walk(self.dir.as_fd(), plain)?;
        if !walked.missing.is_empty() {
            return Ok(None);
        }
        let dir = walked.dir.as_ref().unwrap_or(&self.dir);
        let found =
            file::read(dir, plain.name, max_bytes).map_err(|unread| unread.on(path, max_bytes))?;
        Ok(found.map(|found| Found {
            mode: file::permissions(&found.stat),
            content: found.content,
        }))
    }

    /// Makes all changes or none, also over a crash at any point; `journal` is a file in an existing directory
    /// outside the reach of the changes, one per call.
    ///
    /// Missing parent directories are made; those a deletion empties stay. After `Ok` the journal stays too, so
    /// that `settle` can still say `Done` when the caller stops before noting its success; [`forget`] removes it.
    /// After an error other than [`TreeError::Unsettled`] there is no journal of this call.
    ///
    /// # Errors
    /// When a path is refused, a file is not as `before` says, or the system refuses; everything is then as it
    /// was, except after [`TreeError::Unsettled`].
    pub fn replace(&self, changes: &[Replace], journal: &Path) -> Result<(), TreeError> {
        replace::replace(Disk::new(&Unhindered), self, changes, journal)
    }

    /// A second descriptor of the root.
    fn root(&self) -> Result<OwnedFd, TreeError> {
        self.dir
            .try_clone()
            .map_err(|error| at("open", &self.path)(disk::number(&error)))
    }
}
