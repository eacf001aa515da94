//! `Store`: the operations on the database that the shell needs outside of a transaction. Exposes no database type.
//!
//! Two implementations: [`SqliteStore`](crate::SqliteStore) with a writer thread and a pool of readers, for a host, and
//! [`Inline`] without any thread, for the simulation.

use crate::agents::{RecoveryCursor, RecoveryPage};
use crate::children::OrphanPage;
use crate::db::Db;
use crate::delete::Removal;
use crate::deliveries::DeliveryRow;
use crate::effects::{DueCursor, DuePage, DueScope};
use crate::error::{Error, WriteError};
use crate::feed::FeedSource;
use crate::held_files::StoreLost;
use crate::inbox::WriteOrder;
use crate::ledger::Ledger;
use crate::memory_reads::MemoryReads;
use crate::reader::Reader;
use crate::turn_rows::{self, HomeOfAside, RecoveryRows, TaskLook, TurnLog, TurnRows};
use crate::work_rows::{self, WorkLook};
use crate::worktree_users;
use async_trait::async_trait;
use holon_domain::agent::AgentRecord;
use holon_domain::delivery::{DeliveryRoute, DeliverySeq};
use holon_domain::effect::{EffectId, EffectRecord};
use holon_domain::feed::FeedNotice;
use holon_domain::image::ImageDigest;
use holon_domain::intent::WorkQuery;
use holon_domain::limits::MEMORY_OUTBOX_PRUNE;
use holon_domain::log::LogEntry;
use holon_domain::memory::WorkspaceProfile;
use holon_domain::storage::{
    DatabaseSize, HistoryHolder, HistoryPosition, HistoryRule, HistoryStep,
};
use holon_domain::task::TaskRecord;
use holon_domain::trigger::TriggerRecord;
use holon_domain::workspace::WorktreeUser;
use holon_domain::{AgentId, TaskId, Timestamp, WorkItemId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// The work of one transaction. It may be run again, so it has no side effect except through its ledger.
pub type Job = Box<dyn FnMut(&mut dyn Ledger) -> Result<(), Error> + Send>;

/// The database as the shell uses it.
#[async_trait]
pub trait Store: MemoryReads {
    /// Runs a job inside the next commit and returns once the commit holds. See [`commit`] for a job with a value.
    async fn commit(&self, order: WriteOrder, job: Job) -> Result<(), WriteError>;

    /// Returns a page of the entries that are due by `until` for the agents of a scope, earliest first.
    async fn due(
        &self,
        scope: &DueScope,
        until: Timestamp,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DuePage, Error>;

    /// Wall clock time of the newest recorded event of any agent.
    async fn newest_event_at(&self) -> Result<Option<Timestamp>, Error>;

    /// Returns a page of the agents that boot must recover.
    async fn agents_to_recover(
        &self,
        from: Option<RecoveryCursor>,
        limit: usize,
    ) -> Result<RecoveryPage, Error>;

    /// Returns a page of an agent's open effects after the one numbered `after`, in the order they were opened.
    async fn open_effects(
        &self,
        agent_id: &AgentId,
        after: EffectId,
        limit: usize,
    ) -> Result<Vec<EffectRecord>, Error>;

    /// Reads an agent that effects are performed for.
    ///
    /// # Errors
    /// `Aside` when it was put aside, as for every read of one agent below; `Row` when its rows cannot be read.
    async fn agent(&self, agent_id: &AgentId) -> Result<Option<AgentRecord>, Error>;

    /// Reads all rows that a request of an agent's open turn is built from. `known` holds what the caller has read of
    /// the turn's log. `None` if that turn is over.
    async fn turn(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        known: TurnLog,
    ) -> Result<Option<TurnRows>, Error>;

    /// Reads the agent and the round whose call its open turn runs. `None` if no call runs, or the log does not hold
    /// it.
    async fn round_in_hand(
        &self,
        agent_id: &AgentId,
    ) -> Result<Option<(AgentRecord, LogEntry)>, Error>;

    /// Reads one task of an agent, and checks if a message waits to enter its turn.
    async fn task(&self, agent_id: &AgentId, task_id: &TaskId) -> Result<TaskLook, Error>;

    /// Lists an agent's unfinished tasks in the order they began.
    async fn active_tasks(&self, agent_id: &AgentId) -> Result<Vec<TaskRecord>, Error>;

    /// Lists every agent with its tasks as users of directories.
    async fn worktree_users(&self) -> Result<Vec<WorktreeUser>, Error>;

    /// Lists an agent's external triggers, newest first. Empty if there is no such agent.
    async fn triggers(&self, agent_id: &AgentId) -> Result<Vec<TriggerRecord>, Error>;

    /// Answers a query about an agent's work. `None` if there is no such agent.
    async fn work(&self, agent_id: &AgentId, query: &WorkQuery) -> Result<Option<WorkLook>, Error>;

    /// Returns those of the given items that have no row and that no running call is about to create.
    async fn items_without_row(
        &self,
        agent_id: &AgentId,
        items: Vec<WorkItemId>,
    ) -> Result<Vec<WorkItemId>, Error>;

    /// Reads a delivery with its text and its binding. `None` if the agent or the row is gone.
    async fn delivery(
        &self,
        agent_id: &AgentId,
        route: &DeliveryRoute,
        seq: DeliverySeq,
    ) -> Result<Option<DeliveryRow>, Error>;

    /// Reads the rows that a recovery needs, also of an agent that was put aside.
    async fn recovery_rows(&self, agent_id: &AgentId) -> Result<Option<RecoveryRows>, Error>;

    /// Returns true if clients may see the agent; false if there is none.
    async fn is_public(&self, agent_id: &AgentId) -> Result<bool, Error>;

    /// Returns the home of an agent that is put aside, read from its settings alone. `None` if it is not aside.
    async fn home_of_aside(&self, agent_id: &AgentId) -> Result<Option<HomeOfAside>, Error>;

    /// Lists the first temporary agents that were put aside, by name. Recovery skips them, but their callers are gone.
    async fn temporary_aside(&self, limit: usize) -> Result<Vec<AgentId>, Error>;

    /// Lists the children that are removed with an agent, also of one that was put aside.
    async fn removed_with(&self, agent_id: &AgentId) -> Result<Vec<AgentId>, Error>;

    /// Lists a page of the children whose parent is gone; `after` is where the page before ended, at first 0.
    async fn orphans(&self, after: i64, limit: usize) -> Result<OrphanPage, Error>;

    /// Removes at most `limit` rows of an agent, its own row last. The caller repeats it until `Done`.
    async fn remove_agent_rows(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Removal, WriteError>;

    /// Removes a bounded number of the oldest events of the largest holders while the host holds more than
    /// `budget_bytes`. Returns the number of removed events.
    async fn trim_events(&self, budget_bytes: u64) -> Result<u64, WriteError>;

    /// Removes the next part of an agent's oldest turns by a rule, in one commit. `None` if nothing is
    /// left to remove.
    async fn trim_history(
        &self,
        agent_id: &AgentId,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, WriteError>;

    /// Returns the next step of such a removal behind a position without doing it.
    async fn history_step(
        &self,
        agent_id: &AgentId,
        from: HistoryPosition,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, Error>;

    /// Lists the agents with history, in no order.
    async fn history_holders(&self) -> Result<Vec<HistoryHolder>, Error>;

    /// Returns those of the images that a message names.
    async fn named_images(&self, digests: &[ImageDigest]) -> Result<Vec<ImageDigest>, Error>;

    /// Returns the size of the database file.
    async fn database_size(&self) -> Result<DatabaseSize, Error>;

    /// Removes entries of an agent's memory outbox up to a position that its index has taken, a bounded number. Returns the
    /// number of removed entries.
    async fn prune_memory_outbox(
        &self,
        agent_id: &AgentId,
        position: u64,
    ) -> Result<u64, WriteError>;

    /// Writes the profile of a workspace.
    async fn write_workspace_profile(
        &self,
        profile: WorkspaceProfile,
        at: Timestamp,
    ) -> Result<(), WriteError>;

    /// Records that a host has recovered every agent. Changes a restored store only.
    async fn note_recovered(&self) -> Result<(), WriteError>;

    /// Subscribes to commits: one notice per agent with new events.
    fn subscribe(&self) -> broadcast::Receiver<FeedNotice>;

    /// Subscribes to the commits of one agent.
    fn subscribe_to(&self, agent_id: &AgentId) -> broadcast::Receiver<FeedNotice>;

    /// Subscribes to the commits that change what a memory index holds.
    fn subscribe_to_memory(&self) -> broadcast::Receiver<FeedNotice>;

    /// Returns the source of subscriptions for readers.
    fn feed(&self) -> FeedSource;

    /// Number of commits that changed something since the store was opened.
    fn commits(&self) -> u64;

    /// The file of the store that is no longer in its place, if there is one. No commit is acknowledged from then on.
    fn lost(&self) -> Option<StoreLost>;

    /// Accepts nothing more, writes the queued jobs, records a clean exit and closes. A second call does nothing.
    async fn close(&self) -> Result<(), Error>;
}

/// Runs a job with a value inside the next commit.
///
/// # Errors
/// The failure of the commit; see [`WriteError`].
pub async fn commit<T: Send + 'static>(
    store: &dyn Store,
    order: WriteOrder,
    mut job: impl FnMut(&mut dyn Ledger) -> Result<T, Error> + Send + 'static,
) -> Result<T, WriteError> {
    let value = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&value);
    let job: Job = Box::new(move |ledger| {
        let done = job(ledger)?;
        *lock(&kept) = Some(done);
        Ok(())
    });
    store.commit(order, job).await?;
    lock(&value).take().ok_or(WriteError::CommitUnknown)
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store without a thread. A commit is made by its caller, and every call is complete when it returns.
#[derive(Debug)]
pub struct Inline(Mutex<Db>);

impl Inline {
    /// Creates a store on this database.
    #[must_use]
    pub const fn new(db: Db) -> Self {
        Self(Mutex::new(db))
    }

    /// Locks the database for direct reads, for an image, or to inspect outstanding work.
    pub fn db(&self) -> MutexGuard<'_, Db> {
        lock(&self.0)
    }

    fn read<T>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T, Error>) -> Result<T, Error> {
        read(&self.db().reader())
    }
}

#[async_trait]
impl Store for Inline {
    async fn commit(&self, _order: WriteOrder, mut job: Job) -> Result<(), WriteError> {
        self.db().write(|tx| job(tx))
    }

    async fn due(
        &self,
        scope: &DueScope,
        until: Timestamp,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DuePage, Error> {
        self.read(|reader| reader.due(scope, until, after, limit))
    }

    async fn newest_event_at(&self) -> Result<Option<Timestamp>, Error> {
        self.read(|reader| reader.newest_event_at())
    }

    async fn agents_to_recover(
        &self,
        from: Option<RecoveryCursor>,
        limit: usize,
    ) -> Result<RecoveryPage, Error> {
        self.read(|reader| reader.agents_to_recover(from, limit))
    }

    async fn open_effects(
        &self,
        agent_id: &AgentId,
        after: EffectId,
        limit: usize,
    ) -> Result<Vec<EffectRecord>, Error> {
        self.read(|reader| reader.open_effects(agent_id, after, limit))
    }

    async fn agent(&self, agent_id: &AgentId) -> Result<Option<AgentRecord>, Error> {
        self.read(|reader| turn_rows::agent(reader, agent_id))
    }

    async fn turn(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        known: TurnLog,
    ) -> Result<Option<TurnRows>, Error> {
        self.read(|reader| turn_rows::turn(reader, agent_id, turn_index, known))
    }

    async fn round_in_hand(
        &self,
        agent_id: &AgentId,
    ) -> Result<Option<(AgentRecord, LogEntry)>, Error> {
        self.read(|reader| turn_rows::round_in_hand(reader, agent_id))
    }

    async fn task(&self, agent_id: &AgentId, task_id: &TaskId) -> Result<TaskLook, Error> {
        self.read(|reader| turn_rows::task(reader, agent_id, task_id))
    }

    async fn worktree_users(&self) -> Result<Vec<WorktreeUser>, Error> {
        self.read(worktree_users::list_inline)
    }

    async fn triggers(&self, agent_id: &AgentId) -> Result<Vec<TriggerRecord>, Error> {
        self.read(|reader| turn_rows::triggers(reader, agent_id))
    }

    async fn active_tasks(&self, agent_id: &AgentId) -> Result<Vec<TaskRecord>, Error> {
        self.read(|reader| turn_rows::active_tasks(reader, agent_id))
    }

    async fn work(&self, agent_id: &AgentId, query: &WorkQuery) -> Result<Option<WorkLook>, Error> {
        self.read(|reader| work_rows::look(reader, agent_id, query))
    }

    async fn items_without_row(
        &self,
        agent_id: &AgentId,
        items: Vec<WorkItemId>,
    ) -> Result<Vec<WorkItemId>, Error> {
        self.read(|reader| work_rows::without_row(reader, agent_id, items))
    }

    async fn delivery(
        &self,
        agent_id: &AgentId,
        route: &DeliveryRoute,
        seq: DeliverySeq,
    ) -> Result<Option<DeliveryRow>, Error> {
        self.read(|reader| reader.delivery(agent_id, route, seq))
    }

    async fn recovery_rows(&self, agent_id: &AgentId) -> Result<Option<RecoveryRows>, Error> {
        self.read(|reader| turn_rows::recovery_rows(reader, agent_id))
    }

    async fn is_public(&self, agent_id: &AgentId) -> Result<bool, Error> {
        self.read(|reader| reader.is_public(agent_id))
    }

    async fn home_of_aside(&self, agent_id: &AgentId) -> Result<Option<HomeOfAside>, Error> {
        self.read(|reader| turn_rows::home_of_aside(reader, agent_id))
    }

    async fn temporary_aside(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        self.read(|reader| reader.temporary_aside(limit))
    }

    async fn removed_with(&self, agent_id: &AgentId) -> Result<Vec<AgentId>, Error> {
        self.read(|reader| reader.removed_with(agent_id))
    }

    async fn orphans(&self, after: i64, limit: usize) -> Result<OrphanPage, Error> {
        self.read(|reader| reader.orphans(after, limit))
    }

    async fn remove_agent_rows(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Removal, WriteError> {
        self.db().write(|tx| tx.remove_rows_of(agent_id, limit))
    }

    async fn trim_events(&self, budget_bytes: u64) -> Result<u64, WriteError> {
        self.db().write(|tx| tx.trim_to(budget_bytes))
    }

    async fn trim_history(
        &self,
        agent_id: &AgentId,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, WriteError> {
        self.db().write(|tx| tx.trim_history(agent_id, rule))
    }

    async fn history_step(
        &self,
        agent_id: &AgentId,
        from: HistoryPosition,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, Error> {
        self.read(|reader| reader.history_step(agent_id, &from, rule))
    }

    async fn history_holders(&self) -> Result<Vec<HistoryHolder>, Error> {
        self.read(|reader| reader.history_holders())
    }

    async fn named_images(&self, digests: &[ImageDigest]) -> Result<Vec<ImageDigest>, Error> {
        self.read(|reader| reader.named_images(digests))
    }

    async fn database_size(&self) -> Result<DatabaseSize, Error> {
        self.read(|reader| reader.database_size())
    }

    async fn prune_memory_outbox(
        &self,
        agent_id: &AgentId,
        position: u64,
    ) -> Result<u64, WriteError> {
        self.db()
            .write(|tx| tx.prune_memory_outbox(agent_id, position, MEMORY_OUTBOX_PRUNE))
    }

    async fn write_workspace_profile(
        &self,
        profile: WorkspaceProfile,
        at: Timestamp,
    ) -> Result<(), WriteError> {
        self.db()
            .write(|tx| tx.write_workspace_profile(&profile, at))
    }

    async fn note_recovered(&self) -> Result<(), WriteError> {
        self.db().write(|tx| tx.note_recovered())
    }

    fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.db().subscribe()
    }

    fn subscribe_to(&self, agent_id: &AgentId) -> broadcast::Receiver<FeedNotice> {
        self.db().subscribe_to(agent_id)
    }

    fn subscribe_to_memory(&self) -> broadcast::Receiver<FeedNotice> {
        self.db().subscribe_to_memory()
    }

    fn feed(&self) -> FeedSource {
        self.db().feed()
    }

    fn commits(&self) -> u64 {
        self.db().commits()
    }

    fn lost(&self) -> Option<StoreLost> {
        self.db().lost.borrow().clone()
    }

    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}
