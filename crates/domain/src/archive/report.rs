//! The answer to an import or a clone, as clients read it.

use super::{ArchiveCounts, ImportOrigin, LeftOut};
use crate::id::AgentId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of an attached workspace at an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceImport {
    /// The directory exists and is attached.
    Attached,
    /// No directory is at the path. The workspace is attached, and using it fails until there is one.
    Missing,
    /// The directory belongs to the host, or the path is no absolute path. The workspace is not attached.
    Refused,
}

/// One attached workspace of an imported agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedWorkspace {
    pub path: String,
    pub state: WorkspaceImport,
}

/// One file of an imported home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFile {
    /// Path below the home.
    pub path: String,
    pub bytes: u64,
}

/// The answer to an import or a clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    pub agent_id: AgentId,
    /// True if nothing was made.
    pub dry_run: bool,
    pub origin: ImportOrigin,
    pub counts: ArchiveCounts,
    /// Files that the home gets.
    pub files: Vec<ImportedFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<ImportedWorkspace>,
    /// What the source agent has and this one has not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Steps for the operator before the agent is started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
