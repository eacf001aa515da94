//! Routes about the memory of an agent.

use crate::client::{Client, control_path};
use crate::error::Error;
use crate::work::escape_segment;
use holon_api::RebuildMemoryRequest;
use holon_domain::AgentId;
use holon_domain::limits::MEMORY_QUERY_BYTES;
use holon_domain::memory::{EpisodePage, MemoryContent, MemoryPage, MemoryRebuild, MemorySearch};
use holon_domain::text::prefix;

impl Client {
    /// Searches an agent's memory from its active workspace. More than twice what the host searches for is not sent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn search_memory(
        &self,
        agent_id: &AgentId,
        search: &MemorySearch,
    ) -> Result<MemoryPage, Error> {
        let query = escape_segment(prefix(&search.query, 2 * MEMORY_QUERY_BYTES));
        let (limit, all) = (search.limit, search.include_all_workspaces);
        self.get(format!(
            "/agents/{agent_id}/memory/search?query={query}&limit={limit}&all_workspaces={all}"
        ))
        .await
    }

    /// Reads one document of an agent's memory exactly. Of a reference that is longer than any, only a part is sent,
    /// which the host refuses.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn read_memory(
        &self,
        agent_id: &AgentId,
        source_ref: &str,
        max_chars: u32,
    ) -> Result<MemoryContent, Error> {
        let source_ref = escape_segment(prefix(source_ref, MEMORY_QUERY_BYTES));
        self.get(format!(
            "/agents/{agent_id}/memory/get?source_ref={source_ref}&max_chars={max_chars}"
        ))
        .await
    }

    /// Lists episodes of an agent before a position, the newest first. `None` begins with the newest.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn episodes(
        &self,
        agent_id: &AgentId,
        before_seq: Option<u64>,
        limit: usize,
    ) -> Result<EpisodePage, Error> {
        let before = before_seq.map(|seq| format!("&before_seq={seq}"));
        let before = before.unwrap_or_default();
        self.get(format!(
            "/agents/{agent_id}/memory/episodes?limit={limit}{before}"
        ))
        .await
    }

    /// Takes bounded steps of a rebuild of an agent's memory index.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn rebuild_memory(
        &self,
        agent_id: &AgentId,
        request: &RebuildMemoryRequest,
    ) -> Result<MemoryRebuild, Error> {
        self.post_long(control_path(agent_id, "memory/rebuild"), request)
            .await
    }
}
