//! Agent homes: created on first use, completely or not at all, and removed without following links.
//!
//! An agent that has done nothing has no home on disk, unless a template made it. A home is built under a temporary
//! name, synced and renamed into place, so no reader sees half of it; each other folder is created by the first writer
//! that needs it. Both operations may be interrupted at any point and run again. A lock per home serialises them, so a
//! home that was requested before its agent was removed is not created afterwards.

use crate::error::{Error, at};
use crate::scratch::{self, Purpose};
use holon_domain::AgentId;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Directory of the memory files, which every home has.
const MEMORY: &str = "memory";

/// Memory files of a new home and their initial content.
const MEMORY_FILES: [(&str, &str); 2] = [
    ("memory/self.md", include_str!("../assets/memory-self.md")),
    (
        "memory/operator.md",
        include_str!("../assets/memory-operator.md"),
    ),
];

/// Returns true for the content that a memory file of a new home has.
pub(crate) fn is_initial_memory(content: &str) -> bool {
    MEMORY_FILES.iter().any(|(_, initial)| *initial == content)
}

/// The instruction file of a home.
pub(crate) const AGENTS_MD: &str = "AGENTS.md";
/// The part of it that explains the home; every home has it.
const HOME_GUIDANCE: &str = include_str!("../assets/home-guidance.md");
/// Title of the text that an operator gave for a new agent.
const SEED_TITLE: &str = "## From your operator";

/// Number of locks, and so of homes that can be created or removed at once.
const GATES: usize = 64;
static GATE: [Mutex<()>; GATES] = [const { Mutex::new(()) }; GATES];

/// Locks a home. Two homes may share a lock.
pub(crate) fn lock_home(home: &Path) -> MutexGuard<'static, ()> {
    let mut hasher = DefaultHasher::new();
    home.hash(&mut hasher);
    let number = usize::try_from(hasher.finish() % GATES as u64).unwrap_or_default();
    let gate = GATE.get(number).unwrap_or(&GATE[0]);
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that a home exists or can be created.
///
/// # Errors
/// Fails if something that is not a directory is in the way, or the filesystem refuses.
pub fn check_home(home: &Path) -> Result<(), Error> {
    exists(home).map(drop)
}

/// Creates the agent's home if there is none, unless `is_wanted` returns false once the lock is held. An existing home
/// is left unchanged.
///
/// # Errors
/// Fails if something that is not a directory is in the way, or the filesystem refuses.
pub fn make_home(home: &Path, is_wanted: impl FnOnce() -> bool) -> Result<(), Error> {
    if exists(home)? {
        return Ok(());
    }
    let _alone = lock_home(home);
    if exists(home)? || !is_wanted() {
        return Ok(());
    }
    let agents_md = initial_agents_md(crate::template::DEFAULT.agents_md, None);
    place_home(home, |new| build(new, &agents_md))
}

/// Renders the first `AGENTS.md` of a home: the template, the explanation of the home, and the operator's own text.
pub(crate) fn initial_agents_md(template: &str, seed: Option<&str>) -> String {
    let mut text = format!("{}\n\n{HOME_GUIDANCE}", template.trim_end());
    if let Some(seed) = seed {
        text.push_str(&format!("\n{SEED_TITLE}\n\n{}\n", seed.trim()));
    }
    text
}

/// Builds a home under a temporary name and puts it in place. The caller holds the lock. An error leaves nothing.
pub(crate) fn place_home<E: From<Error>>(
    home: &Path,
    build: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let (agents_dir, name) = split_home(home)?;
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(agents_dir);
    made.map_err(at("create", agents_dir))?;
    scratch::sweep(agents_dir, name)?;
    let new = scratch::path(agents_dir, name, Purpose::New)?;
    if let Err(error) = build(&new) {
        scratch::remove_tree(&new)?;
        return Err(error);
    }
    match put_in_place(&new, home) {
        Ok(()) => {}
        // Another process created the home first, and it is complete too.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            scratch::remove_tree(&new)?;
            exists(home)?;
        }
        Err(error) => return Err(at("create", home)(error).into()),
    }
    Ok(sync(agents_dir)?)
}

/// Creates the home if there is none, and its `AGENTS.md` if that is missing. Nothing that exists is changed, also if it
/// is not a regular file.
///
/// # Errors
/// Fails if something that is not a directory is in the place of the home, or the filesystem refuses.
pub fn ensure_guide(home: &Path) -> Result<(), Error> {
    make_home(home, || true)?;
    let guide = home.join(AGENTS_MD);
    match fs::symlink_metadata(&guide) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at("look at", &guide)(error)),
    }
    let new = scratch::path(home, AGENTS_MD, Purpose::New)?;
    write(
        &new,
        &initial_agents_md(crate::template::DEFAULT.agents_md, None),
    )?;
    match put_in_place(&new, &guide) {
        Ok(()) => sync(home),
        // The agent wrote one meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => scratch::remove_tree(&new),
        Err(error) => Err(at("create", &guide)(error)),
    }
}

/// Splits a home into its directory and its name.
fn split_home(home: &Path) -> Result<(&Path, &str), Error> {
    let name = home.file_name().and_then(|name| name.to_str());
    let parts = home.parent().zip(name);
    parts.ok_or_else(|| Error::NotUtf8 {
        what: "agent home",
        path: home.to_owned(),
    })
}

/// Removes the agent's home. Idempotent.
///
/// # Errors
/// Fails if the filesystem refuses. The rest then has a temporary name, and the next attempt continues with it.
pub fn remove_home(agents_dir: &Path, agent_id: &AgentId) -> Result<(), Error> {
    let home = agents_dir.join(agent_id.as_str());
    move_away(
        &home,
        &scratch::path(agents_dir, agent_id.as_str(), Purpose::Gone)?,
    )?;
    scratch::sweep(agents_dir, agent_id.as_str())
}

fn move_away(home: &Path, gone: &Path) -> Result<(), Error> {
    let _alone = lock_home(home);
    match fs::rename(home, gone) {
        Ok(()) => sync(home.parent().unwrap_or(home)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(at("remove", home)(error)),
    }
}

pub(crate) fn exists(home: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(home) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(Error::HomeBlocked {
            path: home.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(at("look at", home)(error)),
    }
}

/// Creates the directory of a new home with the files that every home has.
pub(crate) fn build(new: &Path, agents_md: &str) -> Result<(), Error> {
    make_dir(new)?;
    make_dir(&new.join(MEMORY))?;
    write(&new.join(AGENTS_MD), agents_md)?;
    holon_fault::hit("home.written");
    for (name, content) in MEMORY_FILES {
        write(&new.join(name), content)?;
        holon_fault::hit("home.written");
    }
    sync(&new.join(MEMORY))?;
    sync(new)
}

pub(crate) fn make_dir(path: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.map_err(at("create", path))
}

pub(crate) fn write(path: &Path, content: &str) -> Result<(), Error> {
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

pub(crate) fn sync(directory: &Path) -> Result<(), Error> {
    File::open(directory)
        .and_then(|dir| dir.sync_all())
        .map_err(at("sync", directory))
}

/// Renames a directory to a place where nothing is.
pub(crate) fn put_in_place(new: &Path, home: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, home, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some filesystems do not support the flag. A plain rename replaces at most an empty directory.
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
