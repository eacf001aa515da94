//! Source references: the opaque handles of memory documents.

use super::MemoryKind;
use crate::id::{BriefId, EpisodeId, WorkItemId, WorkspaceId};
use serde::{Deserialize, Serialize};

/// Longest source reference, in bytes. The longest id of a source is far below it.
const MOST_BYTES: usize = 256;

/// Handle of one document: its kind, a colon and the id of its source. Callers copy it and do not build it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceRef {
    kind: MemoryKind,
    id: String,
}

/// A text that is no source reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a source_ref is `agent_memory:`, `workspace_profile:`, `brief:`, `episode:` or `work_item:` with an id, as a search returns it"
)]
pub struct SourceRefError;

impl SourceRef {
    /// Parses a reference that a caller gave back.
    ///
    /// # Errors
    /// When the kind is unknown, the id is empty, or the text is longer than any reference.
    pub fn parse(text: &str) -> Result<Self, SourceRefError> {
        let (kind, id) = text.split_once(':').ok_or(SourceRefError)?;
        let kind = MemoryKind::parse(kind).ok_or(SourceRefError)?;
        let is_id = |c: char| !c.is_whitespace() && !c.is_control();
        if id.is_empty() || text.len() > MOST_BYTES || !id.chars().all(is_id) {
            return Err(SourceRefError);
        }
        Ok(Self {
            kind,
            id: id.to_owned(),
        })
    }

    /// Names a file that the agent or its operator keeps by hand.
    #[must_use]
    pub fn curated(file: CuratedFile) -> Self {
        Self {
            kind: MemoryKind::AgentMemory,
            id: file.as_str().to_owned(),
        }
    }

    /// Names the text that a brief told the operator.
    #[must_use]
    pub fn brief(id: &BriefId) -> Self {
        Self {
            kind: MemoryKind::Brief,
            id: id.as_str().to_owned(),
        }
    }

    /// Names an archived episode.
    #[must_use]
    pub fn episode(id: &EpisodeId) -> Self {
        Self {
            kind: MemoryKind::Episode,
            id: id.as_str().to_owned(),
        }
    }

    /// Names a work item with its plan and its report.
    #[must_use]
    pub fn work_item(id: &WorkItemId) -> Self {
        Self {
            kind: MemoryKind::WorkItem,
            id: id.as_str().to_owned(),
        }
    }

    /// Names the profile of a workspace.
    #[must_use]
    pub fn workspace_profile(id: &WorkspaceId) -> Self {
        Self {
            kind: MemoryKind::WorkspaceProfile,
            id: id.as_str().to_owned(),
        }
    }

    /// Returns the kind of record that is named.
    #[must_use]
    pub const fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Returns the part behind the colon.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl std::fmt::Display for SourceRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.id)
    }
}

impl TryFrom<String> for SourceRef {
    type Error = SourceRefError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<SourceRef> for String {
    fn from(source_ref: SourceRef) -> Self {
        source_ref.to_string()
    }
}

/// The files under `memory/` in an agent's home that are indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CuratedFile {
    /// What the agent has learned about its own work.
    SelfModel,
    /// What the agent knows about its operator.
    Operator,
}

impl CuratedFile {
    pub const ALL: [Self; 2] = [Self::SelfModel, Self::Operator];

    /// Returns the name in source references.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SelfModel => "self",
            Self::Operator => "operator",
        }
    }

    /// Returns the name of the file in the folder `memory`.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::SelfModel => "self.md",
            Self::Operator => "operator.md",
        }
    }

    /// Returns the path of the file in the agent's home.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::SelfModel => "memory/self.md",
            Self::Operator => "memory/operator.md",
        }
    }

    /// Returns the title of its document.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::SelfModel => "Agent memory: self",
            Self::Operator => "Agent memory: operator",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_back_as_it_was_written_and_nothing_else_is_one() {
        for text in [
            "agent_memory:self",
            "brief:brief_0a",
            "work_item:work_1",
            "episode:ep_1",
            "workspace_profile:ws-1",
        ] {
            let parsed = SourceRef::parse(text).expect("a reference");
            assert_eq!(parsed.to_string(), text);
            assert_eq!(
                MemoryKind::parse(parsed.kind().as_str()),
                Some(parsed.kind())
            );
        }
        let long = format!("brief:{}", "x".repeat(MOST_BYTES));
        for text in [
            "",
            "self",
            "brief:",
            ":x",
            "memory/self.md",
            "file:x",
            "brief:a b",
            "Brief:x",
            &long,
        ] {
            assert_eq!(SourceRef::parse(text), Err(SourceRefError), "{text}");
        }
    }
}
