//! `MemoryReads`: what feeding an agent's memory index reads from the store. It cannot write.

use crate::error::Error;
use crate::memory_index::{IndexOwner, IndexPosition, MemoryBatch};
use crate::memory_rows::StoredProfile;
use crate::readers::Readers;
use crate::sqlite::SqliteStore;
use crate::store::Inline;
use async_trait::async_trait;
use holon_domain::memory::{EpisodeRecord, EpisodeSeq};
use holon_domain::{AgentId, WorkspaceId};

/// The reads of a memory index.
#[async_trait]
pub trait MemoryReads: std::fmt::Debug + Send + Sync {
    /// Returns the owner of an agent's index; `None` if there is no such agent.
    async fn memory_owner(&self, agent_id: &AgentId) -> Result<Option<IndexOwner>, Error>;

    /// Reads the next step of an index. `None` if there is nothing to do.
    async fn memory_batch(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<Option<MemoryBatch>, Error>;

    /// Counts the changes that an index has not taken.
    async fn memory_pending(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<u64, Error>;

    /// Lists agents with changes in their outbox, by name.
    async fn memory_waiting(&self, limit: usize) -> Result<Vec<AgentId>, Error>;

    /// Lists agents behind a name, by name. Those that are aside are left out.
    async fn memory_agents(
        &self,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error>;

    /// Reads the profile of a workspace.
    async fn workspace_profile(&self, id: &WorkspaceId) -> Result<Option<StoredProfile>, Error>;

    /// Reads episodes of an agent; none if there is no such agent.
    async fn episodes(
        &self,
        agent_id: &AgentId,
        range: EpisodeRange,
    ) -> Result<Vec<EpisodeRecord>, Error>;
}

/// Episodes by position, each with the largest number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpisodeRange {
    /// Those before a position, the newest first.
    Before(EpisodeSeq, usize),
    /// Those behind a position, the oldest first.
    After(EpisodeSeq, usize),
}

#[async_trait]
impl MemoryReads for Readers {
    async fn memory_owner(&self, agent_id: &AgentId) -> Result<Option<IndexOwner>, Error> {
        let id = agent_id.clone();
        self.read(move |reader| reader.memory_owner(&id)).await
    }

    async fn memory_batch(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<Option<MemoryBatch>, Error> {
        let (id, position) = (agent_id.clone(), position.clone());
        self.read(move |reader| reader.memory_batch(&id, &position))
            .await
    }

    async fn memory_pending(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<u64, Error> {
        let (id, position) = (agent_id.clone(), position.clone());
        self.read(move |reader| reader.memory_pending(&id, &position))
            .await
    }

    async fn memory_waiting(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        self.read(move |reader| reader.memory_waiting(limit)).await
    }

    async fn memory_agents(
        &self,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error> {
        self.read(move |reader| reader.memory_agents(after.as_ref(), limit))
            .await
    }

    async fn workspace_profile(&self, id: &WorkspaceId) -> Result<Option<StoredProfile>, Error> {
        let id = id.clone();
        self.read(move |reader| reader.workspace_profile(&id)).await
    }

    async fn episodes(
        &self,
        agent_id: &AgentId,
        range: EpisodeRange,
    ) -> Result<Vec<EpisodeRecord>, Error> {
        let id = agent_id.clone();
        self.read(move |reader| reader.episodes(&id, range)).await
    }
}

#[async_trait]
impl MemoryReads for SqliteStore {
    async fn memory_owner(&self, agent_id: &AgentId) -> Result<Option<IndexOwner>, Error> {
        self.readers().memory_owner(agent_id).await
    }

    async fn memory_batch(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<Option<MemoryBatch>, Error> {
        self.readers().memory_batch(agent_id, position).await
    }

    async fn memory_pending(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<u64, Error> {
        self.readers().memory_pending(agent_id, position).await
    }

    async fn memory_waiting(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        MemoryReads::memory_waiting(self.readers(), limit).await
    }

    async fn memory_agents(
        &self,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error> {
        MemoryReads::memory_agents(self.readers(), after, limit).await
    }

    async fn workspace_profile(&self, id: &WorkspaceId) -> Result<Option<StoredProfile>, Error> {
        MemoryReads::workspace_profile(self.readers(), id).await
    }

    async fn episodes(
        &self,
        agent_id: &AgentId,
        range: EpisodeRange,
    ) -> Result<Vec<EpisodeRecord>, Error> {
        MemoryReads::episodes(self.readers(), agent_id, range).await
    }
}

#[async_trait]
impl MemoryReads for Inline {
    async fn memory_owner(&self, agent_id: &AgentId) -> Result<Option<IndexOwner>, Error> {
        self.db().reader().memory_owner(agent_id)
    }

    async fn memory_batch(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<Option<MemoryBatch>, Error> {
        self.db().reader().memory_batch(agent_id, position)
    }

    async fn memory_pending(
        &self,
        agent_id: &AgentId,
        position: &IndexPosition,
    ) -> Result<u64, Error> {
        self.db().reader().memory_pending(agent_id, position)
    }

    async fn memory_waiting(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        self.db().reader().memory_waiting(limit)
    }

    async fn memory_agents(
        &self,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error> {
        self.db().reader().memory_agents(after.as_ref(), limit)
    }

    async fn workspace_profile(&self, id: &WorkspaceId) -> Result<Option<StoredProfile>, Error> {
        self.db().reader().workspace_profile(id)
    }

    async fn episodes(
        &self,
        agent_id: &AgentId,
        range: EpisodeRange,
    ) -> Result<Vec<EpisodeRecord>, Error> {
        self.db().reader().episodes(agent_id, range)
    }
}
