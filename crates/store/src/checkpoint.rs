//! Keeps the write-ahead log small without delaying the writer.
//!
//! A thread copies most of the log into the file. It can never copy the newest commits while more follow, so the writer
//! copies the small rest between two batches. The next commit then restarts the log at its beginning.

use crate::db::Db;
use crate::error::Error;
use crate::held_files::{self, FileFate, HeldFiles};
use crate::open;
use rusqlite::wal::CheckpointMode;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc;

/// Log length in frames at which a checkpoint begins: 8 MiB of 4 KiB pages.
const FRAMES: u64 = 2_048;

/// The stage of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The log is short.
    Rest,
    /// The thread copies the log.
    Copying,
}

/// The writer's handle of the checkpoint thread. Dropping it ends the thread.
pub(crate) struct Checkpointer {
    stage: Stage,
    requests: mpsc::Sender<()>,
    done: mpsc::Receiver<()>,
    health: Health,
}

/// Success or failure of checkpoints, logged only when it changes.
#[derive(Debug, Default)]
struct Health {
    failing: bool,
}

impl Health {
    fn note(&mut self, outcome: Result<(i32, i32), Error>) {
        match outcome {
            Ok(_) => self.failing = false,
            Err(error) => {
                if !self.failing {
                    tracing::warn!(%error, "a checkpoint failed; the log grows until one works");
                }
                self.failing = true;
            }
        }
    }
}

impl Checkpointer {
    /// Starts the thread for these files.
    pub(crate) fn start(path: PathBuf, held: HeldFiles) -> std::io::Result<Self> {
        let (requests, asked) = mpsc::channel::<()>();
        let (copied, done) = mpsc::channel::<()>();
        std::thread::Builder::new()
            .name("holon-checkpoint".to_owned())
            .spawn(move || {
                let mut health = Health::default();
                while asked.recv().is_ok() {
                    health.note(copy(&path, &held));
                    if copied.send(()).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self {
            stage: Stage::Rest,
            requests,
            done,
            health: Health::default(),
        })
    }

    /// Called between two batches: requests a checkpoint when one is due, and completes one that the thread has
    /// finished. A lost store gets none: its files are no longer this process's to change.
    pub(crate) fn tend(&mut self, db: &Db) {
        if db.lost.borrow().is_some() {
            return;
        }
        match self.stage {
            Stage::Rest if db.wal_frames.load(Ordering::Relaxed) >= FRAMES => {
                if self.requests.send(()).is_ok() {
                    self.stage = Stage::Copying;
                } else {
                    self.health.note(finish(db));
                }
            }
            Stage::Rest => {}
            Stage::Copying => match self.done.try_recv() {
                Err(mpsc::TryRecvError::Empty) => {}
                Ok(()) | Err(mpsc::TryRecvError::Disconnected) => {
                    self.health.note(finish(db));
                    self.stage = Stage::Rest;
                }
            },
        }
    }
}

/// The writer's part: copies the commits that were made while the thread copied.
fn finish(db: &Db) -> Result<(i32, i32), Error> {
    Ok(db
        .conn
        .wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE)?)
}

/// The thread's part. It opens a connection per checkpoint, because a kept one would hold on to a replaced file. It
/// copies only between the files that were opened: the log must not be copied into another file that has taken the
/// place of its own.
fn copy(path: &Path, held: &HeldFiles) -> Result<(i32, i32), Error> {
    let check = || {
        held.first_lost()
            .map_or(Ok(()), |lost| Err(Error::Lost(lost)))
    };
    check()?;
    let conn = open::reopen(path)?;
    check()?;
    if held_files::has_moved(&conn)? {
        return Err(held_files::lost(path, FileFate::Replaced).into());
    }
    Ok(conn.wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Scribe;

    #[test]
    fn a_lost_store_gets_no_checkpoint() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.sqlite3");
        let db = Db::open(&path).expect("opens");
        let mut checkpointer = Checkpointer::start(path.clone(), db.held.clone()).expect("starts");
        db.wal_frames.store(FRAMES, Ordering::Relaxed);
        std::fs::remove_file(&path).expect("removes");
        db.check_held().expect_err("is lost");
        checkpointer.tend(&db);
        assert_eq!(checkpointer.stage, Stage::Rest, "none is requested");
        let (copied, done) = mpsc::channel();
        copied.send(()).expect("is kept");
        (checkpointer.stage, checkpointer.done) = (Stage::Copying, done);
        checkpointer.tend(&db);
        assert_eq!(checkpointer.stage, Stage::Copying, "none is completed");
    }

    #[test]
    fn after_a_checkpoint_the_log_starts_over_while_commits_go_on() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.sqlite3");
        let mut db = Db::open(&path).expect("opens");
        let mut checkpointer = Checkpointer::start(path, db.held.clone()).expect("starts");
        let mut scribe = Scribe::new("a");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        let mut commit = |db: &mut Db| {
            let decision = scribe.admit(&"x".repeat(200_000)).decide();
            db.write(|tx| tx.apply(no, &decision)).expect("writes");
        };
        while db.wal_frames.load(Ordering::Relaxed) < FRAMES {
            checkpointer.tend(&db);
            assert_eq!(checkpointer.stage, Stage::Rest);
            commit(&mut db);
        }
        checkpointer.tend(&db);
        assert_eq!(checkpointer.stage, Stage::Copying);
        commit(&mut db);
        // The thread has finished; the writer finds out at its next turn.
        checkpointer.done.recv().expect("is done");
        checkpointer.done = {
            let (again, done) = mpsc::channel();
            again.send(()).expect("is kept");
            done
        };
        commit(&mut db);
        checkpointer.tend(&db);
        assert_eq!(checkpointer.stage, Stage::Rest);
        commit(&mut db);
        let frames = db.wal_frames.load(Ordering::Relaxed);
        assert!(frames < FRAMES / 4, "{frames} frames are in the log");
    }
}
