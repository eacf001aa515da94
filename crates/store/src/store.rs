//! `Store`: everything the shell asks of the database around a transaction. No type of the database is in it.
//!
//! Two implementations: [`SqliteStore`](crate::SqliteStore) with the writer thread and the pool of readers, for a host,
//! and [`Inline`] without any thread, for the simulation.

use crate::db::Db;
use crate::delete::Removal;
use crate::effects::{DueCursor, DuePage, DueScope};
use crate::error::{Error, WriteError};
use crate::held::StoreLost;
use crate::ledger::Ledger;
use crate::reader::Reader;
use crate::turn_rows::{self, LeftBehind, TaskLook, TurnRows};
use crate::work_rows::{self, WorkLook};
use async_trait::async_trait;
use holon_domain::agent::AgentRecord;
use holon_domain::effect::{EffectId, EffectRecord};
use holon_domain::feed::FeedNotice;
use holon_domain::intent::WorkQuery;
use holon_domain::log::LogEntry;
use holon_domain::task::TaskRecord;
use holon_domain::{AgentId, TaskId, Timestamp, WorkItemId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// What is done inside one transaction. May be run again, so it has no side effect but through its ledger.
pub type Job = Box<dyn FnMut(&mut dyn Ledger) -> Result<(), Error> + Send>;

/// The database, as the shell sees it.
#[async_trait]
pub trait Store: std::fmt::Debug + Send + Sync {
    /// Runs a job inside the next commit and answers once it holds. `bytes` is the size of its input, which bounds
    /// a batch. See [`commit`] for a job with a value.
    async fn commit(&self, bytes: usize, job: Job) -> Result<(), WriteError>;

    /// A page of what is due by `until` for the agents of a scope, earliest first.
    async fn due(
        &self,
        scope: &DueScope,
        until: Timestamp,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DuePage, Error>;

    /// What the wall clock said at the last commit that recorded an event, for any agent.
    async fn newest_event_at(&self) -> Result<Option<Timestamp>, Error>;

    /// A page of the agents boot must look at, by name.
    async fn agents_to_recover(
        &self,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error>;

    /// A page of an agent's open effects behind the one numbered `after`, in the order they were opened.
    async fn open_effects(
        &self,
        agent_id: &AgentId,
        after: EffectId,
        limit: usize,
    ) -> Result<Vec<EffectRecord>, Error>;

    /// An agent that effects are performed for.
    ///
    /// # Errors
    /// `Aside` when it was put aside, as for every read of one agent below; `Row` when its rows cannot be read.
    async fn agent(&self, agent_id: &AgentId) -> Result<Option<AgentRecord>, Error>;

    /// Everything a request of an agent's open turn is built from; none when that turn is over.
    async fn turn(&self, agent_id: &AgentId, turn_index: u64) -> Result<Option<TurnRows>, Error>;

    /// The agent and the round whose call its open turn runs; none when it runs no call, or the log does not hold it.
    async fn round_in_hand(
        &self,
        agent_id: &AgentId,
    ) -> Result<Option<(AgentRecord, LogEntry)>, Error>;

    /// One task of an agent, and whether a message waits to enter its turn.
    async fn task(&self, agent_id: &AgentId, task_id: &TaskId) -> Result<TaskLook, Error>;

    /// An agent's tasks that are not over, in the order they began.
    async fn active_tasks(&self, agent_id: &AgentId) -> Result<Vec<TaskRecord>, Error>;

    /// What a query about an agent's work finds; none when there is no such agent.
    async fn work(&self, agent_id: &AgentId, query: &WorkQuery) -> Result<Option<WorkLook>, Error>;

    /// Of these items, the ones that an agent does not have and that no call in hand is about to make.
    async fn items_without_row(
        &self,
        agent_id: &AgentId,
        items: Vec<WorkItemId>,
    ) -> Result<Vec<WorkItemId>, Error>;

    /// What a process that is gone left of an agent, also of one that was put aside.
    async fn left_behind(&self, agent_id: &AgentId) -> Result<Option<LeftBehind>, Error>;

    /// Whether clients may see an agent; false when there is none.
    async fn is_public(&self, agent_id: &AgentId) -> Result<bool, Error>;

    /// The home of an agent that is put aside, by its settings alone; none when it is not aside.
    async fn home_of_aside(&self, agent_id: &AgentId) -> Result<Option<String>, Error>;

    /// The first temporary agents that were put aside, by name. Recovery passes them over, but their callers are gone.
    async fn temporary_aside(&self, limit: usize) -> Result<Vec<AgentId>, Error>;

    /// Removes at most `limit` rows of an agent, its own row last. Called again until `Done`.
    async fn remove_agent_rows(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Removal, WriteError>;

    /// Removes the oldest events of the largest holders while the host holds more than `budget_bytes`, a bounded
    /// number; answers how many went.
    async fn trim_events(&self, budget_bytes: u64) -> Result<u64, WriteError>;

    /// News after each commit: one notice per agent with new events.
    fn subscribe(&self) -> broadcast::Receiver<FeedNotice>;

    /// How many commits changed something since the store was opened.
    fn commits(&self) -> u64;

    /// Which file of the store is no longer there, once one is not: nothing is acknowledged from then on.
    fn lost(&self) -> Option<StoreLost>;

    /// Accepts nothing more, writes what waits, notes a clean exit and closes. A second call does nothing.
    async fn close(&self) -> Result<(), Error>;
}

/// Runs a job with a value inside the next commit.
///
/// # Errors
/// What the commit came to; see [`WriteError`].
pub async fn commit<T: Send + 'static>(
    store: &dyn Store,
    bytes: usize,
    mut job: impl FnMut(&mut dyn Ledger) -> Result<T, Error> + Send + 'static,
) -> Result<T, WriteError> {
    let value = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&value);
    let job: Job = Box::new(move |ledger| {
        let done = job(ledger)?;
        *lock(&kept) = Some(done);
        Ok(())
    });
    store.commit(bytes, job).await?;
    lock(&value).take().ok_or(WriteError::CommitUnknown)
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store without a thread: a commit is made where it is asked for, and every call is done when it returns.
#[derive(Debug)]
pub struct Inline(Mutex<Db>);

impl Inline {
    /// A store on this database.
    #[must_use]
    pub const fn new(db: Db) -> Self {
        Self(Mutex::new(db))
    }

    /// The database itself: to read, to take an image, to look at what is outstanding.
    pub fn db(&self) -> MutexGuard<'_, Db> {
        lock(&self.0)
    }

    fn read<T>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T, Error>) -> Result<T, Error> {
        read(&self.db().reader())
    }
}

#[async_trait]
impl Store for Inline {
    async fn commit(&self, _bytes: usize, mut job: Job) -> Result<(), WriteError> {
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
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error> {
        self.read(|reader| reader.agents_to_recover(after.as_ref(), limit))
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

    async fn turn(&self, agent_id: &AgentId, turn_index: u64) -> Result<Option<TurnRows>, Error> {
        self.read(|reader| turn_rows::turn(reader, agent_id, turn_index))
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

    async fn left_behind(&self, agent_id: &AgentId) -> Result<Option<LeftBehind>, Error> {
        self.read(|reader| turn_rows::left_behind(reader, agent_id))
    }

    async fn is_public(&self, agent_id: &AgentId) -> Result<bool, Error> {
        self.read(|reader| reader.is_public(agent_id))
    }

    async fn home_of_aside(&self, agent_id: &AgentId) -> Result<Option<String>, Error> {
        self.read(|reader| turn_rows::home_of_aside(reader, agent_id))
    }

    async fn temporary_aside(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        self.read(|reader| reader.temporary_aside(limit))
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

    fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.db().subscribe()
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
