//! The decoded parts of responses about workspaces and worktrees.

use serde::Deserialize;
use serde_json::Value;

/// A workspace that was attached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AttachedWorkspace {
    pub agent_id: String,
    pub workspace_id: String,
    pub workspace_anchor: String,
}

/// Response to an exit or a detachment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkspaceChange {
    pub agent_id: String,
}

/// A workspace that became active.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SelectedWorkspace {
    pub agent_id: String,
    pub entry: SelectedEntry,
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The active entry of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SelectedEntry {
    pub workspace_id: String,
    /// Directory in which commands start.
    pub cwd: String,
}

/// The managed worktrees of a host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Worktrees {
    pub worktrees: Vec<Worktree>,
    /// Records that cannot be read. Their worktrees are kept.
    #[serde(default)]
    pub unreadable: Vec<UnreadableRecord>,
    /// Worktrees that were not looked at.
    #[serde(default)]
    pub left_out: u64,
}

/// A record of a managed worktree that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UnreadableRecord {
    pub path: String,
    /// Reason, and the next step.
    pub detail: String,
}

/// One managed worktree, and its fate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Worktree {
    pub path: String,
    pub branch: String,
    /// `removable`, `removed` or `kept`.
    pub verdict: String,
    /// Ref that holds the last commit of a removed worktree.
    pub rescue_ref: Option<String>,
    /// Reasons for which it is kept, each an object with the member `reason`.
    #[serde(default)]
    pub reasons: Vec<Value>,
}
