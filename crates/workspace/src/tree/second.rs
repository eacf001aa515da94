//! The second root of a tree, whose files are named by absolute paths.
//!
//! In a plan and in the directories that are held open, a path beneath it begins with the root's own path as the first
//! component. No component of another path contains a slash, so the two cannot be confused, and joined components are the
//! absolute path of the file.

use super::error::TreeError;
use super::path::PlainPath;
use super::plan::Dirs;
use super::{RootIdentity, Tree};
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, BorrowedFd};

/// A second root that is held open.
#[derive(Debug)]
pub(super) struct SecondRoot {
    tree: Tree,
    /// Path of the root as callers write it.
    spelled: String,
}

/// The second root as a plan stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlannedRoot {
    pub(super) path: String,
    pub(super) identity: RootIdentity,
}

/// A root of a tree, with the first component of the paths beneath it in a plan; the first root has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootOfPath<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) mark: Option<&'a str>,
}

impl Tree {
    /// Adds a second root. Absolute paths that begin with `spelled` lie beneath it.
    #[must_use]
    pub fn beside(self, second: Self, spelled: &str) -> Self {
        let second = SecondRoot {
            tree: second,
            spelled: spelled.trim_end_matches('/').to_owned(),
        };
        Self {
            second: Some(Box::new(second)),
            ..self
        }
    }

    /// Finds the root of a path, and the path beneath it.
    pub(super) fn locate<'p>(&self, path: &'p str) -> Result<(&Self, PlainPath<'p>), TreeError> {
        if !path.starts_with('/') {
            return Ok((self, PlainPath::parse(path)?));
        }
        let below = |second: &SecondRoot| {
            let rest = path.strip_prefix(second.spelled.as_str());
            rest.and_then(|rest| rest.strip_prefix('/'))
        };
        let second = self.second.as_deref();
        let found = second.and_then(|second| Some((&second.tree, below(second)?)));
        let (tree, below) = found.ok_or_else(|| TreeError::Escape {
            path: path.to_owned(),
        })?;
        Ok((tree, PlainPath::parse_below(path, below)?))
    }

    /// Returns the root of a path for a plan.
    pub(super) fn root_of(&self, path: &str) -> RootOfPath<'_> {
        let second = self.second.as_deref().filter(|_| path.starts_with('/'));
        match second {
            Some(second) => RootOfPath {
                dir: second.tree.dir.as_fd(),
                mark: Some(second.tree.path.as_str()),
            },
            None => RootOfPath {
                dir: self.dir.as_fd(),
                mark: None,
            },
        }
    }

    /// Returns the second root for a plan.
    pub(super) fn planned_second(&self) -> Option<PlannedRoot> {
        let second = self.second.as_deref()?;
        Some(PlannedRoot {
            path: second.tree.path.clone(),
            identity: second.tree.identity.clone(),
        })
    }

    /// Holds the roots open for a plan.
    pub(super) fn dirs(&self) -> Result<Dirs, TreeError> {
        let mut dirs = Dirs::new(self.root()?);
        if let Some(second) = self.second.as_deref() {
            dirs.hold(vec![second.tree.path.clone()], second.tree.root()?);
        }
        Ok(dirs)
    }
}

/// Returns the components of a planned path beneath its root.
pub(super) fn beneath<'a>(path: &'a [String], second: Option<&PlannedRoot>) -> &'a [String] {
    match (path.split_first(), second) {
        (Some((first, rest)), Some(second)) if *first == second.path => rest,
        _ => path,
    }
}
