//! Resolves a relative path to the directory that holds its last name, one component at a time.
//!
//! Every component is opened relative to the descriptor of the one before, and the kernel follows no link. Links that
//! stay inside the root are resolved here: `..` returns to a descriptor that is already held, so a concurrent move of
//! directories cannot redirect it, and every name in a link is checked like one of the caller. The last name itself is
//! never followed.

use super::disk::open_dir;
use super::error::{TreeError, at};
use super::path::{PlainPath, is_reserved};
use rustix::fs::{AtFlags, FileType, readlinkat, statat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Links followed, and retries after concurrent changes, on one path; as many as the kernel allows.
const MAX_HOPS: usize = 40;

/// Result of a walk.
#[derive(Debug)]
pub(super) struct WalkResult {
    /// The deepest existing directory; `None` is the root.
    pub(super) dir: Option<OwnedFd>,
    /// Its components from the root, free of links.
    pub(super) there: Vec<String>,
    /// Directories below it that do not exist yet.
    pub(super) missing: Vec<String>,
}

struct Walk<'a> {
    root: BorrowedFd<'a>,
    path: &'a str,
    held: Vec<(String, OwnedFd)>,
    missing: Vec<String>,
    todo: VecDeque<String>,
    /// Number of names at the front of `todo` that came from a link.
    from_link: usize,
    hops: usize,
}

/// Walks to the directory of a path's last component.
pub(super) fn walk(root: BorrowedFd<'_>, path: PlainPath<'_>) -> Result<WalkResult, TreeError> {
    let mut walk = Walk {
        root,
        path: path.whole,
        held: Vec::new(),
        missing: Vec::new(),
        todo: path.parents().map(str::to_owned).collect(),
        from_link: 0,
        hops: 0,
    };
    while let Some(name) = walk.todo.pop_front() {
        let linked = walk.from_link > 0;
        walk.from_link = walk.from_link.saturating_sub(1);
        walk.step(name, linked)?;
    }
    let there = walk.held.iter().map(|(name, _)| name.clone()).collect();
    Ok(WalkResult {
        dir: walk.held.pop().map(|(_, dir)| dir),
        there,
        missing: walk.missing,
    })
}

impl Walk<'_> {
    fn step(&mut self, name: String, linked: bool) -> Result<(), TreeError> {
        if name.is_empty() || name == "." {
            return Ok(());
        }
        if name == ".." {
            return match self.held.pop() {
                Some(_) => Ok(()),
                None => Err(self.escape()),
            };
        }
        if is_reserved(&name) {
            return Err(TreeError::Refused {
                path: self.path.to_owned(),
                why: "a link on the way leads into `.git` or `.holon`",
            });
        }
        if !self.missing.is_empty() {
            self.missing.push(name);
            return Ok(());
        }
        match open_dir(self.here(), &name) {
            Ok(dir) => self.held.push((name, dir)),
            // Directories are created where the caller asked for them, not where a dangling link points.
            Err(Errno::NOENT) if linked => {
                return Err(TreeError::Missing {
                    path: self.path.to_owned(),
                });
            }
            Err(Errno::NOENT) => self.missing.push(name),
            Err(Errno::LOOP | Errno::NOTDIR) => self.follow(&name, linked)?,
            Err(Errno::XDEV) => return Err(self.escape()),
            Err(errno) => return Err(at("open the parent of", self.path)(errno)),
        }
        Ok(())
    }

    /// Replaces a link's name by its target.
    fn follow(&mut self, name: &str, linked: bool) -> Result<(), TreeError> {
        self.hops += 1;
        if self.hops > MAX_HOPS {
            return Err(self.not_a_directory());
        }
        let target = match readlinkat(self.here(), name, Vec::new()) {
            Ok(target) => target,
            // Not a link: a file, unless a directory has taken its place since.
            Err(Errno::INVAL) if self.is_directory(name) => {
                self.todo.push_front(name.to_owned());
                self.from_link += usize::from(linked);
                return Ok(());
            }
            Err(Errno::INVAL) => return Err(self.not_a_directory()),
            Err(errno) => return Err(at("read a link on the way to", self.path)(errno)),
        };
        let Ok(target) = target.into_string() else {
            return Err(self.not_a_directory());
        };
        if target.starts_with('/') {
            return Err(self.escape());
        }
        for part in target.split('/').rev() {
            self.todo.push_front(part.to_owned());
            self.from_link += 1;
        }
        Ok(())
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.held.last().map_or(self.root, |(_, dir)| dir.as_fd())
    }

    fn is_directory(&self, name: &str) -> bool {
        statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    fn escape(&self) -> TreeError {
        TreeError::Escape {
            path: self.path.to_owned(),
        }
    }

    fn not_a_directory(&self) -> TreeError {
        TreeError::NotADirectory {
            path: self.path.to_owned(),
        }
    }
}
