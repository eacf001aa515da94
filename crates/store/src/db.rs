//! `Db`: the one write connection, opened, asked, closed. How a batch is run stands in `batch`.
//!
//! Also what the simulation uses: the same code on a database in memory, whose committed image can be taken
//! at any point and started again as after a crash.

#[cfg(test)]
use crate::batch::CommitFault;
use crate::error::{Error, WriteError};
use crate::exit::{self, LastExit, Occupant};
use crate::member::{Member, Single};
use crate::open;
use crate::reader::Reader;
use crate::tx::Tx;
use holon_domain::feed::FeedNotice;
use holon_domain::limits::STREAM_LAG;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{broadcast, watch};

/// Where a database header names its journal; 1 is the plain one.
const JOURNAL_BYTES: std::ops::Range<usize> = 18..20;

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a file, which can be opened again.
    File(PathBuf),
    /// In this connection only.
    Memory,
}

/// The one writer's database.
pub struct Db {
    pub(crate) conn: Connection,
    pub(crate) place: Place,
    /// Set when the connection failed in a way that only another open mends.
    pub(crate) suspect: bool,
    pub(crate) commits: Arc<AtomicU64>,
    pub(crate) news: broadcast::Sender<FeedNotice>,
    /// Frames in the write-ahead log after the last commit.
    pub(crate) wal_frames: Arc<AtomicU64>,
    /// Whether the last write that needed space found none.
    pub(crate) full: watch::Sender<bool>,
    epoch: String,
    occupant: Occupant,
    last_exit: LastExit,
    #[cfg(test)]
    pub(crate) faults: std::collections::VecDeque<CommitFault>,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db")
            .field("place", &self.place)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Db {
    /// Opens the store at `path` for a host, creating it (mode 0600) when there is no file, and notes that it is in use.
    ///
    /// # Errors
    /// When the file is damaged, foreign or newer than this build (it is left untouched), or cannot be used.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_for(path, Occupant::Host)
    }

    /// Opens the store at `path` as [`Db::open`] does, for a host or for one run. See [`LastExit`] for the difference.
    ///
    /// # Errors
    /// As for [`Db::open`].
    pub fn open_for(path: &Path, occupant: Occupant) -> Result<Self, Error> {
        let place = Place::File(path.to_owned());
        Self::start(open::writable(path)?, place, occupant)
    }

    /// A fresh store in memory, with a fixed epoch.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn in_memory() -> Result<Self, Error> {
        Self::start(open::memory()?, Place::Memory, Occupant::Host)
    }

    /// A store in memory as it stood when `image` was taken: what a crash at that point would leave.
    ///
    /// # Errors
    /// When the image is not one of this build's stores.
    pub fn from_image(image: &[u8]) -> Result<Self, Error> {
        Self::start(open::from_image(image)?, Place::Memory, Occupant::Host)
    }

    fn start(conn: Connection, place: Place, occupant: Occupant) -> Result<Self, Error> {
        let epoch = open::epoch(&conn)?;
        let last_exit = exit::occupy(&conn, &occupant)?;
        let mut db = Self {
            conn,
            place,
            suspect: false,
            commits: Arc::new(AtomicU64::new(0)),
            news: broadcast::channel(STREAM_LAG).0,
            wal_frames: Arc::new(AtomicU64::new(0)),
            full: watch::Sender::new(false),
            epoch,
            occupant,
            last_exit,
            #[cfg(test)]
            faults: std::collections::VecDeque::new(),
        };
        db.watch_wal()?;
        Ok(db)
    }

    /// Keeps count of the frames in the write-ahead log of the current connection.
    pub(crate) fn watch_wal(&mut self) -> Result<(), Error> {
        let frames = Arc::clone(&self.wal_frames);
        self.conn
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
                frames.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
                Ok(())
            }))?;
        Ok(())
    }

    /// The committed state as one file image.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn image(&self) -> Result<Vec<u8>, Error> {
        let mut copy = Connection::open_in_memory()?;
        rusqlite::backup::Backup::new(&self.conn, &mut copy)?.run_to_completion(
            i32::MAX,
            std::time::Duration::ZERO,
            None,
        )?;
        let mut image = copy.serialize("main")?.to_vec();
        // A file says in these two bytes that it has a write-ahead log, which nothing in memory can have.
        image
            .iter_mut()
            .skip(JOURNAL_BYTES.start)
            .take(JOURNAL_BYTES.len())
            .for_each(|byte| *byte = 1);
        Ok(image)
    }

    /// The store's identity: random, new at creation.
    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Whether the disk is full, as far as the writer has seen; changes while it runs.
    #[must_use]
    pub fn disk_full(&self) -> watch::Receiver<bool> {
        self.full.subscribe()
    }

    /// How the processes before this one ended.
    #[must_use]
    pub const fn last_exit(&self) -> &LastExit {
        &self.last_exit
    }

    /// Runs one write as a batch of its own. The closure may be run again and must have no side effect.
    ///
    /// # Errors
    /// What the write came to; see [`WriteError`].
    pub fn write<T>(
        &mut self,
        f: impl FnMut(&mut Tx<'_>) -> Result<T, Error>,
    ) -> Result<T, WriteError> {
        let mut answer = None;
        let member: Box<dyn Member + '_> = Box::new(Single::new(f, &mut answer));
        let mut waiting = Some(member);
        self.run_batch(&mut || waiting.take());
        drop(waiting);
        answer.unwrap_or(Err(WriteError::CommitUnknown))
    }

    /// Reads on the write connection: for tests and the simulation.
    #[must_use]
    pub const fn reader(&self) -> Reader<'_> {
        Reader::new(&self.conn)
    }

    /// How many commits changed something since the store was opened.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// News after each commit: one notice per agent with new events.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.news.subscribe()
    }

    /// Notes a clean exit, empties the write-ahead log and closes the file.
    ///
    /// # Errors
    /// When the note cannot be written; the store is closed all the same and counts as not closed properly.
    pub fn close(mut self) -> Result<(), Error> {
        self.mend()?;
        exit::leave(&self.conn, &self.occupant)?;
        if let Place::File(_) = self.place {
            // A reader may still hold the log; what is left in it is applied at the next open.
            drop(
                self.conn
                    .wal_checkpoint_v2(Some("main"), rusqlite::wal::CheckpointMode::TRUNCATE),
            );
        }
        self.conn.close().map_err(|(_, error)| error.into())
    }
}
