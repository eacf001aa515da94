//! The manifest of an archive: what is in it, from which agent, and what was left out.

use crate::agent::{AgentKind, ProfilePreset};
use crate::id::AgentId;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The first entry of an archive. Its format only gains fields; another meaning needs a greater `format`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveManifest {
    /// Version of the format. A reader refuses a greater one than it knows.
    pub format: u32,
    /// Version of the program that wrote the archive, for people.
    pub holon_version: String,
    pub exported_at: Timestamp,
    pub agent: ArchivedAgent,
    /// Record of the template that the home was made from, as it is in the home. Absent without a template. For people:
    /// no decision reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Value>,
    pub counts: ArchiveCounts,
    /// The entry with the agent's durable record.
    pub record: EntryDigest,
    /// Files of the home in the order of the entries.
    pub files: Vec<ArchivedFile>,
    /// Skills of the home that are links. Their content is not in the archive; a reader links them again if a skill is
    /// at the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked_skills: Vec<LinkedSkill>,
    /// Everything that the agent has and the archive has not, each with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

impl ArchiveManifest {
    /// Returns the number of bytes of an archive with this manifest, whose own text has `manifest_bytes`.
    #[must_use]
    pub fn archive_bytes(&self, manifest_bytes: u64) -> u64 {
        let files = self.files.iter().map(|file| file.digest.bytes);
        let entries = [manifest_bytes, self.record.bytes].into_iter().chain(files);
        entries.map(super::ustar::entry_bytes).sum::<u64>() + super::ustar::END_BYTES
    }
}

/// The agent that was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchivedAgent {
    pub agent_id: AgentId,
    pub kind: AgentKind,
    pub profile_preset: ProfilePreset,
    pub created_at: Timestamp,
    /// Directory in which the agent worked, for people. An imported agent begins in its home.
    pub worked_in: String,
}

/// Size of an archive's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveCounts {
    pub files: u64,
    /// Bytes of the files of the home.
    pub bytes: u64,
    pub work_items: u64,
    pub timers: u64,
    pub workspaces: u64,
}

/// Size and hash of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryDigest {
    pub bytes: u64,
    /// SHA-256 of the content, in lower-case hex.
    pub sha256: String,
}

/// One file of the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchivedFile {
    /// Path below the home.
    pub path: String,
    #[serde(flatten)]
    pub digest: EntryDigest,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub executable: bool,
    /// True if a secret in the file was replaced.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub redacted: bool,
}

/// A skill of the home that is a link to a directory of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedSkill {
    pub name: String,
    /// Absolute path of the directory.
    pub target: String,
}

/// Something that is not in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Path below the home, or a name such as `queued messages`.
    pub what: String,
    pub reason: String,
}

impl LeftOut {
    /// Creates the note of one omission.
    #[must_use]
    pub fn new(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            reason: reason.into(),
        }
    }
}
