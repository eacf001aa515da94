//! The host's registry of workspaces, and the execution roots that agents occupy. Both are internal to the runtime: no
//! tool takes or returns them.

use super::WorkspaceEntry;
use crate::id::{AgentId, WorkspaceId};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a registered workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceKind {
    /// The anchor belongs to a git repository.
    GitRepository,
    /// No repository was found there.
    PlainDirectory,
}

impl WorkspaceKind {
    /// Returns the name under which the kind is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GitRepository => "git_repository",
            Self::PlainDirectory => "plain_directory",
        }
    }

    /// Returns the kind of a workspace with this repository.
    #[must_use]
    pub const fn of(repository: Option<&String>) -> Self {
        match repository {
            Some(_) => Self::GitRepository,
            None => Self::PlainDirectory,
        }
    }
}

/// A workspace that an agent of this host was given at some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredWorkspace {
    pub workspace_id: WorkspaceId,
    /// Canonical path of the project. It may be gone.
    pub workspace_anchor: String,
    pub kind: WorkspaceKind,
    /// Directory of its git repository. Absent for a plain directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Time at which an agent was first given it.
    pub registered_at: Timestamp,
    /// Time at which an agent was last given it.
    pub seen_at: Timestamp,
}

/// An execution root that an agent occupies: it may work there, or what it started still does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    pub workspace_id: WorkspaceId,
    pub execution_root: String,
    /// Identity of the execution root.
    pub execution_root_id: String,
    pub since: Timestamp,
    /// True once the agent was stopped or is being removed, and tasks or a patch of it are not over. The last of them
    /// releases the root.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub releasing: bool,
}

impl Occupancy {
    /// Creates the occupancy of an active workspace.
    #[must_use]
    pub fn of(workspace: &WorkspaceEntry, since: Timestamp) -> Self {
        Self {
            workspace_id: workspace.workspace_id.clone(),
            execution_root: workspace.execution_root.clone(),
            execution_root_id: workspace.execution_root_id(),
            since,
            releasing: false,
        }
    }
}

/// An occupied execution root and its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    pub agent_id: AgentId,
    pub occupancy: Occupancy,
}
