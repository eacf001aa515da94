//! Files of an agent's memory in its home: curated files, profiles of workspaces and the export of episodes.

use async_trait::async_trait;
use holon_domain::memory::{CuratedFile, EpisodeSeq, WorkspaceProfile};
use holon_domain::{EpisodeId, Timestamp, WorkspaceId};

/// What a curated memory file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CuratedContent {
    Absent,
    Text {
        text: String,
        changed_at: Timestamp,
    },
    /// There is something that is not read.
    Unreadable {
        /// Worded for people and models: too large, a link, not text.
        reason: String,
    },
}

/// A workspace whose root directory is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfiledWorkspace {
    pub workspace_id: WorkspaceId,
    pub workspace_anchor: String,
    pub repository: Option<String>,
}

/// Reads the files that memory is derived from. They belong to agents and projects, so anything may be in their place;
/// an implementation follows no link and reads a bounded part.
#[async_trait]
pub trait MemoryFiles: Send + Sync + std::fmt::Debug {
    /// Reads the curated files of an agent as they are now.
    async fn curated(&self, agent_home: &str) -> Vec<(CuratedFile, CuratedContent)>;

    /// Returns true if the agent's home exists.
    async fn has_home(&self, agent_home: &str) -> bool;

    /// Looks at the root directory of a workspace. `None` if it cannot be listed.
    async fn profile(&self, workspace: ProfiledWorkspace) -> Option<WorkspaceProfile>;

    /// Reads which episode the export in an agent's home ends with. `None` if there is no export that can be continued.
    async fn exported_episode(&self, agent_home: &str) -> Option<ExportedEpisode>;

    /// Adds episodes to the export, or begins it anew with them. Fails with the reason in words.
    async fn export_episodes(&self, agent_home: &str, export: EpisodeExport) -> Result<(), String>;
}

/// The last episode of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedEpisode {
    pub seq: EpisodeSeq,
    pub id: EpisodeId,
}

/// Episodes for an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeExport {
    /// One JSON text for each episode, without line breaks.
    pub lines: Vec<String>,
    /// True if the lines replace what is there.
    pub restarts: bool,
}

/// A host without memory files. Nothing is read or written.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemoryFiles;

#[async_trait]
impl MemoryFiles for NoMemoryFiles {
    async fn curated(&self, _: &str) -> Vec<(CuratedFile, CuratedContent)> {
        Vec::new()
    }

    async fn has_home(&self, _: &str) -> bool {
        false
    }

    async fn profile(&self, _: ProfiledWorkspace) -> Option<WorkspaceProfile> {
        None
    }

    async fn exported_episode(&self, _: &str) -> Option<ExportedEpisode> {
        None
    }

    async fn export_episodes(&self, _: &str, _: EpisodeExport) -> Result<(), String> {
        Ok(())
    }
}
