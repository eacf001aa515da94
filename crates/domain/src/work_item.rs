//! Work items: their vocabulary. The work issue fills in the behaviour.

use crate::id::{AgentId, WorkItemId, WorkspaceId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Lifecycle of an item. Focus, queueing and blocking are derived, not states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemState {
    /// Not done.
    Open,
    /// Done.
    Completed,
}

/// How far its plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// In the making; the item is runnable all the same.
    Draft,
    /// Settled.
    Ready,
    /// Waits for an operator.
    NeedsInput,
}

/// State of a checklist entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// To do.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// One checklist entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// What.
    pub text: String,
    /// How far.
    pub state: TodoState,
}

/// Whether the scheduler may run an item; derived from the item and its waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemSchedulingState {
    /// It may.
    Runnable,
    /// It needs an operator.
    WaitingOperator,
    /// It needs a task.
    WaitingTask,
    /// It needs a change outside.
    WaitingExternal,
    /// It needs a time.
    WaitingTimer,
    /// The agent said it is blocked.
    Blocked,
    /// Turns went by without progress.
    Stalled,
    /// It is done.
    Completed,
}

/// One objective.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItemRecord {
    /// Its id.
    pub id: WorkItemId,
    /// Whose it is.
    pub agent_id: AgentId,
    /// Where it belongs.
    pub workspace_id: WorkspaceId,
    /// What is wanted.
    pub objective: String,
    /// Whether it is done.
    pub state: WorkItemState,
    /// How far its plan is.
    pub plan_status: PlanStatus,
    /// Its checklist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<TodoItem>,
    /// What blocks it, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// When to look at the blocker again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    /// When that reminder was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_consumed_at: Option<Timestamp>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    /// Counts every change.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
