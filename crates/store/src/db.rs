//! `Db`: the one write connection. `batch` runs batches on it.
//!
//! The simulation uses the same code on an in-memory database. An image of the committed state can be taken at any
//! point and opened again as after a crash.

use crate::agents;
#[cfg(test)]
use crate::batch::CommitFault;
use crate::error::{Error, WriteError};
use crate::exit::{self, LastExit, Occupant};
use crate::feed::{Feed, FeedSource};
use crate::generations;
use crate::held_files::{FileId, HeldFiles, StoreLost};
use crate::home::Home;
use crate::known_agents::KnownAgents;
use crate::member::{Member, Single};
use crate::note::{NoteFile, PreviousNote, Progress};
use crate::open;
use crate::reader::Reader;
use crate::relocate;
use crate::reserve;
use crate::survey;
use crate::tx::Tx;
use holon_domain::AgentId;
use holon_domain::feed::FeedNotice;
use rusqlite::Connection;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, watch};

/// Bytes of the database header that name the journal mode; 1 is the rollback journal.
const JOURNAL_BYTES: std::ops::Range<usize> = 18..20;
/// Shortest time after a note of the progress until a commit notes it again. Longer than the pause between the commits
/// of a busy host, which therefore pays for few notes.
pub(crate) const NOTE_PAUSE: Duration = Duration::from_millis(250);

/// The location of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A file, which can be opened again.
    File(PathBuf),
    /// Memory of this connection only.
    Memory,
}

/// The database of the one writer.
pub struct Db {
    pub(crate) conn: Connection,
    pub(crate) location: Location,
    /// Set when the connection failed in a way that only a new open repairs.
    pub(crate) suspect: bool,
    pub(crate) commits: Arc<AtomicU64>,
    pub(crate) news: Feed,
    /// Frames in the write-ahead log after the last commit.
    pub(crate) wal_frames: Arc<AtomicU64>,
    /// True if the last write that needed space found none.
    pub(crate) full: watch::Sender<bool>,
    /// Identity of the store's files when they were opened; empty in memory.
    pub(crate) held: HeldFiles,
    /// Set for good once the store is lost.
    pub(crate) lost: watch::Sender<Option<StoreLost>>,
    pub(crate) known: RefCell<KnownAgents>,
    note: Option<NoteFile>,
    /// Time at which the progress was noted last; absent before the first upkeep.
    pub(crate) noted_at: Option<Instant>,
    findings: Vec<String>,
    epoch: String,
    occupant: Occupant,
    last_exit: LastExit,
    #[cfg(test)]
    pub(crate) faults: std::collections::VecDeque<CommitFault>,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db")
            .field("location", &self.location)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Db {
    /// Opens the store at `path` for a host and records that it is in use. Creates it with mode 0600 if there is no
    /// file.
    ///
    /// # Errors
    /// When the file is damaged, foreign or newer than this build (it is left untouched), or cannot be used.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_for(path, Occupant::Host)
    }

    /// Opens the store at `path` like [`Db::open`], for a host or for one run. [`LastExit`] explains the difference.
    ///
    /// # Errors
    /// As for [`Db::open`].
    pub fn open_for(path: &Path, occupant: Occupant) -> Result<Self, Error> {
        match Self::open_file(path, occupant.clone()) {
            Err(error) if error.is_full() && reserve::release(path) => {
                Self::open_file(path, occupant)
            }
            opened => opened,
        }
        .inspect(|_| reserve::keep(path))
    }

    /// Opens the store of a home like [`Db::open_for`]. The home's lock file must stay in its place, too.
    ///
    /// # Errors
    /// As for [`Db::open`].
    pub fn open_home(home: &Home, occupant: Occupant) -> Result<Self, Error> {
        let mut db = Self::open_for(&home.db_path(), occupant)?;
        if let Some(root) = home.root().to_str()
            && let Some(old) = relocate::follow(&db.conn, root)?
        {
            tracing::warn!(%old, new = %root, "the home was moved or copied; its agents follow it");
        }
        let path = home.lock_path();
        let found = home.lock_file().metadata();
        let found = found.map_err(|error| open::file_error(&path, &error))?;
        db.held.add_first(path, FileId::of(&found));
        Ok(db)
    }

