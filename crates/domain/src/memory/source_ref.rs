//! Source references: the opaque handles of memory documents.
//!
//! A reference ends with a check over its kind and id, which every rendering adds. An agent's call needs it, so that a
//! reference that a model made up, from a path or from the id of another record, is refused before any lookup.
//! Operators and stored rows may leave it out; a wrong check is refused everywhere.

use super::MemoryKind;
use crate::id::{BriefId, EpisodeId, WorkItemId, WorkspaceId};
use crate::text;
use serde::{Deserialize, Serialize, Serializer};

/// Longest source reference, in bytes. The longest id of a source is far below it.
const MOST_BYTES: usize = 256;

/// Separates the check from the rest. It needs no escape in a URL.
const CHECK_MARK: char = '~';
/// Hexadecimal digits of a check.
const CHECK_DIGITS: usize = 8;

/// Handle of one document: its kind, a colon, the id of its source and a check. Callers copy it and do not build it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceRef {
    kind: MemoryKind,
    id: String,
}

/// A text that is no source reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SourceRefError {
    #[error(
        "a source_ref is `agent_memory:`, `workspace_profile:`, `brief:`, `episode:` or `work_item:` with an id, as a search returns it"
    )]
    Malformed,
    /// Its check is missing or does not belong to it.
    #[error("no search returned this source_ref: its end does not belong to it")]
    NotIssued,
}

impl SourceRef {
    /// Parses a reference that an operator wrote or that is stored. It may lack its check.
    ///
    /// # Errors
    /// When the kind is unknown, the id is empty, the text is longer than any reference, or the check is wrong.
    pub fn parse(text: &str) -> Result<Self, SourceRefError> {
        match Self::split(text)? {
            (source_ref, None) => Ok(source_ref),
            (_, Some(_)) => Self::parse_issued(text),
        }
    }

    /// Parses a reference that a search returned.
    ///
    /// # Errors
    /// As [`Self::parse`], and when the check is missing.
    pub fn parse_issued(text: &str) -> Result<Self, SourceRefError> {
        let (source_ref, check) = Self::split(text)?;
        if check != Some(source_ref.check().as_str()) {
            return Err(SourceRefError::NotIssued);
        }
        Ok(source_ref)
    }

    /// Splits a text into reference and check, without a look at the check.
    fn split(text: &str) -> Result<(Self, Option<&str>), SourceRefError> {
        let (kind, rest) = text.split_once(':').ok_or(SourceRefError::Malformed)?;
        let kind = MemoryKind::parse(kind).ok_or(SourceRefError::Malformed)?;
        let (id, check) = match rest.rsplit_once(CHECK_MARK) {
            Some((id, check)) => (id, Some(check)),
            None => (rest, None),
        };
        let is_id = |c: char| !c.is_whitespace() && !c.is_control();
        if id.is_empty() || text.len() > MOST_BYTES || !id.chars().all(is_id) {
            return Err(SourceRefError::Malformed);
        }
        let id = id.to_owned();
        Ok((Self { kind, id }, check))
    }

    /// Returns kind and id without the check: the form in which an index stores and finds the reference.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}:{}", self.kind.as_str(), self.id)
    }

    /// Serialises the reference without its check, as rows keep it.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize_key<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.key())
    }

    fn check(&self) -> String {
        let digest = text::sha256_hex(format!("memory source_ref {}", self.key()));
        text::prefix(&digest, CHECK_DIGITS).to_owned()
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

    /// Returns the id of the source.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl std::fmt::Display for SourceRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{CHECK_MARK}{}", self.key(), self.check())
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
            assert_eq!(parsed.key(), text);
            assert_eq!(
                MemoryKind::parse(parsed.kind().as_str()),
                Some(parsed.kind())
            );
            let issued = parsed.to_string();
            assert_eq!(SourceRef::parse(&issued).as_ref(), Ok(&parsed));
            assert_eq!(SourceRef::parse_issued(&issued), Ok(parsed));
        }
        let long = format!("brief:{}", "x".repeat(MOST_BYTES));
        for text in [
            "",
            "self",
            "brief:",
            "brief:~00000000",
            ":x",
            "memory/self.md",
            "file:x",
            "brief:a b",
            "Brief:x",
            &long,
        ] {
            let refused = Err(SourceRefError::Malformed);
            assert_eq!(SourceRef::parse(text), refused, "{text}");
            assert_eq!(SourceRef::parse_issued(text), refused, "{text}");
        }
    }

    #[test]
    fn a_reference_that_no_search_returned_has_no_valid_check() {
        let issued = SourceRef::parse("brief:brief_1")
            .expect("a reference")
            .to_string();
        let other = issued.replace("brief_1", "brief_2");
        for made_up in [
            &other,
            "brief:brief_1~",
            "brief:brief_1~0",
            "brief:brief_1~00000000",
        ] {
            let refused = Err(SourceRefError::NotIssued);
            assert_eq!(SourceRef::parse_issued(made_up), refused, "{made_up}");
            assert_eq!(SourceRef::parse(made_up), refused, "{made_up}");
        }
        let bare = SourceRef::parse_issued("brief:brief_1");
        assert_eq!(bare, Err(SourceRefError::NotIssued));
    }
}
