//! Reads and writes the records of managed worktrees.
//!
//! A record that is there and cannot be read is an error and never counts as absent: its worktree may hold work, and a
//! new record would start it afresh.

use crate::git::{GitError, at};
use crate::plain_file;
use holon_domain::limits::WORKTREE_RECORD_BYTES;
use holon_domain::workspace::{UnreadableRecord, WorktreeRecord};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const EXTENSION: &str = "json";

/// Returns the path of the record of the worktree `name` in the folder of its workspace.
pub(super) fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{EXTENSION}"))
}

/// Loads a record; `None` if there is no file at its place.
pub(super) fn load(path: &Path) -> Result<Option<WorktreeRecord>, GitError> {
    let refuse = |detail: String| GitError::UnreadableRecord {
        path: path.to_owned(),
        detail,
    };
    let text = plain_file::read(path, WORKTREE_RECORD_BYTES)
        .map_err(|failure| refuse(failure.to_string()))?;
    let Some(text) = text else {
        return Ok(None);
    };
    let record: WorktreeRecord =
        serde_json::from_slice(&text).map_err(|error| refuse(error.to_string()))?;
    let own = Path::new(&record.path);
    if own.file_name() != path.file_stem() || own.parent() != path.parent() {
        return Err(refuse(format!("it is the record of {}", own.display())));
    }
    Ok(Some(record))
}

/// Writes a record so that it survives a power failure.
pub(super) fn save(record: &WorktreeRecord) -> Result<(), GitError> {
    let target = of(record);
    let fresh = target.with_extension("new");
    let text = serde_json::to_vec(record).map_err(io::Error::other);
    let written = |text: Vec<u8>| {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&fresh, &target)?;
        sync_folder(&target)
    };
    text.and_then(written).map_err(at("write", &target))
}

/// Removes a record once its worktree and its branch are gone.
pub(super) fn remove(record: &WorktreeRecord) -> Result<(), GitError> {
    let target = of(record);
    fs::remove_file(&target)
        .and_then(|()| sync_folder(&target))
        .map_err(at("remove", &target))
}

/// The records under a root, in no order.
#[derive(Debug, Default)]
pub(super) struct FoundRecords {
    pub(super) records: Vec<WorktreeRecord>,
    pub(super) unreadable: Vec<UnreadableRecord>,
}

/// Loads every record under `root`. A workspace's folder that is gone meanwhile has none.
pub(super) fn load_all(root: &Path) -> Result<FoundRecords, GitError> {
    let mut found = FoundRecords::default();
    for folder in entries(root)? {
        if !folder.is_dir() {
            continue;
        }
        let files = entries(&folder)?;
        let records = files
            .into_iter()
            .filter(|file| file.extension() == Some(EXTENSION.as_ref()));
        for file in records {
            match load(&file) {
                Ok(record) => found.records.extend(record),
                Err(error) => found.unreadable.push(UnreadableRecord {
                    path: file.display().to_string(),
                    detail: error.to_string(),
                }),
            }
        }
    }
    Ok(found)
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, GitError> {
    let listed = match fs::read_dir(dir) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at("list", dir)(error)),
    };
    listed
        .map(|entry| entry.map(|entry| entry.path()).map_err(at("list", dir)))
        .collect()
}

fn of(record: &WorktreeRecord) -> PathBuf {
    let own = Path::new(&record.path);
    path(own.parent().unwrap_or_else(|| Path::new("/")), &record.name)
}

fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().unwrap_or_else(|| Path::new("/"));
    File::open(folder)?.sync_all()
}
