//! Copies a tree of regular files into a fresh directory, within bounds.
//!
//! Every entry is opened beneath its directory, and no link is followed. Links, pipes, sockets and devices, names that
//! are not plain UTF-8 and names that differ only in case end the copy with an error. The copy gets plain permissions:
//! the execute bit of the owner is kept, everything else is not.

use super::error::SkillError;
use crate::error::at;
use holon_domain::limits::{INSTALL_BYTES, INSTALL_DEPTH, INSTALL_FILES};
use holon_domain::text::is_display_control;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, fsync, mkdirat, openat};
use rustix::io::{Errno, retry_on_intr};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Directories that are never part of a skill.
const LEFT_OUT: [&str; 1] = [".git"];
/// Directory in which Python keeps the compiled form of scripts that ran.
const PYTHON_CACHE: &str = "__pycache__";
/// End of the names of such files elsewhere.
const PYTHON_CACHE_FILE: &str = ".pyc";

/// Treatment of the caches that running a script leaves in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Caches {
    /// They are no part of the skill: running it is no change of it.
    #[default]
    LeftOut,
    /// As older builds did, which copied those of the source.
    Counted,
}

impl Caches {
    fn leave_out(self, name: &str) -> bool {
        self == Self::LeftOut && (name == PYTHON_CACHE || name.ends_with(PYTHON_CACHE_FILE))
    }
}

/// A copy in progress.
#[derive(Debug, Default)]
struct Copy {
    files: usize,
    bytes: u64,
    /// Over the relative path, the execute bit and the content of every file, in the order of paths.
    hash: Sha256,
    caches: Caches,
}

/// Copies `from` into the directory `to`, which must not exist, and syncs it. Returns the SHA-256 of the tree in hex.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<String, SkillError> {
    let source = open_root(from).map_err(io_at("open", from))?;
    let mut copy = Copy::default();
    copy.directory(&source, from, Some(&make_dir(to)?), &Place::root(to))?;
    Ok(copy.finish())
}

/// Computes the hash that a copy of this tree would have.
pub(super) fn hash_tree(from: &Path, caches: Caches) -> Result<String, SkillError> {
    let source = open_root(from).map_err(io_at("open", from))?;
    let mut copy = Copy {
        caches,
        ..Copy::default()
    };
    copy.directory(&source, from, None, &Place::root(from))?;
    Ok(copy.finish())
}

/// Place of a directory in the copy.
#[derive(Debug, Clone)]
struct Place {
    to: PathBuf,
    /// Path from the root of the tree; empty for the root itself.
    relative: String,
    depth: usize,
}

impl Place {
    fn root(to: &Path) -> Self {
        Self {
            to: to.to_owned(),
            relative: String::new(),
            depth: 0,
        }
    }

    fn child(&self, name: &str) -> Self {
        let relative = match self.relative.as_str() {
            "" => name.to_owned(),
            parent => format!("{parent}/{name}"),
        };
        Self {
            to: self.to.join(name),
            relative,
            depth: self.depth + 1,
        }
    }
}

fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))
}

fn open_entry(dir: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| openat(dir, name, flags, Mode::empty()))
}

fn make_dir(path: &Path) -> Result<OwnedFd, SkillError> {
    mkdirat(CWD, path, Mode::from_raw_mode(0o700)).map_err(io_at("create", path))?;
    open_root(path).map_err(io_at("open", path))
}

fn io_at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(Errno) -> SkillError + 'a {
    move |errno| at(action, path)(errno.into()).into()
}

/// An entry of a directory that may be copied.
enum Entry {
    Directory(OwnedFd),
    File { file: File, is_executable: bool },
}

