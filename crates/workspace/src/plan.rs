//! Plan files of work items: `work-items/<id>/plan.md` in an agent's home.
//!
//! The agent edits these files with its own commands, so anything may be in their place. Every step names one entry of
//! an open directory, and no link is followed. A file is written under another name, synced and renamed, so a reader
//! sees the old content or the new one.

use crate::error::{Error, at};
use crate::plain_file::{PlainFile, ReadFailure};
use holon_domain::WorkItemId;
use holon_domain::limits::PLAN_BYTES;
use holon_domain::time::Timestamp;
use holon_domain::work_item::PlanArtifact;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, fsync, mkdirat, openat, renameat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The folder of all items in an agent's home.
const FOLDER: &str = "work-items";
const PLAN: &str = "plan.md";
/// Temporary name of a plan that is being written.
const UNFINISHED: &str = ".plan.md.new";

/// Writes the plan of an item atomically and describes it. Folders are created as needed.
///
/// # Errors
/// Fails if something that is not a directory is in the way, or the filesystem refuses.
pub fn write_plan(agent_home: &Path, id: &WorkItemId, text: &str) -> Result<PlanArtifact, Error> {
    let path = path(agent_home, id);
    let io = |errno: Errno| at("write", &path)(errno.into());
    if !is_folder_name(id.as_str()) {
        return Err(io(Errno::INVAL));
    }
    let home = File::open(agent_home).map_err(at("open", agent_home))?;
    let all = make_dir(&home, FOLDER).map_err(io)?;
    let folder = make_dir(&all, id.as_str()).map_err(io)?;
    remove(&folder, UNFINISHED).map_err(io)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let file = open(&folder, UNFINISHED, flags, Mode::from_raw_mode(0o600)).map_err(io)?;
    let mut file = File::from(file);
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(at("write", &path))?;
    renameat(&folder, UNFINISHED, &folder, PLAN).map_err(io)?;
    fsync(&folder).map_err(io)?;
    let changed_at = changed_at(&file).map_err(at("look at", &path))?;
    Ok(PlanArtifact::of_content(text.as_bytes(), changed_at))
}

/// Reads the current plan of an item. Returns `None` if there is no regular file that can be read without following a
/// link. For a file above `limits::PLAN_BYTES` only the size is returned.
#[must_use]
pub fn read_plan(agent_home: &Path, id: &WorkItemId) -> Option<PlanArtifact> {
    let folder = folder(agent_home, id).ok()?;
    let file = PlainFile::open_at(folder, PLAN).ok()??;
    let changed_at = changed_at(file.file()).ok()?;
    match file.read(PLAN_BYTES) {
        Ok(content) => Some(PlanArtifact::of_content(&content, changed_at)),
        Err(ReadFailure::TooLarge { bytes, .. }) => Some(PlanArtifact::of_size(bytes, changed_at)),
        Err(_) => None,
    }
}

/// Lists the items that have a folder in an agent's home, in no order. Entries with other names belong to the agent.
///
/// # Errors
/// Fails if the filesystem refuses.
pub fn plan_folders(agent_home: &Path) -> Result<Vec<WorkItemId>, Error> {
    let all = agent_home.join(FOLDER);
    let io = |errno: Errno| at("list", &all)(errno.into());
    let home = match File::open(agent_home) {
        // The home was not created yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(at("open", agent_home))?,
    };
    let opened = match open_dir(&home, FOLDER) {
        // There is no folder yet, or the agent put something else in its place.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
        opened => opened.map_err(io)?,
    };
    let mut ids = Vec::new();
    for entry in Dir::new(opened).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name().to_str().unwrap_or_default();
        if is_folder_name(name) {
            ids.push(WorkItemId::from_stored(name));
        }
    }
    Ok(ids)
}

/// Removes the plan of an item that was never created. Other entries of its folder stay. Idempotent.
///
/// # Errors
/// Fails if the filesystem refuses.
pub fn remove_plan(agent_home: &Path, id: &WorkItemId) -> Result<(), Error> {
    let path = path(agent_home, id);
    let io = |errno: Errno| at("remove", &path)(errno.into());
    let home = File::open(agent_home).map_err(at("open", agent_home))?;
    let all = match open_dir(&home, FOLDER) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        opened => opened.map_err(io)?,
    };
    match open_dir(&all, id.as_str()) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(io(errno)),
        Ok(folder) => {
            remove(&folder, PLAN).map_err(io)?;
            remove(&folder, UNFINISHED).map_err(io)?;
        }
    }
    match unlinkat(&all, id.as_str(), AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(()),
        Err(errno) => Err(io(errno)),
    }
}

fn path(agent_home: &Path, id: &WorkItemId) -> PathBuf {
    agent_home.join(FOLDER).join(id.as_str()).join(PLAN)
}

/// Returns true if a name can be that of an item's folder: the spelling of an id, which is one path component.
fn is_folder_name(name: &str) -> bool {
    let random = name.strip_prefix("work_").unwrap_or_default();
    !random.is_empty()
        && random
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn folder(agent_home: &Path, id: &WorkItemId) -> io::Result<OwnedFd> {
    if !is_folder_name(id.as_str()) {
        return Err(Errno::INVAL.into());
    }
    let home = File::open(agent_home)?;
    let all = open_dir(&home, FOLDER)?;
    Ok(open_dir(&all, id.as_str())?)
}

/// Opens a directory in a directory, and creates it first if it is missing.
fn make_dir(dir: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(&dir, name, Mode::from_raw_mode(0o700)) {
        // An existing one may come from an attempt that was interrupted before this sync.
        Ok(()) | Err(Errno::EXIST) => fsync(&dir)?,
        Err(errno) => return Err(errno),
    }
    open_dir(dir, name)
}

fn open_dir(dir: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    open(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// Opens one entry of a directory; a link is never followed.
fn open(dir: impl AsFd, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| openat(&dir, name, flags, mode))
}

fn remove(dir: impl AsFd, name: &str) -> Result<(), Errno> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn changed_at(file: &File) -> io::Result<Timestamp> {
    let since = file.metadata()?.modified()?.duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    });
    Ok(Timestamp::from_millis(millis))
}
