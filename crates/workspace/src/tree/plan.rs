//! What one call is to change, as the journal keeps it, and the directories it is done in.

use super::disk::open_dir;
use super::file::{Image, Seen, see};
use super::path::join;
use super::{Left, RootIdentity};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One call's changes. Paths are free of links, so going there again follows none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Format of the journal.
    pub(super) version: u32,
    /// The tree's canonical path.
    pub(super) root: String,
    /// Which directory that was; absent in journals of hosts that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root_identity: Option<RootIdentity>,
    /// Directories to be made, parents before children.
    pub(super) made: Vec<Vec<String>>,
    /// The files, each once.
    pub(super) changes: Vec<Change>,
}

impl Plan {
    /// Every file of the plan, for when nothing is known about any of them.
    pub(super) fn left(&self) -> Vec<Left> {
        let left = |change: &Change| Left {
            path: change.path(),
            kept: None,
        };
        self.changes.iter().map(left).collect()
    }
}

/// One file's change.
///
/// `side` is a random name in the same directory. It first holds what is to come and, once the change is applied,
/// what was there before, so that every change can be taken back until the call is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) dir: Vec<String>,
    pub(super) name: String,
    pub(super) side: String,
    pub(super) deed: Deed,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Deed {
    /// The side and the file are exchanged.
    Rewrite { before: Image, after: Image },
    /// The side is renamed to the file's free name.
    Add { after: Image },
    /// The file is renamed to the side's free name.
    Delete { before: Image },
}

/// What stands where a change is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    pub(super) target: Seen,
    pub(super) side: Seen,
}

impl Change {
    pub(super) fn path(&self) -> String {
        join(&self.dir, &self.name)
    }

    pub(super) fn side_path(&self) -> String {
        join(&self.dir, &self.side)
    }

    pub(super) fn look(&self, dir: BorrowedFd<'_>) -> Result<View, Errno> {
        Ok(View {
            target: self.see(dir, &self.name)?,
            side: self.see(dir, &self.side)?,
        })
    }

    pub(super) fn see(&self, dir: BorrowedFd<'_>, name: &str) -> Result<Seen, Errno> {
        let (before, after) = match &self.deed {
            Deed::Rewrite { before, after } => (Some(before), Some(after)),
            Deed::Add { after } => (None, Some(after)),
            Deed::Delete { before } => (Some(before), None),
        };
        see(dir, name, before, after)
    }
}

/// Directories held open, by their path from the root.
#[derive(Debug)]
pub(super) struct Dirs {
    root: OwnedFd,
    held: BTreeMap<Vec<String>, OwnedFd>,
}

impl Dirs {
    pub(super) fn new(root: OwnedFd) -> Self {
        let held = BTreeMap::new();
        Self { root, held }
    }

    /// Keeps a directory; one already kept for the path stays.
    pub(super) fn hold(&mut self, path: Vec<String>, dir: OwnedFd) {
        self.held.entry(path).or_insert(dir);
    }

    /// The directory, if it is held.
    pub(super) fn held(&self, path: &[String]) -> Option<BorrowedFd<'_>> {
        if path.is_empty() {
            return Some(self.root.as_fd());
        }
        self.held.get(path).map(AsFd::as_fd)
    }

    /// The directory, opened from the root without following a link when it is not held; `None` when there is no
    /// such directory any more.
    pub(super) fn find(&mut self, path: &[String]) -> Result<Option<BorrowedFd<'_>>, Errno> {
        if !path.is_empty() && !self.held.contains_key(path) {
            let Some(dir) = self.descend(path)? else {
                return Ok(None);
            };
            self.hold(path.to_vec(), dir);
        }
        Ok(self.held(path))
    }

    fn descend(&self, path: &[String]) -> Result<Option<OwnedFd>, Errno> {
        let mut here: Option<OwnedFd> = None;
        for name in path {
            let from = here.as_ref().unwrap_or(&self.root);
            match open_dir(from, name) {
                Ok(dir) => here = Some(dir),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
        Ok(here)
    }
}
