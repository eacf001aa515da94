//! The store of a host: the writer thread for commits, and the pool of readers.

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
use crate::readers::Readers;
use crate::store::{Job, Store};
use crate::turn_rows::{self, HomeOfAside, RecoveryRows, TaskLook, TurnLog, TurnRows};
use crate::work_rows::{self, WorkLook};
use crate::worktree_users;
use crate::writer::Writer;
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
use tokio::sync::broadcast;

/// SQLite with one writer thread and a pool of read-only connections. Clones share both.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    writer: Writer,
    readers: Readers,
}

impl SqliteStore {
    /// Starts the writer thread of an open database.
    #[must_use]
    pub fn start(db: Db, readers: Readers) -> Self {
        Self {
            writer: Writer::start(db),
            readers,
        }
    }
}

impl SqliteStore {
    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, order: WriteOrder, mut job: Job) -> Result<(), WriteError> {
        self.writer.write(order, move |tx| job(tx)).await
    }

    async fn due(
        &self,
        scope: &DueScope,
        until: Timestamp,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DuePage, Error> {
        let scope = scope.clone();
        let page = move |reader: &crate::Reader<'_>| reader.due(&scope, until, after, limit);
        self.readers.read(page).await
    }

    async fn newest_event_at(&self) -> Result<Option<Timestamp>, Error> {
        let newest = |reader: &crate::Reader<'_>| reader.newest_event_at();
        self.readers.read(newest).await
    }

    async fn agents_to_recover(
        &self,
        from: Option<RecoveryCursor>,
        limit: usize,
    ) -> Result<RecoveryPage, Error> {
        let page = move |reader: &crate::Reader<'_>| reader.agents_to_recover(from, limit);
        self.readers.read(page).await
    }

    async fn open_effects(
        &self,
        agent_id: &AgentId,
        after: EffectId,
        limit: usize,
    ) -> Result<Vec<EffectRecord>, Error> {
        let agent_id = agent_id.clone();
        let page = move |reader: &crate::Reader<'_>| reader.open_effects(&agent_id, after, limit);
        self.readers.read(page).await
    }

    async fn agent(&self, agent_id: &AgentId) -> Result<Option<AgentRecord>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| turn_rows::agent(reader, &id);
        self.readers.read(read).await
    }

    async fn turn(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        known: TurnLog,
    ) -> Result<Option<TurnRows>, Error> {
        let id = agent_id.clone();
        let read =
            move |reader: &crate::Reader<'_>| turn_rows::turn(reader, &id, turn_index, known);
        self.readers.read(read).await
    }

    async fn round_in_hand(
        &self,
        agent_id: &AgentId,
    ) -> Result<Option<(AgentRecord, LogEntry)>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| turn_rows::round_in_hand(reader, &id);
        self.readers.read(read).await
    }

    async fn task(&self, agent_id: &AgentId, task_id: &TaskId) -> Result<TaskLook, Error> {
        let (id, task_id) = (agent_id.clone(), task_id.clone());
        let read = move |reader: &crate::Reader<'_>| turn_rows::task(reader, &id, &task_id);
        self.readers.read(read).await
    }

    async fn worktree_users(&self) -> Result<Vec<WorktreeUser>, Error> {
        worktree_users::list(&self.readers).await
    }

    async fn triggers(&self, agent_id: &AgentId) -> Result<Vec<TriggerRecord>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| turn_rows::triggers(reader, &id);
        self.readers.read(read).await
    }

    async fn active_tasks(&self, agent_id: &AgentId) -> Result<Vec<TaskRecord>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| turn_rows::active_tasks(reader, &id);
        self.readers.read(read).await
    }

    async fn work(&self, agent_id: &AgentId, query: &WorkQuery) -> Result<Option<WorkLook>, Error> {
        let (id, query) = (agent_id.clone(), query.clone());
        let read = move |reader: &crate::Reader<'_>| work_rows::look(reader, &id, &query);
        self.readers.read(read).await
    }

    async fn items_without_row(
        &self,
        agent_id: &AgentId,
        items: Vec<WorkItemId>,
    ) -> Result<Vec<WorkItemId>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| work_rows::without_row(reader, &id, items);
        self.readers.read(read).await
    }

    async fn delivery(
        &self,
        agent_id: &AgentId,
        route: &DeliveryRoute,
        seq: DeliverySeq,
    ) -> Result<Option<DeliveryRow>, Error> {
        let (id, route) = (agent_id.clone(), route.clone());
        let read = move |reader: &crate::Reader<'_>| reader.delivery(&id, &route, seq);
        self.readers.read(read).await
    }

    async fn recovery_rows(&self, agent_id: &AgentId) -> Result<Option<RecoveryRows>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| turn_rows::recovery_rows(reader, &id);
        self.readers.read(read).await
    }

    async fn is_public(&self, agent_id: &AgentId) -> Result<bool, Error> {
        let id = agent_id.clone();
        self.readers.read(move |reader| reader.is_public(&id)).await
    }

    async fn home_of_aside(&self, agent_id: &AgentId) -> Result<Option<HomeOfAside>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| turn_rows::home_of_aside(reader, &id);
        self.readers.read(read).await
    }

    async fn temporary_aside(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        let read = move |reader: &crate::Reader<'_>| reader.temporary_aside(limit);
        self.readers.read(read).await
    }

    async fn removed_with(&self, agent_id: &AgentId) -> Result<Vec<AgentId>, Error> {
        let id = agent_id.clone();
        let read = move |reader: &crate::Reader<'_>| reader.removed_with(&id);
        self.readers.read(read).await
    }

    async fn orphans(&self, after: i64, limit: usize) -> Result<OrphanPage, Error> {
        let read = move |reader: &crate::Reader<'_>| reader.orphans(after, limit);
        self.readers.read(read).await
    }

    async fn remove_agent_rows(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Removal, WriteError> {
        let agent_id = agent_id.clone();
        let remove = move |tx: &mut crate::Tx<'_>| tx.remove_rows_of(&agent_id, limit);
        self.writer.write(WriteOrder::runtime(0), remove).await
    }

    async fn trim_events(&self, budget_bytes: u64) -> Result<u64, WriteError> {
        let trim = move |tx: &mut crate::Tx<'_>| tx.trim_to(budget_bytes);
        self.writer.write(WriteOrder::runtime(0), trim).await
    }

    async fn trim_history(
        &self,
        agent_id: &AgentId,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, WriteError> {
        let id = agent_id.clone();
        let trim = move |tx: &mut crate::Tx<'_>| tx.trim_history(&id, rule);
        self.writer.write(WriteOrder::runtime(0), trim).await
    }

    async fn history_step(
        &self,
        agent_id: &AgentId,
        from: HistoryPosition,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, Error> {
        let id = agent_id.clone();
        let plan = move |reader: &crate::Reader<'_>| reader.history_step(&id, &from, rule);
        self.readers.read(plan).await
    }

    async fn history_holders(&self) -> Result<Vec<HistoryHolder>, Error> {
        self.readers.read(|reader| reader.history_holders()).await
    }

    async fn named_images(&self, digests: &[ImageDigest]) -> Result<Vec<ImageDigest>, Error> {
        let digests = digests.to_vec();
        let named = move |reader: &crate::Reader<'_>| reader.named_images(&digests);
        self.readers.read(named).await
    }

    async fn database_size(&self) -> Result<DatabaseSize, Error> {
        self.readers.database_size().await
    }

    async fn prune_memory_outbox(
        &self,
        agent_id: &AgentId,
        position: u64,
    ) -> Result<u64, WriteError> {
        let id = agent_id.clone();
        let prune = move |tx: &mut crate::Tx<'_>| {
            tx.prune_memory_outbox(&id, position, MEMORY_OUTBOX_PRUNE)
        };
        self.writer.write(WriteOrder::runtime(0), prune).await
    }

    async fn write_workspace_profile(
        &self,
        profile: WorkspaceProfile,
        at: Timestamp,
    ) -> Result<(), WriteError> {
        let write = move |tx: &mut crate::Tx<'_>| tx.write_workspace_profile(&profile, at);
        self.writer.write(WriteOrder::runtime(0), write).await
    }

    async fn note_recovered(&self) -> Result<(), WriteError> {
        self.writer
            .write(WriteOrder::runtime(0), |tx: &mut crate::Tx<'_>| {
                tx.note_recovered()
            })
            .await
    }

    fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.writer.subscribe()
    }

    fn subscribe_to(&self, agent_id: &AgentId) -> broadcast::Receiver<FeedNotice> {
        self.writer.subscribe_to(agent_id)
    }

    fn subscribe_to_memory(&self) -> broadcast::Receiver<FeedNotice> {
        self.writer.subscribe_to_memory()
    }

    fn feed(&self) -> FeedSource {
        self.writer.feed()
    }

    fn commits(&self) -> u64 {
        self.writer.commits()
    }

    fn lost(&self) -> Option<StoreLost> {
        self.writer.lost()
    }

    async fn close(&self) -> Result<(), Error> {
        self.writer.close().await
    }
}
