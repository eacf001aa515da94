//! `Writer`: the one thread that writes. It takes the queued jobs, runs them as one batch, commits once and answers.
//!
//! Owns the pace only: the size of a batch and the time of a checkpoint. `batch` holds the rules of a batch, and
//! `space` the handling of a full disk.

use crate::checkpoint::Checkpointer;
use crate::db::{Db, Location};
use crate::error::{Error, WriteError};
use crate::feed::{Feed, FeedSource};
use crate::held_files::StoreLost;
use crate::inbox::{Closing, Inbox, InboxEvent, WriteOrder};
use crate::member::Member;
use crate::space::SpaceLog;
use crate::tx::Tx;
use holon_domain::AgentId;
use holon_domain::feed::FeedNotice;
use holon_domain::limits::{BATCH_BYTES, BATCH_INPUTS, BATCH_MS};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, oneshot, watch};

/// Longest time between two checks that the store is still there.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// The bounds of a batch.
#[derive(Debug, Clone, Copy)]
struct Pace {
    inputs: usize,
    bytes: usize,
    time: Duration,
}

impl Pace {
    const USUAL: Self = Self {
        inputs: BATCH_INPUTS,
        bytes: BATCH_BYTES,
        time: Duration::from_millis(BATCH_MS),
    };
}

/// A queued write, with the size given by its caller.
struct QueuedWrite {
    bytes: usize,
    member: Box<dyn Member + Send>,
}

/// The handle of the writer thread. Clones share it. Dropping the last one ends the thread after the queued writes.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

struct Shared {
    inbox: Arc<Inbox<QueuedWrite>>,
    news: Feed,
    commits: Arc<AtomicU64>,
    lost: watch::Receiver<Option<StoreLost>>,
    closed: Mutex<Option<oneshot::Receiver<Result<(), Error>>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.inbox.close(Closing::Abandoned);
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("commits", &self.commits())
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the writer thread of this store.
    ///
    /// # Panics
    /// When the system cannot start a thread, without which the host cannot run.
    #[must_use]
    pub fn start(db: Db) -> Self {
        Self::start_at(Pace::USUAL, db)
    }

    fn start_at(pace: Pace, db: Db) -> Self {
        let inbox = Arc::new(Inbox::new());
        let (done, closed) = oneshot::channel();
        let shared = Shared {
            inbox: Arc::clone(&inbox),
            news: db.news.clone(),
            commits: Arc::clone(&db.commits),
            lost: db.lost(),
            closed: Mutex::new(Some(closed)),
        };
        let thread = std::thread::Builder::new()
            .name("holon-writer".to_owned())
            .spawn(move || {
                let last = InboxCloser { inbox: &inbox };
                let outcome = serve(db, &inbox, pace);
                drop(last);
                // If the handle was dropped instead of closed, there is no receiver.
                drop(done.send(outcome));
            });
        if let Err(error) = thread {
            panic!("the system starts no writer thread: {error}");
        }
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Runs a write inside the next commit and returns once the commit holds. The closure may be run again and must
    /// have no side effect. If the caller stops waiting, the
    /// write and its hooks run all the same.
    ///
    /// # Errors
    /// The failure of the write; see [`WriteError`].
    pub async fn write<T, F>(&self, order: WriteOrder, f: F) -> Result<T, WriteError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let member = Box::new(WaitingWrite {
            run: f,
            value: None,
            reply: Some(reply),
        });
        let WriteOrder { class, bytes } = order;
        let queued = QueuedWrite { bytes, member };
        self.shared.inbox.push(class, queued)?;
        // The writer answers every member it takes, and at its end those it did not take. A member without an answer
        // was in the batch in which the thread died.
        answer.await.unwrap_or(Err(WriteError::CommitUnknown))
    }

    /// Subscribes to commits: one notice per agent with new events.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.shared.news.subscribe()
    }

    /// Subscribes to the commits that change what a memory index holds.
    #[must_use]
    pub fn subscribe_to_memory(&self) -> broadcast::Receiver<FeedNotice> {
        self.shared.news.subscribe_to_memory()
    }

    /// Subscribes to the commits of one agent.
    #[must_use]
    pub fn subscribe_to(&self, agent_id: &AgentId) -> broadcast::Receiver<FeedNotice> {
        self.shared.news.subscribe_to(agent_id)
    }

    /// Returns the source of subscriptions for readers.
    #[must_use]
    pub fn feed(&self) -> FeedSource {
        self.shared.news.source()
    }

    /// Number of commits that changed something since the store was opened.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// The lost file of the store, if there is one.
    #[must_use]
    pub fn lost(&self) -> Option<StoreLost> {
        self.shared.lost.borrow().clone()
    }

    /// Accepts nothing more, writes the queued jobs, records a clean exit and closes the file. A second call does
    /// nothing.
    ///
    /// # Errors
    /// When the clean exit could not be recorded, or the thread had died.
    pub async fn close(&self) -> Result<(), Error> {
        self.shared.inbox.close(Closing::Requested);
        let waiting = self
            .shared
            .closed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match waiting {
            Some(closed) => closed.await.unwrap_or(Err(Error::WriterGone)),
            None => Ok(()),
        }
    }
}

