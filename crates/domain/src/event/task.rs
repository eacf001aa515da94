//! What is recorded of tasks: their beginning, their way, and the result that was queued.

use crate::id::{MessageId, TaskId};
use crate::task::{TaskKind, TaskStatus};
use serde::{Deserialize, Serialize};

/// See [`super::Event::TaskCreated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCreated {
    /// Which.
    pub task_id: TaskId,
    /// What runs.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it is for, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The message whose turn made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
}

/// See [`super::Event::TaskStatusUpdated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatusUpdated {
    /// Which.
    pub task_id: TaskId,
    /// What runs.
    pub kind: TaskKind,
    /// Where it stood.
    pub previous: TaskStatus,
    /// Where it stands.
    pub status: TaskStatus,
    /// Why, in short.
    pub reason: String,
    /// The command's exit status, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
}

/// See [`super::Event::TaskResultReceived`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskResultReceived {
    /// Which.
    pub task_id: TaskId,
    /// How it ended.
    pub status: TaskStatus,
    /// The message that tells it.
    pub message_id: MessageId,
    /// Whether it starts a model turn.
    pub terminal_reentry: bool,
}
