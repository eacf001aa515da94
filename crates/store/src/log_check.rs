//! Detects if the write-ahead log still holds what this process committed. A log that is overwritten in place keeps its
//! inode, so the identities of the files (`held_files`) do not tell.
//!
//! The periodic look reads the header of the log, whose sequence number grows whenever the log is begun anew, and the
//! headers of the frames that were added since the last look: every frame carries the salts of the log, and the last one
//! ends a commit. An older copy lacks frames, or is of an earlier run of the log. Another program that writes to the
//! database may begin the log anew too; then there is nothing to compare with until the next commit of this process.
//!
//! SQLite holds no lock on the log, so its handle can be closed at any time.

use crate::error::Error;
use crate::open;
use rusqlite::Connection;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Length of the log's header: magic, version, page size, checkpoint number, two salts, checksum.
const HEADER_BYTES: u64 = 32;
/// Length of a frame's header: page number, size of the database after a commit or 0, two salts, checksum.
const FRAME_BYTES: u64 = 24;

/// The header of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogHeader {
    page_size: u32,
    /// Number of the run of the log: one more each time it is begun anew.
    sequence: u32,
    salts: [u8; 8],
}

/// The state of the log as the writer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogState {
    /// Frames in the log after the newest commit; 0 before the first one of this process.
    pub(crate) frames: u64,
    /// Fewest times that the writer began the log anew: the commits after which it was not longer than before.
    pub(crate) restarts: u64,
}

/// The part of the log that a look has found in place.
#[derive(Debug, Clone, Copy)]
struct SeenLog {
    header: LogHeader,
    state: LogState,
}

/// The looks of one process at its log.
#[derive(Debug)]
pub(crate) struct LogCheck {
    log: File,
    seen: Option<SeenLog>,
    /// State that cannot be compared, because another program has begun the log anew since.
    unknown: Option<LogState>,
    foreign_before: i64,
}

impl LogCheck {
    /// Begins to look at the log of the open database at `path`.
    pub(crate) fn begin(conn: &Connection, path: &Path) -> Result<Self, Error> {
        let path = open::with_suffix(path, "-wal");
        let log = File::open(&path).map_err(|error| open::file_error(&path, &error))?;
        let state = LogState {
            frames: 0,
            restarts: 0,
        };
        let header = read_header(&log);
        Ok(Self {
            seen: header.map(|header| SeenLog { header, state }),
            log,
            unknown: None,
            foreign_before: foreign_changes(conn)?,
        })
    }

    /// Returns false if frames that this process committed are no longer in the log.
    pub(crate) fn holds(&mut self, conn: &Connection, state: LogState) -> Result<bool, Error> {
        if state.frames == 0 || self.unknown == Some(state) {
            return Ok(true);
        }
        if let Some(header) = self.read(state) {
            if self.seen.is_none_or(|seen| seen.state != state) {
                self.seen = Some(SeenLog { header, state });
                self.foreign_before = foreign_changes(conn)?;
            }
            return Ok(true);
        }
        let before = self.foreign_before;
        self.foreign_before = foreign_changes(conn)?;
        self.seen = None;
        self.unknown = Some(state);
        Ok(self.foreign_before != before)
    }

    /// Returns the header of the log if it holds every frame of this state.
    fn read(&self, state: LogState) -> Option<LogHeader> {
        let header = read_header(&self.log)?;
        let first = match self.seen {
            Some(seen) => first_new_frame(seen, header, state)?,
            None => 1,
        };
        let mut ends_commit = false;
        for number in first..=state.frames {
            let at = HEADER_BYTES + (number - 1) * (FRAME_BYTES + u64::from(header.page_size));
            let mut frame = [0; 24];
            self.log.read_exact_at(&mut frame, at).ok()?;
            if frame.get(8..16)? != header.salts.as_slice() {
                return None;
            }
            ends_commit = frame.get(4..8)? != [0; 4].as_slice();
        }
        ends_commit.then_some(header)
    }
}

/// Returns the number of the first frame to look at. `None` if the log is of an earlier run than the one that is known.
fn first_new_frame(seen: SeenLog, header: LogHeader, state: LogState) -> Option<u64> {
    let begun_anew = state.restarts.saturating_sub(seen.state.restarts);
    let later = header.sequence.wrapping_sub(seen.header.sequence);
    if later > u32::MAX / 2 || u64::from(later) < begun_anew {
        return None;
    }
    if later > 0 {
        return Some(1);
    }
    // The last frame of the look before must still be there.
    let is_same = header == seen.header && state.frames >= seen.state.frames;
    is_same.then_some(seen.state.frames.max(1))
}

fn read_header(log: &File) -> Option<LogHeader> {
    let mut header = [0; 32];
    log.read_exact_at(&mut header, 0).ok()?;
    Some(LogHeader {
        page_size: u32::from_be_bytes(header.get(8..12)?.try_into().ok()?),
        sequence: u32::from_be_bytes(header.get(12..16)?.try_into().ok()?),
        salts: header.get(16..24)?.try_into().ok()?,
    })
}

