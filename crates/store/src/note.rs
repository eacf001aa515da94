//! The note of the last process beside the database: the files it held and its progress.
//!
//! The note exists while a store is open and is removed on a clean close, so a note that is found proves an unclean
//! exit. It is written periodically and never synced: it may be older than the store, but never newer than the
//! committed state.

use crate::error::Error;
use crate::held_files::{FileId, HeldFiles};
use crate::mark::COUNTED;
use crate::open;
use crate::row::first;
use holon_domain::Timestamp;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The newest row of events. It changes with every commit that changes an agent.
pub(crate) const NEWEST: &str = "SELECT row_no, at FROM events ORDER BY row_no DESC LIMIT 1";
/// Length of a note in bytes. It is fixed, so that rewriting one needs no space.
const NOTE_BYTES: usize = 256;

/// The progress of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Number of the newest row of events.
    row_no: i64,
    /// Time of that row in milliseconds.
    at_ms: i64,
    /// Number of writes that removed rows. Only between two of them the newest row never decreases.
    removals: u64,
}

impl Progress {
    /// Reads the progress of a database; `None` if it has no event.
    pub(crate) fn of(conn: &Connection) -> Result<Option<Self>, Error> {
        // No build counts below zero, and a damaged counter must not keep the store from being opened.
        let removals = first(conn, COUNTED, [], |row| {
            Ok(u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0))
        })?;
        first(conn, NEWEST, [], |row| {
            Ok(Self {
                row_no: row.get(0)?,
                at_ms: row.get(1)?,
                removals: removals.unwrap_or(0),
            })
        })
    }

    /// Returns true if a store with this progress lacks rows that one with the progress `then` held.
    const fn is_behind(self, then: Self) -> bool {
        let is_same_span = self.removals == then.removals;
        self.removals < then.removals || is_same_span && self.row_no < then.row_no
    }

    fn at(self) -> Timestamp {
        Timestamp::from_millis(self.at_ms)
    }
}

/// A process's note about the store it held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Inode number of the database file.
    file: u64,
    /// Inode number of its write-ahead log.
    log: u64,
    /// Progress at the time of the note.
    progress: Option<Progress>,
}

/// The note of the previous process and the current files. Read before the database is opened, which changes its log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreviousNote {
    note: Note,
    /// Inode number of the current database file.
    file: Option<u64>,
    /// Inode number of the current log; absent if there is none or it is empty.
    log: Option<u64>,
}

impl PreviousNote {
    /// Reads the note that the last process left at `path`, and checks that the files there can be opened together.
    /// `None` after a clean exit.
    ///
    /// # Errors
    /// `File` if one is not a regular file, `Linked` if one is a symbolic link, `ForeignLog` if the log belongs to another
    /// file.
    pub(crate) fn check(path: &Path) -> Result<Option<Self>, Error> {
        open::check_plain(path)?;
        for suffix in ["", "-wal", "-shm"] {
            let path = open::with_suffix(path, suffix);
            if let Ok(to) = std::fs::read_link(&path) {
                return Err(Error::Linked { path, to });
            }
        }
        match Self::read(path) {
            Some(before) if before.has_foreign_log() => Err(Error::ForeignLog {
                path: path.to_owned(),
                log: open::with_suffix(path, "-wal"),
            }),
            before => Ok(before),
        }
    }

    fn read(path: &Path) -> Option<Self> {
        let note = open::with_suffix(path, "-held");
        // Anything else than a plain file is no note, and a pipe would be waited for.
        let is_plain = std::fs::symlink_metadata(&note).is_ok_and(|found| found.is_file());
        let text = is_plain.then(|| std::fs::read_to_string(&note).ok())??;
        let note = serde_json::from_str(&text).ok()?;
        let wal = std::fs::metadata(open::with_suffix(path, "-wal")).ok();
        let log = wal.filter(|found| found.len() > 0);
        Some(Self {
            note,
            file: FileId::at(path).ok().map(|id| id.inode),
            log: log.map(|found| FileId::of(&found).inode),
        })
    }

    /// Returns true if the log belongs to the last process's file, and another file has taken its place. Opening them
    /// together would mix two databases.
    fn has_foreign_log(&self) -> bool {
        let has_other_file = self.file.is_some_and(|file| file != self.note.file);
        has_other_file && self.log == Some(self.note.log)
    }

    /// Describes which commits of the last process are missing; `now` is the progress of the open store.
    pub(crate) fn findings(&self, path: &Path, now: Option<Progress>) -> Vec<String> {
        let path = path.display();
        let mut found = Vec::new();
        if self.file.is_some_and(|file| file != self.note.file) {
            found.push(format!(
                "{path} is another file than the one the last process held"
            ));
        } else if self.log != Some(self.note.log) {
            found.push(format!(
                "the write-ahead log of {path} is not the one the last process left"
            ));
        }
        let is_behind = |then: Progress| now.is_none_or(|now| now.is_behind(then));
        match self.note.progress.filter(|then| is_behind(*then)) {
            Some(then) => {
                let newest = now.map_or_else(|| "none".to_owned(), |now| now.at().to_string());
                found.push(format!(
                    "rows that were committed up to {} are missing from {path}: its newest event is of {newest}",
                    then.at()
                ));
            }
            None if found.is_empty() => {}
            None => found.push(self.note.progress.map_or_else(
                || format!("what the last process wrote may be missing from {path}: it had noted no progress yet"),
                |then| {
                    let then = then.at();
                    format!("what the last process wrote after {then} may be missing from {path}")
                },
            )),
        }
        found
    }
}

/// The note of this process.
#[derive(Debug)]
pub(crate) struct NoteFile {
    path: PathBuf,
    file: File,
    note: Note,
}

impl NoteFile {
    /// Creates the note of an open database. On a full disk the store works without it.
    pub(crate) fn begin(path: &Path, held: &HeldFiles, progress: Option<Progress>) -> Option<Self> {
        let inode = |suffix| {
            held.id_of(&open::with_suffix(path, suffix))
                .map(|id| id.inode)
        };
        let note = Note {
            file: inode("")?,
            log: inode("-wal")?,
            progress,
        };
        let path = open::with_suffix(path, "-held");
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let begun = opened.and_then(|file| {
            let begun = Self { path, file, note };
            begun.write().map(|()| begun)
        });
        begun
            .inspect_err(|error| tracing::debug!(%error, "the store is open without its note"))
            .ok()
    }

    /// Records the progress of the store.
    pub(crate) fn advance(&mut self, progress: Option<Progress>) {
        if self.note.progress == progress {
            return;
        }
        self.note.progress = progress;
        if let Err(error) = self.write() {
            tracing::debug!(%error, "the note of the store is not up to date");
        }
    }

    fn write(&self) -> io::Result<()> {
        let mut text = serde_json::to_string(&self.note)?;
        text.extend(std::iter::repeat_n(
            ' ',
            NOTE_BYTES.saturating_sub(text.len()),
        ));
        self.file.write_all_at(text.as_bytes(), 0)
    }

    /// Removes the note on a clean close.
    pub(crate) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the note of the store stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_removed_in_order_are_not_called_missing() {
        let progress = |row_no, removals| Progress {
            row_no,
            at_ms: 0,
            removals,
        };
        let then = progress(9, 3);
        for (now, is_behind) in [
            (progress(9, 3), false),
            (progress(12, 3), false),
            (progress(8, 3), true),
            (progress(5, 4), false),
            (progress(12, 2), true),
        ] {
            assert_eq!(now.is_behind(then), is_behind, "{now:?}");
        }
    }
}