    fn open_file(path: &Path, occupant: Occupant) -> Result<Self, Error> {
        let before = PreviousNote::check(path)?;
        let location = Location::File(path.to_owned());
        let opened =
            open::open_writable(path).and_then(|conn| Self::start(conn, location, occupant));
        let mut db = opened.map_err(|error| {
            if error.may_be_full_disk() && reserve::is_exhausted(path) {
                return Error::full(error.to_string());
            }
            error
        })?;
        db.held = HeldFiles::of_database(&db.conn, path)?;
        let progress = Progress::of(&db.conn)?;
        if let Some(before) = before {
            db.findings = before.findings(path, progress);
        }
        db.note = NoteFile::begin(path, &db.held, progress);
        Ok(db)
    }

    /// Creates an empty in-memory store with a fixed epoch.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn in_memory() -> Result<Self, Error> {
        Self::start(open::open_memory()?, Location::Memory, Occupant::Host)
    }

    /// Opens an image as an in-memory store: the state that a crash at that point would leave.
    ///
    /// # Errors
    /// When the image is not one of this build's stores.
    pub fn from_image(image: &[u8]) -> Result<Self, Error> {
        Self::start(open::from_image(image)?, Location::Memory, Occupant::Host)
    }

    fn start(conn: Connection, location: Location, occupant: Occupant) -> Result<Self, Error> {
        let epoch = open::epoch(&conn)?;
        let last_exit = exit::occupy(&conn, &occupant)?;
        generations::check(&conn)?;
        agents::report_strays(&conn)?;
        let mut db = Self {
            conn,
            location,
            suspect: false,
            commits: Arc::new(AtomicU64::new(0)),
            news: Feed::new(),
            wal_frames: Arc::new(AtomicU64::new(0)),
            full: watch::Sender::new(false),
            held: HeldFiles::default(),
            lost: watch::Sender::new(None),
            known: RefCell::default(),
            note: None,
            noted_at: None,
            findings: Vec::new(),
            epoch,
            occupant,
            last_exit,
            #[cfg(test)]
            faults: std::collections::VecDeque::new(),
        };
        db.watch_wal()?;
        Ok(db)
    }

    /// Counts the frames in the write-ahead log of the current connection.
    pub(crate) fn watch_wal(&mut self) -> Result<(), Error> {
        let frames = Arc::clone(&self.wal_frames);
        self.conn
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
                frames.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
                Ok(())
            }))?;
        Ok(())
    }

    /// Returns the committed state as one file image.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn image(&self) -> Result<Vec<u8>, Error> {
        let mut copy = Connection::open_in_memory()?;
        rusqlite::backup::Backup::new(&self.conn, &mut copy)?.run_to_completion(
            i32::MAX,
            Duration::ZERO,
            None,
        )?;
        let mut image = copy.serialize("main")?.to_vec();
        // These bytes announce a write-ahead log, which an in-memory database cannot have.
        image
            .iter_mut()
            .skip(JOURNAL_BYTES.start)
            .take(JOURNAL_BYTES.len())
            .for_each(|byte| *byte = 1);
        Ok(image)
    }

    /// Identity of the store: random, created with it.
    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// True while the disk is full, as last seen by the writer.
    #[must_use]
    pub fn disk_full(&self) -> watch::Receiver<bool> {
        self.full.subscribe()
    }

    /// Set once the store is no longer where it was opened. No commit is acknowledged from then on.
    #[must_use]
    pub fn lost(&self) -> watch::Receiver<Option<StoreLost>> {
        self.lost.subscribe()
    }

    /// Describes for the operator which commits of the last process are missing. Empty after a clean exit.
    #[must_use]
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Describes for the operator the homes under `agents_dir` whose agents the store does not know.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn strays(&self, agents_dir: &Path) -> Result<Vec<String>, Error> {
        survey::strays(&self.conn, agents_dir)
    }

    /// Checks that the files of the store are still those that were opened.
    ///
    /// # Errors
    /// `Lost` if one is not, and from then on always.
    pub(crate) fn check_held(&self) -> Result<(), Error> {
        if let Some(lost) = self.lost.borrow().clone() {
            return Err(lost.into());
        }
        match self.held.first_lost() {
            None => Ok(()),
            Some(lost) => Err(self.mark_lost(lost)),
        }
    }

    /// Marks the store as lost for good. A deleted log is first copied into its file if that is in its place: it holds
    /// acknowledged commits and vanishes with this process.
    pub(crate) fn mark_lost(&self, lost: StoreLost) -> Error {
        tracing::error!(%lost, "the store is lost: nothing more is acknowledged, and this process ends");
        if let Location::File(path) = &self.location
            && self.held.lacks_only(&open::with_suffix(path, "-wal"))
        {
            let mode = rusqlite::wal::CheckpointMode::FULL;
            match self.conn.wal_checkpoint_v2(Some("main"), mode) {
                Ok(_) => tracing::warn!("what was acknowledged is in the file all the same"),
                Err(error) => tracing::error!(%error, "what was only in the log is lost with it"),
            }
        }
        self.lost.send_replace(Some(lost.clone()));
        lost.into()
    }

    /// Records the progress of the first commits of a process, and of the first one after a pause, before they are
    /// acknowledged. Without that, nothing would tell of commits that are lost before the next upkeep.
    pub(crate) fn note_first_commits(&mut self) {
        if let Some(noted) = &mut self.noted_at {
            if noted.elapsed() < NOTE_PAUSE {
                return;
            }
            *noted = Instant::now();
        }
        if let Some(note) = &mut self.note
            && let Ok(progress) = Progress::of(&self.conn)
        {
            note.advance(progress);
        }
    }

    /// Periodic upkeep: records the store's progress, and keeps the reserve for the next start.
    pub(crate) fn tend(&mut self) {
        self.noted_at = Some(Instant::now());
        let (Location::File(path), Some(note)) = (&self.location, &mut self.note) else {
            return;
        };
        match Progress::of(&self.conn) {
            Ok(progress) => note.advance(progress),
            Err(error) => tracing::debug!(%error, "the note of the store is not up to date"),
        }
        reserve::keep(path);
    }

    /// The exits of the processes before this one.
    #[must_use]
    pub const fn last_exit(&self) -> &LastExit {
        &self.last_exit
    }

    /// Runs one write as a batch of its own. The closure may be run again and must have no side effect.
    ///
    /// # Errors
    /// The failure of the write; see [`WriteError`].
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

    /// Reads on the write connection, for tests and the simulation.
    #[must_use]
    pub const fn reader(&self) -> Reader<'_> {
        Reader::new(&self.conn)
    }

    /// Number of commits that changed something since the store was opened.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Subscribes to commits: one notice per agent with new events.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.news.subscribe()
    }

    /// Subscribes to the commits that change what a memory index holds.
    #[must_use]
    pub fn subscribe_to_memory(&self) -> broadcast::Receiver<FeedNotice> {
        self.news.subscribe_to_memory()
    }

    /// Subscribes to the commits of one agent.
    #[must_use]
    pub fn subscribe_to(&self, agent_id: &AgentId) -> broadcast::Receiver<FeedNotice> {
        self.news.subscribe_to(agent_id)
    }

    /// Returns the source of subscriptions for readers.
    #[must_use]
    pub fn feed(&self) -> FeedSource {
        self.news.source()
    }

    /// Records a clean exit, empties the write-ahead log and closes the file.
    ///
    /// # Errors
    /// When the exit cannot be recorded. The store is closed all the same and counts as not closed properly.
    pub fn close(mut self) -> Result<(), Error> {
        self.check_held()?;
        self.reopen_if_suspect()?;
        if let Some(note) = self.note.take() {
            note.remove();
        }
        exit::leave(&self.conn, &self.occupant)?;
        if let Location::File(_) = self.location {
            // A reader may still hold the log. The next open applies the rest of it.
            drop(
                self.conn
                    .wal_checkpoint_v2(Some("main"), rusqlite::wal::CheckpointMode::TRUNCATE),
            );
        }
        open::close_in_order(self.conn)
    }
}