/// Returns a number that changes when another connection has changed the database.
fn foreign_changes(conn: &Connection) -> Result<i64, Error> {
    Ok(conn.query_row("PRAGMA data_version", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use crate::db::Db;
    use crate::error::Error;
    use crate::held_files::FileFate;
    use crate::samples::Scribe;
    use rusqlite::wal::CheckpointMode;
    use std::path::PathBuf;

    struct OpenStore {
        directory: tempfile::TempDir,
        db: Db,
        scribe: Scribe,
        no: crate::row::AgentNo,
    }

    impl OpenStore {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let mut db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
            let scribe = Scribe::new("a");
            let no = db
                .write(|tx| tx.create_agent(&scribe.record))
                .expect("creates");
            Self {
                directory,
                db,
                scribe,
                no,
            }
        }

        fn log(&self) -> PathBuf {
            self.directory.path().join("s.sqlite3-wal")
        }

        fn admit(&mut self, words: &str) {
            let decision = self.scribe.admit(words).decide();
            let no = self.no;
            self.db
                .write(|tx| tx.apply(no, &decision))
                .expect("is acknowledged");
        }

        /// Copies the whole log into the file, so that the next commit begins it anew.
        fn checkpoint(&self) {
            let mode = CheckpointMode::PASSIVE;
            let copied = self.db.conn.wal_checkpoint_v2(Some("main"), mode);
            copied.expect("copies");
        }

        fn is_lost(&mut self) -> bool {
            match self.db.check_content() {
                Ok(()) => false,
                Err(Error::Lost(lost)) => {
                    assert_eq!((lost.path, lost.fate), (self.log(), FileFate::Overwritten));
                    true
                }
                Err(error) => panic!("{error}"),
            }
        }

        fn put_back(&self, older: &[u8]) {
            // The same file gets older content; its identity stays.
            std::fs::write(self.log(), older).expect("overwrites");
        }
    }

    #[test]
    fn a_log_that_holds_every_commit_is_in_order_over_checkpoints() {
        let mut store = OpenStore::new();
        for round in 0..4 {
            for _ in 0..3 {
                store.admit("x");
                assert!(!store.is_lost(), "{round}");
            }
            store.checkpoint();
            assert!(!store.is_lost(), "{round}");
        }
        store.checkpoint();
        store.admit("x");
        store.checkpoint();
        store.admit("x");
        assert!(!store.is_lost(), "begun anew twice between two looks");
        store.db.close().expect("closes");
    }

    #[test]
    fn a_log_that_is_begun_anew_with_more_frames_than_before_is_in_order() {
        let mut store = OpenStore::new();
        store.admit("x");
        assert!(!store.is_lost());
        store.checkpoint();
        store.admit(&"x".repeat(500_000));
        assert!(!store.is_lost());
        store.db.close().expect("closes");
    }

    #[test]
    fn an_older_copy_in_the_same_file_is_noticed_at_the_next_look() {
        for is_looked_at in [true, false] {
            let mut store = OpenStore::new();
            store.admit("x");
            if is_looked_at {
                assert!(!store.is_lost());
            }
            let older = std::fs::read(store.log()).expect("reads");
            store.admit("y");
            store.put_back(&older);
            assert!(store.is_lost(), "{is_looked_at}");
            assert!(store.is_lost(), "for good");
        }
    }

    #[test]
    fn commits_after_an_older_copy_do_not_hide_it() {
        let mut store = OpenStore::new();
        assert!(!store.is_lost());
        store.admit("x");
        let older = std::fs::read(store.log()).expect("reads");
        store.admit("y");
        store.put_back(&older);
        let decision = store.scribe.admit("z").decide();
        let no = store.no;
        // Whether this is acknowledged depends on what the store has in memory.
        drop(store.db.write(|tx| tx.apply(no, &decision)));
        store.db.suspect = false;
        assert!(store.is_lost());
    }

    #[test]
    fn a_copy_of_an_earlier_run_of_the_log_is_noticed_although_it_is_longer() {
        let mut store = OpenStore::new();
        store.admit(&"x".repeat(100_000));
        let older = std::fs::read(store.log()).expect("reads");
        assert!(!store.is_lost());
        store.checkpoint();
        store.admit("y");
        store.put_back(&older);
        assert!(store.is_lost());
    }

    #[test]
    fn commits_after_the_last_upkeep_that_an_older_copy_lacks_are_told_at_the_next_start() {
        let mut store = OpenStore::new();
        store.admit("x");
        store.db.tend();
        let older = std::fs::read(store.log()).expect("reads");
        store.admit("y");
        let OpenStore { directory, db, .. } = store;
        // The process is killed before its next look.
        drop(db);
        let path = directory.path().join("s.sqlite3");
        std::fs::write(directory.path().join("s.sqlite3-wal"), older).expect("overwrites");
        let db = Db::open(&path).expect("opens");
        let told = db.findings().join("; ");
        assert!(told.contains("rows that were committed up to"), "{told}");
    }

    #[test]
    fn another_program_that_begins_the_log_anew_is_no_loss() {
        let mut store = OpenStore::new();
        store.admit("x");
        assert!(!store.is_lost());
        let path = store.directory.path().join("s.sqlite3");
        let other = rusqlite::Connection::open(&path).expect("opens");
        let mode = CheckpointMode::TRUNCATE;
        other.wal_checkpoint_v2(Some("main"), mode).expect("copies");
        let change = "INSERT INTO meta (key, value) VALUES ('other', '1')";
        other.execute(change, []).expect("writes");
        assert!(!store.is_lost());
        assert!(!store.is_lost(), "nor at the next look");
        store.admit("y");
        assert!(!store.is_lost());
        let older = std::fs::read(store.log()).expect("reads");
        store.admit("z");
        store.put_back(&older);
        assert!(
            store.is_lost(),
            "what this process commits then counts again"
        );
    }
}
