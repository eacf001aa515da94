//! Payloads of events about workspaces: attachment, use, exit, and worktrees.

use crate::id::WorkspaceId;
use crate::workspace::{ProjectionKind, RootOwnership};
use serde::{Deserialize, Serialize};

/// Workspace that became active. See [`Event::WorkspaceUsed`](super::Event::WorkspaceUsed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceUsed {
    pub workspace_id: WorkspaceId,
    /// Directory that tools may not leave.
    pub execution_root: String,
    /// Directory in which commands start; it lies inside the execution root.
    pub cwd: String,
    /// Directory that identifies the project. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_anchor: Option<String>,
    /// Relation of the execution root to the workspace. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection_kind: Option<ProjectionKind>,
    /// Owner of the execution root. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership: Option<RootOwnership>,
}

/// Execution root in which an agent works from now on. See [`Event::WorkspaceEntered`](super::Event::WorkspaceEntered).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceEntered {
    pub workspace_id: WorkspaceId,
    /// Directory that identifies the project.
    pub workspace_anchor: String,
    /// Directory that tools may not leave.
    pub execution_root: String,
    /// Identity of the execution root.
    pub execution_root_id: String,
    pub projection_kind: ProjectionKind,
    /// Directory in which commands start; it lies inside the execution root.
    pub cwd: String,
}

/// Request to attach a workspace. See
/// [`Event::WorkspaceAttachRequested`](super::Event::WorkspaceAttachRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceAttachRequested {
    pub workspace_id: WorkspaceId,
    /// Directory that identifies the project.
    pub workspace_anchor: String,
}

/// Request to leave the active workspace. See
/// [`Event::WorkspaceExitRequested`](super::Event::WorkspaceExitRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceExitRequested {
    pub workspace_id: WorkspaceId,
    pub execution_root: String,
}

/// Request to detach a workspace. See
/// [`Event::WorkspaceDetachRequested`](super::Event::WorkspaceDetachRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceDetachRequested {
    pub workspace_id: WorkspaceId,
    /// Directory that identifies the project.
    pub workspace_anchor: String,
}

/// Workspace that an agent may use from now on. See [`Event::WorkspaceAttached`](super::Event::WorkspaceAttached).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceAttached {
    pub workspace_id: WorkspaceId,
    /// Directory that identifies the project.
    pub workspace_anchor: String,
}

/// Workspace that an agent may not use any more. See [`Event::WorkspaceDetached`](super::Event::WorkspaceDetached).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceDetached {
    pub workspace_id: WorkspaceId,
    /// Directory that identifies the project. Nothing in it was changed.
    pub workspace_anchor: String,
}

/// Workspace that an agent left for its home. See [`Event::WorkspaceExited`](super::Event::WorkspaceExited).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceExited {
    pub workspace_id: WorkspaceId,
    /// Directory in which the agent worked. It stays.
    pub execution_root: String,
}

/// Execution root that an agent occupies no longer. See
/// [`Event::WorkspaceOccupancyReleased`](super::Event::WorkspaceOccupancyReleased).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceOccupancyReleased {
    pub workspace_id: WorkspaceId,
    pub execution_root: String,
    /// Identity of the execution root.
    pub execution_root_id: String,
}

/// Managed worktree in which an agent works. See [`Event::WorktreeEntered`](super::Event::WorktreeEntered).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorktreeEntered {
    pub workspace_id: WorkspaceId,
    pub worktree_path: String,
    pub worktree_branch: String,
    /// Commit from which the branch began.
    pub base_commit: String,
}

/// Managed worktree that an agent left. See [`Event::WorktreeExited`](super::Event::WorktreeExited).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorktreeExited {
    pub workspace_id: WorkspaceId,
    /// Directory of the worktree. It stays until an operator cleans it up.
    pub worktree_path: String,
    pub worktree_branch: String,
}

/// Worktree of an ended child that was removed. See
/// [`Event::WorktreeAutoCleanedUp`](super::Event::WorktreeAutoCleanedUp).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorktreeAutoCleanedUp {
    pub worktree_path: String,
    pub worktree_branch: String,
}

/// Worktree of an ended child that is kept. See
/// [`Event::WorktreeRetainedForReview`](super::Event::WorktreeRetainedForReview).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorktreeRetainedForReview {
    pub worktree_path: String,
    pub worktree_branch: String,
    /// What speaks against a removal, in words; at most 8.
    pub reasons: Vec<String>,
    /// Files that differ from the commit at which the worktree began; at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
}
