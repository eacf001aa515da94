//! The request to use a workspace, what was found at its path, and the reasons for which it fails.

use super::{AttachedWorkspace, WorkspaceEntry, WorkspaceSet, WorktreeSession};
use crate::id::{AgentId, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a path turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DetectedKind {
    /// The top directory of a git repository.
    CanonicalRepo,
    /// A directory below the top of a repository.
    RepoSubdir,
    /// A linked worktree of a repository, or a directory in one.
    ExistingGitWorktree,
    /// A directory without a repository.
    PlainDirectory,
    /// The agent's own home.
    AgentHome,
}

/// Way in which a workspace is projected to an execution root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UseMode {
    /// Tools run in the workspace's own directory.
    #[default]
    Direct,
    /// Tools run in a worktree that the runtime makes.
    Isolated,
}

/// Workspace that a request names. Exactly one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceSelector {
    /// An absolute path, which is looked at. Attaches the workspace if it is not attached yet.
    Path(String),
    /// An attached workspace, or `agent_home`. Attaches nothing.
    WorkspaceId(WorkspaceId),
}

/// A request to make a workspace active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseWorkspace {
    pub selector: WorkspaceSelector,
    #[serde(default)]
    pub mode: UseMode,
    /// Current directory, relative to the execution root. Absent if detection settles it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Words for the name of the worktree and its branch. Absent if the default is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_label: Option<String>,
}

/// A request to use a workspace, with what is known about the agent that makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceOrder {
    pub agent_id: AgentId,
    pub agent_home: String,
    /// Directory in which the agent works now.
    pub current_cwd: String,
    pub attached: WorkspaceSet,
    /// True if the agent's profile lets it attach further workspaces, or an operator asks.
    pub may_attach: bool,
    pub request: UseWorkspace,
    /// Identity of the request. A repeated request finds the worktree that it made before.
    pub request_key: String,
}

/// A workspace that was looked at and can become active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectedWorkspace {
    pub entry: WorkspaceEntry,
    pub detected_kind: DetectedKind,
    pub mode: UseMode,
    /// True if the request named a path, so that the workspace may be attached.
    pub by_path: bool,
    /// Present if the execution root is a worktree that the runtime made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeSession>,
    /// Advice for the caller: how to isolate, how to clean up, what the runtime left undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl SelectedWorkspace {
    /// Returns the workspace as it is attached.
    #[must_use]
    pub fn attached(&self) -> AttachedWorkspace {
        AttachedWorkspace::of(&self.entry)
    }
}

/// Kind of reason for which a workspace cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceErrorKind {
    /// The path is relative, missing, not a directory or not UTF-8.
    InvalidPath,
    /// The id names no attached workspace.
    NotAttached,
    /// The profile of the agent does not let it attach further directories.
    AttachForbidden,
    /// The agent has as many attached workspaces as it may have.
    TooManyAttached,
    /// The directory belongs to the host or to another agent.
    Reserved,
    /// The pointers of a git worktree contradict each other.
    UnverifiedRepository,
    /// The workspace cannot be isolated: it is no repository, or has no commit.
    IsolationUnsupported,
    /// The directory of an attached workspace is gone.
    MissingRoot,
    /// git refused or failed.
    Git,
}

/// Reason for which a workspace cannot be used, with the next step in its message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WorkspaceFailure {
    pub kind: WorkspaceErrorKind,
    pub message: String,
}

impl WorkspaceFailure {
    /// Creates a failure whose message names the next step.
    #[must_use]
    pub fn new(kind: WorkspaceErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