/// Closes the inbox when the thread ends for any reason: it accepts nothing more and answers the queued writes.
struct InboxCloser<'a> {
    inbox: &'a Inbox<QueuedWrite>,
}

impl Drop for InboxCloser<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(
                "the writer thread died: nothing more is written; start the host again"
            );
        }
        let refusal = self.inbox.close(Closing::Abandoned).refusal();
        while let Some(mut job) = self.inbox.poll() {
            job.member.answer(Err(refusal.clone()));
        }
    }
}

fn serve(mut db: Db, inbox: &Inbox<QueuedWrite>, pace: Pace) -> Result<(), Error> {
    let mut checkpointer = match &db.location {
        Location::File(path) => Checkpointer::start(path.clone(), db.held.clone())
            .inspect_err(
                |error| tracing::warn!(%error, "no checkpoint thread; the log is emptied at close"),
            )
            .ok(),
        Location::Memory => None,
    };
    let mut space = SpaceLog::new(db.full.clone());
    let mut tended = Instant::now();
    loop {
        if let Err(error) = check_store(&mut db, &mut tended) {
            if let Error::Lost(lost) = &error {
                inbox.close(Closing::Lost(lost.clone()));
            }
            return Err(error);
        }
        let first = match inbox.wait(CHECK_EVERY) {
            InboxEvent::Item(job) => job,
            InboxEvent::Timeout => continue,
            InboxEvent::Closed(Closing::Requested) => return db.close(),
            InboxEvent::Closed(Closing::Abandoned | Closing::Lost(_)) => return Ok(()),
        };
        let before = db.commits.load(Ordering::Relaxed);
        match run_batch(&mut db, inbox, first, pace) {
            // Only a write that holds proves free space. A batch may have had nothing to write.
            0 if db.commits.load(Ordering::Relaxed) > before => space.note_written(),
            0 => {}
            refused => space.note_full(refused, Instant::now()),
        }
        if let Some(checkpointer) = &mut checkpointer {
            checkpointer.tend(&db);
        }
    }
}

/// Called between two batches: ends if the store is lost, and does its periodic upkeep. A batch has already checked
/// that the store is there.
fn check_store(db: &mut Db, tended: &mut Instant) -> Result<(), Error> {
    if let Some(lost) = db.lost.borrow().clone() {
        return Err(lost.into());
    }
    if tended.elapsed() >= CHECK_EVERY {
        *tended = Instant::now();
        db.check_held()?;
        db.tend();
    }
    Ok(())
}

/// Runs one batch of the queued writes, up to the bounds, without waiting for more. Returns the number of writes that
/// found no space.
fn run_batch(db: &mut Db, inbox: &Inbox<QueuedWrite>, first: QueuedWrite, pace: Pace) -> usize {
    let started = Instant::now();
    let (mut inputs, mut bytes) = (0, 0);
    let mut first = Some(first);
    let report = db.run_batch(&mut || {
        let spent = inputs >= pace.inputs
            || bytes >= pace.bytes
            || inputs > 0 && started.elapsed() >= pace.time;
        if spent {
            return None;
        }
        let job = first.take().or_else(|| inbox.poll())?;
        inputs += 1;
        bytes += job.bytes;
        Some(job.member as Box<dyn Member>)
    });
    report.full
}

/// A member whose caller waits for a reply.
struct WaitingWrite<T, F> {
    run: F,
    value: Option<T>,
    reply: Option<oneshot::Sender<Result<T, WriteError>>>,
}

impl<T, F: FnMut(&mut Tx<'_>) -> Result<T, Error>> Member for WaitingWrite<T, F> {
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Error> {
        self.value = Some((self.run)(tx)?);
        Ok(())
    }

    fn answer(&mut self, verdict: Result<(), WriteError>) {
        let answer = verdict.and_then(|()| self.value.take().ok_or(WriteError::CommitUnknown));
        if let Some(reply) = self.reply.take() {
            // A caller that stopped waiting gets no answer; the write holds all the same.
            drop(reply.send(answer));
        }
    }
}

#[cfg(test)]
mod tests;
