//! Workspaces: the project an agent works in, and where exactly its tools run.

use crate::id::WorkspaceId;
use serde::{Deserialize, Serialize};

/// How an execution root projects a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectionKind {
    /// The workspace's own directory.
    CanonicalRoot,
    /// A worktree of it.
    GitWorktreeRoot,
}

/// The one active workspace of an agent. There is always exactly one, so it is a field and not a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceEntry {
    /// `agent_home` or `ws-…`.
    pub workspace_id: WorkspaceId,
    /// Stable identity of the project.
    pub workspace_anchor: String,
    /// Where tools run; nothing may leave it.
    pub execution_root: String,
    /// Current directory, inside the execution root.
    pub cwd: String,
    /// How the root projects the workspace.
    pub projection_kind: ProjectionKind,
}

/// The literal id of the fallback workspace.
pub const AGENT_HOME: &str = "agent_home";

impl WorkspaceEntry {
    /// The fallback every agent starts in.
    #[must_use]
    pub fn agent_home(path: &str) -> Self {
        Self {
            workspace_id: WorkspaceId::from_stored(AGENT_HOME),
            workspace_anchor: path.to_owned(),
            execution_root: path.to_owned(),
            cwd: path.to_owned(),
            projection_kind: ProjectionKind::CanonicalRoot,
        }
    }
}
