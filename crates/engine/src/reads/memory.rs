//! Reads of an agent's memory for clients. Nothing of the store is written; the index takes up its changes.

use super::ReadHandle;
use crate::error::Error;
use crate::memory::MemorySubject;
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::memory::{
    EpisodePage, EpisodeSeq, MemoryContent, MemoryGet, MemoryPage, MemoryRebuild, MemorySearch,
    WorkingMemoryState,
};
use holon_store::{AgentNo, EpisodeRange, Reader};

/// Reads the working memory of an agent for its status. An open episode that an earlier build began gets the time of its
/// first turn.
pub(super) fn working_memory(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<WorkingMemoryState, holon_store::Error> {
    let mut memory = reader.working_memory(no)?;
    if let Some(open) = &mut memory.active_episode_builder
        && open.started_at.is_none()
    {
        let begun = reader.turn_begun_at(no, open.content.start_turn_index)?;
        open.started_at = Some(begun.unwrap_or(agent.created_at));
    }
    Ok(memory)
}

impl ReadHandle {
    /// Searches an agent's memory from its active workspace.
    ///
    /// # Errors
    /// When there is no such agent, storage fails, or the index cannot be used.
    pub async fn search_memory(
        &self,
        agent_id: &AgentId,
        search: MemorySearch,
    ) -> Result<MemoryPage, Error> {
        let subject = self.memory_subject(agent_id).await?;
        Ok(self.memory.search(&subject, search).await?)
    }

    /// Reads one document of an agent's memory exactly.
    ///
    /// # Errors
    /// When there is no such agent or document, storage fails, or the index cannot be used.
    pub async fn read_memory(
        &self,
        agent_id: &AgentId,
        get: MemoryGet,
    ) -> Result<MemoryContent, Error> {
        let subject = self.memory_subject(agent_id).await?;
        Ok(self.memory.get(&subject, get).await?)
    }

    /// Takes steps of a rebuild of an agent's memory index. `restarts` begins it anew; the caller repeats the step
    /// until it is done.
    ///
    /// # Errors
    /// When there is no such agent, storage fails, or the index cannot be used.
    pub async fn rebuild_memory(
        &self,
        agent_id: &AgentId,
        restarts: bool,
    ) -> Result<MemoryRebuild, Error> {
        let subject = self.memory_subject(agent_id).await?;
        Ok(self.memory.rebuild(&subject, restarts).await?)
    }

    /// Returns a page of an agent's episodes before a position, the newest first.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn episodes(
        &self,
        agent_id: &AgentId,
        before_seq: Option<EpisodeSeq>,
        limit: usize,
    ) -> Result<EpisodePage, Error> {
        let before = before_seq.unwrap_or(EpisodeSeq::MAX);
        let range = EpisodeRange::Before(before, limit.saturating_add(1));
        let id = agent_id.clone();
        let found = self.read_agent(agent_id, move |reader, _, _| reader.episodes(&id, range));
        let mut episodes = found.await?;
        let has_more = episodes.len() > limit;
        episodes.truncate(limit);
        let next_before_seq = episodes.last().map(|oldest| oldest.seq);
        Ok(EpisodePage {
            next_before_seq: next_before_seq.filter(|_| has_more),
            episodes,
        })
    }

    async fn memory_subject(&self, agent_id: &AgentId) -> Result<MemorySubject, Error> {
        self.read_agent(agent_id, |_, _, agent| Ok(MemorySubject::of(&agent)))
            .await
    }
}
