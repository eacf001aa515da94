//! Memory: the searchable records of an agent, and the answers of a search.
//!
//! A document is derived from a stronger source: a curated file, a brief, a work item, an episode or the profile of a
//! workspace. The index that holds documents can be thrown away at any time. Working memory and episodes are derived
//! from the records of turns.

mod episode;
mod profile;
mod source_ref;
mod working;

pub use episode::{
    EpisodeBoundary, EpisodeBuilder, EpisodeBuilderView, EpisodeContent, EpisodePage,
    EpisodeRecord, EpisodeSeq, LEFT_TO_DO, WAITING_ON,
};
pub use profile::WorkspaceProfile;
pub use source_ref::{CuratedFile, SourceRef, SourceRefError};
pub use working::{
    HistoryMark, MemoryChangeReason, MemoryField, TurnEvidence, TurnMemoryDelta, WorkingMemory,
    WorkingMemoryDelta, WorkingMemoryState, WorkingMemoryView,
};

use crate::id::{AgentId, WorkspaceId};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kind of source that a document is derived from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// A file under `memory/` that the agent and its operator curate.
    AgentMemory,
    /// What the runtime knows about a workspace.
    WorkspaceProfile,
    Brief,
    /// An archived part of the agent's history.
    Episode,
    WorkItem,
}

impl MemoryKind {
    /// Every kind, curated ones first.
    pub const ALL: [Self; 5] = [
        Self::AgentMemory,
        Self::WorkspaceProfile,
        Self::WorkItem,
        Self::Episode,
        Self::Brief,
    ];

    /// Returns the name that stands before the colon of a source reference.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentMemory => "agent_memory",
            Self::WorkspaceProfile => "workspace_profile",
            Self::Brief => "brief",
            Self::Episode => "episode",
            Self::WorkItem => "work_item",
        }
    }

    /// Returns the kind of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Reach of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Found from every workspace.
    Agent,
    /// Found from its own workspace, and where a search includes all workspaces.
    Workspace,
}

impl MemoryScope {
    /// Returns the name under which a scope is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Workspace => "workspace",
        }
    }

    /// Returns the scope of a record that was written in this workspace. An agent's own home is no project, so what was
    /// written there is found from everywhere.
    #[must_use]
    pub fn of_workspace(workspace_id: &WorkspaceId) -> Self {
        if workspace_id.as_str() == crate::workspace::AGENT_HOME {
            Self::Agent
        } else {
            Self::Workspace
        }
    }
}

/// Where a document comes from. Search results and exact reads carry the same fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryProvenance {
    pub kind: MemoryKind,
    /// Opaque handle for an exact read.
    #[schemars(with = "String")]
    pub source_ref: SourceRef,
    pub scope_kind: MemoryScope,
    /// Workspace that was active when the source was written. Absent for the curated files of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    pub agent_id: AgentId,
    /// Path of the file in the agent's home. Absent if the source is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_path: Option<String>,
    pub title: String,
    pub updated_at: Timestamp,
    /// Facts of the source by name, such as the state of a work item.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}

/// One source as the index holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryDocument {
    #[serde(flatten)]
    pub provenance: MemoryProvenance,
    /// Exact text of the source, without anything that was added for the search.
    pub body: String,
}

impl MemoryDocument {
    /// Returns the beginning of the exact text with its provenance.
    #[must_use]
    pub fn content(self, max_chars: u32) -> MemoryContent {
        let end = self.body.char_indices().nth(max_chars as usize);
        let mut content = self.body;
        if let Some((end, _)) = end {
            content.truncate(end);
        }
        MemoryContent {
            provenance: self.provenance,
            content,
            truncated: end.is_some(),
        }
    }
}

/// A document that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryHit {
    #[serde(flatten)]
    pub provenance: MemoryProvenance,
    /// Part of the body around the first match.
    pub snippet: String,
    /// Larger is better. Scores of different searches cannot be compared.
    pub score: f64,
}

/// How far the index is behind its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLag {
    /// Changes of sources that the index has not taken yet.
    pub pending: u64,
    /// True while the index is being built from its sources, so that older ones may be missing.
    pub rebuilding: bool,
}

impl MemoryLag {
    /// Returns true if a search may miss something.
    #[must_use]
    pub const fn is_behind(self) -> bool {
        self.pending > 0 || self.rebuilding
    }
}

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySearch {
    pub query: String,
    /// Most results, at most `limits::MEMORY_RESULTS_MAX`.
    pub limit: u32,
    /// True if documents of other workspaces are searched too.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub include_all_workspaces: bool,
}

/// A document to read exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryGet {
    #[serde(serialize_with = "SourceRef::serialize_key")]
    pub source_ref: SourceRef,
    /// Most characters of the content, at most `limits::MEMORY_CONTENT_CHARS_MAX`.
    pub max_chars: u32,
}

/// A request of a tool call about memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "memory", rename_all = "snake_case")]
pub enum MemoryQuery {
    Search(MemorySearch),
    Get(MemoryGet),
}

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPage {
    /// The query as it was searched for; cut if it was too long.
    pub query: String,
    /// Records that were found, best first.
    pub results: Vec<MemoryHit>,
    #[serde(default)]
    pub lag: MemoryLag,
    /// What was left out and why, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The answer of an exact read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryContent {
    #[serde(flatten)]
    pub provenance: MemoryProvenance,
    /// Beginning of the exact text.
    pub content: String,
    /// True if the text is longer than `content`.
    pub truncated: bool,
}

/// Progress of a rebuild after one of its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRebuild {
    /// Documents in the index.
    pub documents: u64,
    /// Kind that the next step reads. Absent once the sources have been read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<MemoryKind>,
    /// Changes that came in meanwhile and are not taken yet.
    pub pending: u64,
    pub done: bool,
}

/// Reason for which memory could not be searched or read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum MemoryFault {
    /// No document has this reference.
    #[error("there is no memory with the source_ref {source_ref:?}")]
    NotFound { source_ref: String },
    /// The file of this reference is there and is not read.
    #[error("{path} is not read: {reason}")]
    Unreadable { path: String, reason: String },
    /// Another process holds the index.
    #[error("the memory index is locked by another process")]
    Locked,
    /// The search took too long and was given up.
    #[error("the search took longer than {limit_ms} ms and was given up")]
    TooSlow { limit_ms: u64 },
    /// The index cannot be used and could not be made anew.
    #[error("the memory index cannot be used: {reason}")]
    Unavailable { reason: String },
}

impl MemoryFault {
    /// Returns the code by which programs tell faults apart.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "memory_source_not_found",
            Self::Locked => "memory_index_locked",
            Self::Unreadable { .. } => "memory_source_unreadable",
            Self::TooSlow { .. } => "memory_search_too_slow",
            Self::Unavailable { .. } => "memory_index_unavailable",
        }
    }

    /// Says what to do next, in one sentence.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => {
                "copy the source_ref from a result of MemorySearch; it is not a path and cannot be made up"
            }
            Self::Locked => {
                "try again in a moment; nothing is lost, the index takes up its changes later"
            }
            Self::Unreadable { .. } => {
                "put a text file of at most 1 MiB in its place; no link is followed"
            }
            Self::TooSlow { .. } => "search for fewer and rarer words",
            Self::Unavailable { .. } => {
                "the sources are not affected; check the disk and the directory .holon/indexes of the agent's home"
            }
        }
    }
}
