//! The planned changes of one call, as the journal stores them, and the directories they are made in.

use super::disk::open_dir;
use super::file::{EntryState, Image, compare_entry};
use super::path::join;
use super::second::PlannedRoot;
use super::{Leftover, RootIdentity};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The changes of one call. Paths are resolved, so opening them again follows no link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Version of the journal format.
    pub(super) version: u32,
    /// Canonical path of the tree.
    pub(super) root: String,
    /// Identity of the root; absent in journals of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root_identity: Option<RootIdentity>,
    /// Root of the paths that begin with its path. Absent if the plan has one root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) second_root: Option<PlannedRoot>,
    /// Directories to create, parents before children.
    pub(super) made: Vec<Vec<String>>,
    pub(super) changes: Vec<PlannedChange>,
}

impl Plan {
    /// Lists every file of the plan, if the state of all of them is unknown.
    pub(super) fn left(&self) -> Vec<Leftover> {
        let left = |change: &PlannedChange| Leftover {
            path: change.path(),
            kept: None,
        };
        self.changes.iter().map(left).collect()
    }
}

/// Change of one file.
///
/// `side` is a random name in the same directory. It first holds the new content and, once the change is applied, the
/// former content, so that every change can be undone until the call is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlannedChange {
    pub(super) dir: Vec<String>,
    pub(super) name: String,
    pub(super) side: String,
    pub(super) deed: Deed,
}

/// Operation on a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Deed {
    /// The side file and the target are exchanged.
    Rewrite { before: Image, after: Image },
    /// The side file is renamed to the target's free name.
    Add { after: Image },
    /// The target is renamed to the side file's free name.
    Delete { before: Image },
}

/// State of the two entries of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    pub(super) target: EntryState,
    pub(super) side: EntryState,
}

impl PlannedChange {
    pub(super) fn path(&self) -> String {
        join(&self.dir, &self.name)
    }

    pub(super) fn side_path(&self) -> String {
        join(&self.dir, &self.side)
    }

    pub(super) fn inspect(&self, dir: BorrowedFd<'_>) -> Result<View, Errno> {
        Ok(View {
            target: self.compare_entry(dir, &self.name)?,
            side: self.compare_entry(dir, &self.side)?,
        })
    }

    pub(super) fn compare_entry(
        &self,
        dir: BorrowedFd<'_>,
        name: &str,
    ) -> Result<EntryState, Errno> {
        let (before, after) = match &self.deed {
            Deed::Rewrite { before, after } => (Some(before), Some(after)),
            Deed::Add { after } => (None, Some(after)),
            Deed::Delete { before } => (Some(before), None),
        };
        compare_entry(dir, name, before, after)
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

    /// Adds a directory, unless one is already held for the path.
    pub(super) fn hold(&mut self, path: Vec<String>, dir: OwnedFd) {
        self.held.entry(path).or_insert(dir);
    }

    /// Returns the directory, if it is held.
    pub(super) fn held(&self, path: &[String]) -> Option<BorrowedFd<'_>> {
        if path.is_empty() {
            return Some(self.root.as_fd());
        }
        self.held.get(path).map(AsFd::as_fd)
    }

    /// Returns the directory; if it is not held, opens it from the root without following a link. `None` if it does not
    /// exist any more.
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
        let (mark, names) = path.split_at(path.iter().take_while(|name| is_root(name)).count());
        let Some(root) = self.held(mark) else {
            return Ok(None);
        };
        let mut here: Option<OwnedFd> = None;
        for name in names {
            let from = here.as_ref().map_or(root, AsFd::as_fd);
            match open_dir(from, name) {
                Ok(dir) => here = Some(dir),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
        Ok(here)
    }
}

/// Returns true for the component that stands for a second root.
fn is_root(name: &str) -> bool {
    name.starts_with('/')
}
