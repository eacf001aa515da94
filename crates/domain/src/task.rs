//! Managed executions: their vocabulary. The command family fills in the behaviour.

use crate::authority::TrustLevel;
use crate::id::{AgentId, MessageId, TaskId, WorkItemId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A command.
    CommandTask,
    /// A supervised child agent.
    ChildAgentTask,
    /// A rest.
    SleepJob,
    /// Older name of a child; read, never written.
    SubagentTask,
    /// Older name of a child in a worktree; read, never written.
    WorktreeSubagentTask,
}

/// Where it stands. Monotone: a terminal state never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
    Queued,
    /// Running.
    Running,
    /// Asked to stop.
    Cancelling,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Stopped.
    Cancelled,
    /// Lost, with evidence.
    Interrupted,
}

impl TaskStatus {
    /// Whether nothing more happens.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Cancelling => false,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted => true,
        }
    }
}

/// Whether the scheduler waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum WaitPolicy {
    /// No.
    #[default]
    Background,
    /// Yes.
    Blocking,
}

/// How it is brought back after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskRecoverySpec {
    /// A command.
    CommandTask {
        /// What it was for.
        summary: String,
        /// How it was started.
        spec: Value,
        /// On whose word.
        trust: TrustLevel,
    },
    /// A child.
    ChildAgentTask {
        /// What it was for.
        summary: String,
        /// What it was told.
        prompt: String,
        /// On whose word.
        trust: TrustLevel,
        /// Where it works.
        workspace_mode: WorkspaceMode,
    },
}

/// Where a child works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceMode {
    /// Where its parent does.
    Inherit,
    /// In a worktree of its own.
    Worktree,
}

/// One managed execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub agent_id: AgentId,
    /// What runs.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The message whose turn made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    /// The work it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the scheduler waits for it.
    #[serde(default)]
    pub wait_policy: WaitPolicy,
    /// Whether its end starts a model turn.
    #[serde(default, alias = "continue_on_result")]
    pub terminal_reentry: bool,
    /// How it is brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<TaskRecoverySpec>,
}
