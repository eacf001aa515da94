//! What the last process held, noted beside the database for the next one: which files, and how far it had come.
//!
//! The note is there while a store is open and removed when it is closed in order, so one that is found tells of an
//! unclean exit. It is written now and then and never synced: it may be older than the store, and never newer than
//! what the process had committed.

use crate::error::Error;
use crate::held::{FileId, Held};
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

/// The newest row of events: it moves with every commit that changes an agent.
pub(crate) const NEWEST: &str = "SELECT row_no, at FROM events ORDER BY row_no DESC LIMIT 1";
/// Length of a note in bytes. All have the same, so that writing one again takes no space.
const NOTE_BYTES: usize = 256;

/// How far a store has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Number of the newest row of events.
    row_no: i64,
    /// When it was written, in milliseconds.
    at_ms: i64,
    /// How many writes have removed rows. Only between two of them does the newest row never fall back.
    removals: u64,
}

impl Progress {
    /// How far this database has come; none when it has no event.
    pub(crate) fn of(conn: &Connection) -> Result<Option<Self>, Error> {
        let removals = first(conn, COUNTED, [], |row| Ok(row.get(0)?))?;
        first(conn, NEWEST, [], |row| {
            Ok(Self {
                row_no: row.get(0)?,
                at_ms: row.get(1)?,
                removals: removals.unwrap_or(0),
            })
        })
    }

    /// Whether a store that has come this far lacks something that one which had come `then` far held.
    const fn is_behind(self, then: Self) -> bool {
        let is_same_span = self.removals == then.removals;
        self.removals < then.removals || is_same_span && self.row_no < then.row_no
    }

    fn at(self) -> Timestamp {
        Timestamp::from_millis(self.at_ms)
    }
}

/// What a process noted of the store it held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Number of the database file.
    file: u64,
    /// Number of its write-ahead log.
    log: u64,
    /// How far it had come when this was noted.
    progress: Option<Progress>,
}

/// The note of the process before, held against what stands there now. Taken before the database is opened, which
/// changes its log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    note: Note,
    /// The database file now.
    file: Option<u64>,
    /// Its log now; none when there is none or nothing is in it.
    log: Option<u64>,
}

impl Before {
    /// What the last process left at `path`; none after a clean exit.
    pub(crate) fn look(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(open::beside(path, "-held")).ok()?;
        let note = serde_json::from_str(&text).ok()?;
        let wal = std::fs::metadata(open::beside(path, "-wal")).ok();
        let log = wal.filter(|found| found.len() > 0);
        Some(Self {
            note,
            file: FileId::at(path).ok().map(|id| id.inode),
            log: log.map(|found| FileId::of(&found).inode),
        })
    }

    /// Whether the log is that of the file the last process held, and another file stands in its place: opened
    /// together, they would be mixed.
    pub(crate) fn has_foreign_log(&self) -> bool {
        let has_other_file = self.file.is_some_and(|file| file != self.note.file);
        has_other_file && self.log == Some(self.note.log)
    }

    /// What is missing of what the last process had committed, in words; `now` is how far the open store has come.
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
            None => found.push(
                "nothing is missing of what had been noted; of the last seconds nobody knows"
                    .to_owned(),
            ),
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
    /// Begins the note of an open database. Where there is no space for it, the store does without.
    pub(crate) fn begin(path: &Path, held: &Held, progress: Option<Progress>) -> Option<Self> {
        let inode = |suffix| held.id_of(&open::beside(path, suffix)).map(|id| id.inode);
        let note = Note {
            file: inode("")?,
            log: inode("-wal")?,
            progress,
        };
        let path = open::beside(path, "-held");
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

    /// Notes how far the store has come.
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

    /// Takes the note back: the store is closed in order.
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
