//! Requests that export, import and clone an agent. The archive itself is a tar file, in the body of an export's
//! response and of an import's request.

use holon_domain::AgentId;
use holon_domain::archive::ArchiveManifest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Media type of an archive.
pub const ARCHIVE_MEDIA_TYPE: &str = "application/x-tar";

/// Body of `POST /control/agents/{id}/export`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportAgentRequest {
    /// True if the response is an [`ExportReport`] instead of the archive.
    #[serde(default)]
    pub dry_run: bool,
}

/// Content of an archive that was or would be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReport {
    pub agent_id: AgentId,
    /// True if no archive was written.
    pub dry_run: bool,
    /// Bytes of the archive.
    pub bytes: u64,
    /// File with the archive. Absent in the response of a host, which knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    pub manifest: ArchiveManifest,
}

/// Query of `POST /control/agents/{id}/import`, where the path names the new agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// True if the archive is only checked.
    #[serde(default)]
    pub dry_run: bool,
}

/// Body of `POST /control/agents/{id}/clone`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloneAgentRequest {
    /// Name of the new agent.
    pub name: String,
    /// True if nothing is made.
    #[serde(default)]
    pub dry_run: bool,
}
