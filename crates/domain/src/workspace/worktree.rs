//! Worktrees that the runtime makes: the record on disk, the session of an agent, and the verdict of a clean-up.

use crate::id::{AgentId, TaskId, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The worktree in which an agent works, as its status shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeSession {
    /// Directory in which the agent worked before.
    pub original_working_directory: String,
    /// Branch of the repository when the worktree was made. Empty if its `HEAD` was detached.
    pub original_branch: String,
    pub worktree_path: String,
    pub worktree_branch: String,
    /// Commit from which the branch began.
    pub base_commit: String,
}

/// Progress of a managed worktree. Written before the step that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeStage {
    /// Its directory is being filled. No agent has worked in it.
    Creating,
    /// Agents may have worked in it.
    Ready,
    /// It is being removed. Its rescue ref is written.
    Removing,
}

/// Party for which a worktree was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "owner", rename_all = "snake_case")]
pub enum WorktreeOwner {
    /// A `UseWorkspace` call or an operator's request for this agent.
    Session { agent_id: AgentId },
}

/// Record of a managed worktree. It lies beside the directory, so that every managed worktree has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeRecord {
    pub stage: WorktreeStage,
    pub workspace_id: WorkspaceId,
    /// Canonical path of the repository.
    pub workspace_anchor: String,
    /// Name of the directory: the label and a short id.
    pub name: String,
    pub path: String,
    /// Name of the branch, without `refs/heads/`.
    pub branch: String,
    /// Commit from which the branch began.
    pub base_commit: String,
    /// Branch of the repository when the worktree was made. Empty if its `HEAD` was detached.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub original_branch: String,
    #[serde(flatten)]
    pub owner: WorktreeOwner,
}

/// An agent and the directories in which it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeUser {
    pub agent_id: AgentId,
    pub execution_roots: Vec<String>,
    /// True if a turn of the agent is open, so that it may be about to enter a worktree that was made for it.
    pub in_turn: bool,
    /// Commands of the agent that outlived their calls and have not ended.
    pub tasks: Vec<WorktreeTask>,
}

/// A task that has not ended, and the directory in which it was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeTask {
    pub task_id: TaskId,
    pub workdir: String,
}

/// Reason for which a clean-up keeps a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum KeepReason {
    /// Tracked files differ from the branch, or their changes are hidden from git.
    TrackedChanges {
        files: u64,
    },
    UntrackedFiles {
        files: u64,
    },
    /// Files that git ignores and would delete.
    IgnoredFiles {
        files: u64,
        bytes: u64,
    },
    /// Commits that no other branch or tag holds.
    OwnCommits {
        tip: String,
    },
    /// `git worktree lock` was called on it.
    Locked,
    /// A submodule has files in it.
    Submodules,
    /// An agent has it as its active workspace.
    ActiveFor {
        agent_id: AgentId,
    },
    /// A task that was started in it has not ended.
    UsedByTask {
        agent_id: AgentId,
        task_id: TaskId,
    },
    /// A process has its current directory in it.
    UsedByProcess {
        pid: u32,
    },
    /// An operation such as a rebase or a merge is under way.
    OperationUnderWay {
        file: String,
    },
    /// The record, the directory and the repository do not agree.
    Mismatch {
        detail: String,
    },
    /// Its state could not be found out.
    Unknown {
        detail: String,
    },
}

impl KeepReason {
    /// Returns true if the reason is a use that ends by itself: a look a moment later may not find it any more.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::ActiveFor { .. } | Self::UsedByTask { .. } | Self::UsedByProcess { .. } => true,
            Self::TrackedChanges { .. }
            | Self::UntrackedFiles { .. }
            | Self::IgnoredFiles { .. }
            | Self::OwnCommits { .. }
            | Self::Locked
            | Self::Submodules
            | Self::OperationUnderWay { .. }
            | Self::Mismatch { .. }
            | Self::Unknown { .. } => false,
        }
    }
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TrackedChanges { files } => {
                write!(f, "tracked files have changes ({files})")
            }
            Self::UntrackedFiles { files } => {
                write!(f, "there are files that git does not track ({files})")
            }
            Self::IgnoredFiles { files, bytes } => {
                write!(
                    f,
                    "there are files that git ignores ({files}, {bytes} bytes)"
                )
            }
            Self::OwnCommits { tip } => {
                write!(f, "commits that no other branch or tag holds, up to {tip}")
            }
            Self::Locked => f.write_str("it is locked"),
            Self::Submodules => f.write_str("a submodule has files in it"),
            Self::ActiveFor { agent_id } => write!(f, "agent {agent_id} works in it"),
            Self::UsedByTask { agent_id, task_id } => {
                write!(f, "task {task_id} of agent {agent_id} runs in it")
            }
            Self::UsedByProcess { pid } => write!(f, "process {pid} works in it"),
            Self::OperationUnderWay { file } => {
                write!(f, "an operation of git is under way ({file})")
            }
            Self::Mismatch { detail } | Self::Unknown { detail } => f.write_str(detail),
        }
    }
}

/// Fate of one managed worktree in a clean-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum CleanVerdict {
    /// It can be removed; a dry run removes nothing.
    Removable,
    Removed {
        /// Ref that still holds the last commit of the branch. Absent if the branch was gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rescue_ref: Option<String>,
    },
    Kept {
        reasons: Vec<KeepReason>,
    },
}

/// The managed worktrees of a host, and the fate of each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeReport {
    pub worktrees: Vec<WorktreeView>,
    /// Records that cannot be read. Their worktrees and branches are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableRecord>,
    /// Worktrees that were not looked at, because there are too many for one call.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub left_out: usize,
}

/// A record of a managed worktree that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableRecord {
    /// File of the record.
    pub path: String,
    /// Reason, and the next step.
    pub detail: String,
}

/// One managed worktree as `holon worktree list` and `clean` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeView {
    #[serde(flatten)]
    pub record: WorktreeRecord,
    #[serde(flatten)]
    pub verdict: CleanVerdict,
}
