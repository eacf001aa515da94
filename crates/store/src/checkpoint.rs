//! Keeping the write-ahead log small without holding the writer up.
//!
//! A thread of its own copies most of the log into the file; while commits go on it can never copy the last of
//! them, so when it is done the writer copies that small rest between two batches, after which the next commit
//! starts the log from its beginning.

use crate::db::Db;
use crate::open;
use rusqlite::wal::CheckpointMode;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc};

/// Frames at which a checkpoint begins: 8 MiB of 4 KiB pages.
const FRAMES: u64 = 2_048;

/// Nothing is under way.
const REST: u8 = 0;
/// The thread copies.
const COPYING: u8 = 1;
/// The thread is done; the rest is the writer's.
const COPIED: u8 = 2;

/// The checkpoint thread, as the writer sees it. Dropping it ends the thread.
pub(crate) struct Checkpointer {
    requests: mpsc::Sender<()>,
    stage: Arc<AtomicU8>,
}

impl Checkpointer {
    /// Starts the thread.
    pub(crate) fn start(path: PathBuf) -> std::io::Result<Self> {
        let (requests, inbox) = mpsc::channel::<()>();
        let stage = Arc::new(AtomicU8::new(REST));
        let shared = Arc::clone(&stage);
        std::thread::Builder::new()
            .name("holon-checkpoint".to_owned())
            .spawn(move || {
                while inbox.recv().is_ok() {
                    copy(&path);
                    shared.store(COPIED, Ordering::Release);
                }
            })?;
        Ok(Self { requests, stage })
    }

    /// Between two batches: asks for a checkpoint when one is due, and ends the one that is done.
    pub(crate) fn tend(&self, db: &Db) {
        match self.stage.load(Ordering::Acquire) {
            REST if db.wal_frames.load(Ordering::Relaxed) >= FRAMES => {
                self.stage.store(COPYING, Ordering::Release);
                if self.requests.send(()).is_err() {
                    self.stage.store(COPIED, Ordering::Release);
                }
            }
            COPIED => {
                report(
                    &db.conn
                        .wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE),
                );
                self.stage.store(REST, Ordering::Release);
            }
            _ => {}
        }
    }
}

/// One checkpoint on a connection of its own, which is not kept: it would hold a file that may be replaced.
fn copy(path: &Path) {
    match open::reopen(path) {
        Ok(conn) => {
            report(&conn.wal_checkpoint_v2(Some("main"), CheckpointMode::PASSIVE));
        }
        Err(error) => tracing::warn!(%error, "no checkpoint: the store cannot be opened"),
    }
}

fn report(outcome: &rusqlite::Result<(i32, i32)>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "a checkpoint failed; the log grows until one works");
    }
}
