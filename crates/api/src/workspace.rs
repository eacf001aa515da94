//! Requests and responses about an agent's workspaces and the worktrees of a host.
//!
//! `trust` is accepted from older clients and ignored: the route decides the authority.

use crate::message::FieldPresence;
use holon_domain::workspace::{SelectedWorkspace, UseMode, WorkspaceEntryView, WorktreeSession};
use holon_domain::{AgentId, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/workspace/attach`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachWorkspaceRequest {
    /// Absolute path of a directory.
    pub path: String,
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Body of `POST /control/agents/{id}/workspace/use`. Exactly one of `path` and `workspace_id` is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UseWorkspaceRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// An attached workspace, or `agent_home`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// `direct` is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["direct", "isolated"]))]
    pub mode: Option<UseMode>,
    /// Directory below the execution root in which commands start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Words for the name of the worktree and its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_label: Option<String>,
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Body of `POST /control/agents/{id}/workspace/detach`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetachWorkspaceRequest {
    pub workspace_id: String,
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Body of `POST /control/worktrees`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorktreesRequest {
    /// True if worktrees without work in them are removed. By default they are only listed.
    #[serde(default)]
    pub clean: bool,
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Response to a change of an agent's workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Workspace that the request was about. Absent for an exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// Directory that identifies the project. Present for an attachment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_anchor: Option<String>,
}

impl WorkspaceResponse {
    /// Creates the response of an exit.
    #[must_use]
    pub const fn new(agent_id: AgentId) -> Self {
        Self {
            ok: true,
            agent_id,
            workspace_id: None,
            workspace_anchor: None,
        }
    }
}

/// Response of `GET /agents/{id}/worktree-summary`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeSummaryResponse {
    pub agent_id: AgentId,
    pub summary: WorktreeSummary,
}

/// The place in which an agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeSummary {
    /// The active workspace with its execution root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_workspace_entry: Option<WorkspaceEntryView>,
    /// Worktree in which the agent works, if the runtime made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_session: Option<WorktreeSession>,
}

/// Response of `POST /control/agents/{id}/workspace/use`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UseWorkspaceResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    #[serde(flatten)]
    pub selected: SelectedWorkspace,
}