impl Copy {
    fn finish(self) -> String {
        let digest = self.hash.finalize();
        digest.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            write!(hex, "{byte:02x}").ok();
            hex
        })
    }

    /// Reads a directory, and copies it if there is a target.
    fn directory(
        &mut self,
        source: &OwnedFd,
        from: &Path,
        target: Option<&OwnedFd>,
        place: &Place,
    ) -> Result<(), SkillError> {
        for name in names(source, from, place.depth)? {
            if self.caches.leave_out(&name) {
                continue;
            }
            let (from, child) = (from.join(&name), place.child(&name));
            match self.enter(source, &name, &from)? {
                Entry::Directory(inner) => {
                    let copied = target.map(|_| make_dir(&child.to)).transpose()?;
                    self.directory(&inner, &from, copied.as_ref(), &child)?;
                }
                Entry::File {
                    file,
                    is_executable,
                } => {
                    let content = self.read(file, &from, &child.relative, is_executable)?;
                    if let Some(target) = target {
                        let written = write(target, &name, &content, is_executable);
                        written.map_err(at("write", &child.to))?;
                        holon_fault::hit("skill.file");
                    }
                }
            }
        }
        match target {
            Some(target) => fsync(target).map_err(io_at("sync", &place.to)),
            None => Ok(()),
        }
    }

    /// Opens an entry and counts it.
    fn enter(&mut self, dir: &OwnedFd, name: &str, path: &Path) -> Result<Entry, SkillError> {
        let refuse = |reason| SkillError::Refused {
            path: path.to_owned(),
            reason,
        };
        self.files += 1;
        if self.files > INSTALL_FILES {
            return Err(too_large(path));
        }
        let opened = match open_entry(dir, name) {
            Err(Errno::LOOP) => return Err(refuse("it is a symbolic link")),
            Err(Errno::NXIO) => return Err(refuse("it is a pipe, a socket or a device")),
            opened => opened.map_err(io_at("open", path))?,
        };
        let found = fstat(&opened).map_err(io_at("look at", path))?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Ok(Entry::Directory(opened)),
            FileType::RegularFile => Ok(Entry::File {
                file: File::from(opened),
                is_executable: found.st_mode & 0o100 != 0,
            }),
            _ => Err(refuse("it is a pipe, a socket or a device")),
        }
    }

    fn read(
        &mut self,
        file: File,
        path: &Path,
        relative: &str,
        is_executable: bool,
    ) -> Result<Vec<u8>, SkillError> {
        let left = INSTALL_BYTES - self.bytes;
        let size = file.metadata().map_err(at("look at", path))?.len();
        if size > left {
            return Err(too_large(path));
        }
        let mut content = Vec::new();
        file.take(left + 1)
            .read_to_end(&mut content)
            .map_err(at("read", path))?;
        let size = content.len() as u64;
        if size > left {
            return Err(too_large(path));
        }
        self.bytes += size;
        for part in [relative.as_bytes(), &[u8::from(is_executable)], &content] {
            self.hash.update((part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
        Ok(content)
    }
}

fn too_large(path: &Path) -> SkillError {
    SkillError::TooLarge {
        path: path.to_owned(),
    }
}

/// Lists the entries of a directory, sorted, and refuses names that mean something else elsewhere.
fn names(dir: &OwnedFd, path: &Path, depth: usize) -> Result<Vec<String>, SkillError> {
    if depth > INSTALL_DEPTH {
        return Err(too_large(path));
    }
    let io = |errno: Errno| SkillError::from(at("list", path)(errno.into()));
    let refuse = |path: PathBuf, reason| SkillError::Refused { path, reason };
    let (mut names, mut folded) = (Vec::new(), BTreeSet::new());
    for entry in Dir::read_from(dir).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = match entry.file_name().to_str() {
            Ok("." | "..") => continue,
            Ok(name) if name == super::RECORD || LEFT_OUT.contains(&name) => continue,
            Ok(name) => name,
            Err(_) => return Err(refuse(path.to_owned(), "a name in it is not UTF-8")),
        };
        if name.chars().any(|c| is_display_control(c) || c == '\\') {
            let reason = "a name in it has a character that cannot be shown";
            return Err(refuse(path.to_owned(), reason));
        }
        if !folded.insert(name.to_lowercase()) {
            return Err(refuse(path.join(name), "another name differs only in case"));
        }
        names.push(name.to_owned());
        if names.len() > INSTALL_FILES {
            return Err(too_large(path));
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn write(dir: &OwnedFd, name: &str, content: &[u8], is_executable: bool) -> io::Result<()> {
    let mode = if is_executable { 0o700 } else { 0o600 };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = retry_on_intr(|| openat(dir, name, flags, Mode::from_raw_mode(mode)))?;
    let mut file = File::from(file);
    file.write_all(content)?;
    file.sync_all()
}
