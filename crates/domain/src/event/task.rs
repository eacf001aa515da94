//! Payloads of events about tasks: creation, status changes and the queued result.

use crate::authority::AuthorityClass;
use crate::id::{MessageId, TaskId, WorkItemId};
use crate::queue::MessageSeq;
use crate::task::{TaskKind, TaskStatus};
use serde::{Deserialize, Serialize};

/// A new task. See [`Event::TaskCreated`](super::Event::TaskCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCreated {
    pub task_id: TaskId,
    /// Background command or child agent.
    pub kind: TaskKind,
    pub status: TaskStatus,
    /// Short description. Absent if the creating call gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Message whose turn created the task. Absent if the task was created outside of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    /// Work item that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Authority of the turn or the operator that created the task. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
    /// Position of the message whose turn created the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Status change of a task, or another act upon it that leaves its status unchanged. See [`Event::TaskStatusUpdated`](super::Event::TaskStatusUpdated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatusUpdated {
    pub task_id: TaskId,
    pub kind: TaskKind,
    /// Status before the change.
    pub previous: TaskStatus,
    pub status: TaskStatus,
    /// Cause of the change, shortened.
    pub reason: String,
    /// Exit status of the command. Absent until it has ended, and for child agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Message whose turn created the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    /// Work item that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Authority of the turn or the operator that created the task. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
    /// Queue position of the message whose turn created the task. Absent in events of earlier builds, and if no turn did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// End of a task, told to its agent. See [`Event::TaskResultReceived`](super::Event::TaskResultReceived).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskResultReceived {
    pub task_id: TaskId,
    /// Final status of the task.
    pub status: TaskStatus,
    /// Id of the queued message that carries the result.
    pub message_id: MessageId,
    /// True if the result opens a model turn.
    pub terminal_reentry: bool,
    /// Work item that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Position of the queued message. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}
