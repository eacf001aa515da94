//! Agent homes: made whole or not at all, removed without following a link.
//!
//! A home is built under a temporary name, written to disk and renamed into place, so whoever sees it sees all
//! of it. Both operations may be interrupted at any point and run again; for one agent they run one at a time,
//! since each clears away what earlier attempts left.

use crate::error::{Error, at};
use crate::scratch::{self, Purpose};
use holon_domain::AgentId;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Directories of a home, parents before children.
const DIRECTORIES: [&str; 11] = [
    "memory",
    "notes",
    "work",
    "skills",
    "task-output",
    "tool-artifacts",
    ".holon",
    ".holon/state",
    ".holon/ledger",
    ".holon/indexes",
    ".holon/cache",
];

/// Files of a home and what they start with.
const FILES: [(&str, &str); 3] = [
    ("AGENTS.md", include_str!("../assets/agent-home.md")),
    ("memory/self.md", include_str!("../assets/memory-self.md")),
    (
        "memory/operator.md",
        include_str!("../assets/memory-operator.md"),
    ),
];

/// Makes the agent's home under `agents_dir` and returns its path. An existing home is left as it is.
///
/// # Errors
/// When something that is no directory is in the way, or the filesystem refuses.
pub fn prepare_home(agents_dir: &Path, agent_id: &AgentId) -> Result<PathBuf, Error> {
    let home = agents_dir.join(agent_id.as_str());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(agents_dir)
        .map_err(at("create", agents_dir))?;
    scratch::sweep(agents_dir, agent_id)?;
    if exists(&home)? {
        // It may have been renamed into place by an attempt that was cut off before this.
        sync(agents_dir)?;
        return Ok(home);
    }
    let new = scratch::path(agents_dir, agent_id, Purpose::New)?;
    build(&new)?;
    match put_in_place(&new, &home) {
        Ok(()) => {}
        // Somebody else was faster, and theirs is whole too.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            scratch::remove_tree(&new)?;
            exists(&home)?;
        }
        Err(error) => return Err(at("create", &home)(error)),
    }
    sync(agents_dir)?;
    Ok(home)
}

/// Removes the agent's home. Harmless when there is none.
///
/// # Errors
/// When the filesystem refuses; what is left then has a temporary name, and the next attempt goes on with it.
pub fn remove_home(agents_dir: &Path, agent_id: &AgentId) -> Result<(), Error> {
    let home = agents_dir.join(agent_id.as_str());
    let gone = scratch::path(agents_dir, agent_id, Purpose::Gone)?;
    match fs::rename(&home, &gone) {
        Ok(()) => sync(agents_dir)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at("remove", &home)(error)),
    }
    scratch::sweep(agents_dir, agent_id)
}

fn exists(home: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(home) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(Error::HomeBlocked {
            path: home.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(at("look at", home)(error)),
    }
}

fn build(new: &Path) -> Result<(), Error> {
    let directory = |path: &Path| {
        DirBuilder::new()
            .mode(0o700)
            .create(path)
            .map_err(at("create", path))
    };
    directory(new)?;
    for name in DIRECTORIES {
        directory(&new.join(name))?;
    }
    for (name, content) in FILES {
        write(&new.join(name), content)?;
    }
    for name in DIRECTORIES {
        sync(&new.join(name))?;
    }
    sync(new)
}

fn write(path: &Path, content: &str) -> Result<(), Error> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(at("create", path))?;
    file.write_all(content.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(at("write", path))
}

fn sync(directory: &Path) -> Result<(), Error> {
    File::open(directory)
        .and_then(|dir| dir.sync_all())
        .map_err(at("sync", directory))
}

fn put_in_place(new: &Path, home: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, home, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some filesystems do not know the flag. A plain rename replaces at most an empty directory.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::rename(new, home).map_err(|error| match error.kind() {
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => {
                    io::Error::new(io::ErrorKind::AlreadyExists, error)
                }
                _ => error,
            })
        }
        Err(errno) => Err(errno.into()),
    }
}
