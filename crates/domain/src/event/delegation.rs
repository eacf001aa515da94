//! Payloads of events about agents that other agents make, and the work they do for them.

use crate::agent::{ProfilePreset, Visibility};
use crate::delegation::{DelegationRecord, DelegationState};
use crate::id::{AgentId, DelegationId, MessageId, TaskId, WorkItemId};
use crate::queue::MessageSeq;
use crate::task::{InputTarget, TaskKind, WorkspaceMode};
use serde::{Deserialize, Serialize};

/// A new agent of this agent. See [`Event::TaskChildSpawned`](super::Event::TaskChildSpawned).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskChildSpawned {
    pub child_agent_id: AgentId,
    pub visibility: Visibility,
    pub profile_preset: ProfilePreset,
    pub workspace_mode: WorkspaceMode,
    /// Task that stands for the child. Absent for an agent that owns itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Position of the message whose turn made the call. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// A child that was found again. See
/// [`Event::SupervisedChildTaskMonitorReattached`](super::Event::SupervisedChildTaskMonitorReattached).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisedChildTaskMonitorReattached {
    pub task_id: TaskId,
    pub child_agent_id: AgentId,
}

/// Accepted input. See [`Event::TaskInputDelivered`](super::Event::TaskInputDelivered).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInputDelivered {
    pub task_id: TaskId,
    pub task_kind: TaskKind,
    pub bytes_written: u64,
    pub input_target: InputTarget,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_agent_id: Option<AgentId>,
    /// Position of the message whose turn made the call. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// A new delegation. See [`Event::WorkItemDelegationCreated`](super::Event::WorkItemDelegationCreated).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItemDelegationCreated {
    pub delegation_id: DelegationId,
    pub child_agent_id: AgentId,
    pub supervision_task_id: TaskId,
    /// Work item of the parent. Absent if its turn worked on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_work_item_id: Option<WorkItemId>,
    /// Position of the message whose turn began the delegation. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// The end of a delegation. See [`Event::WorkItemDelegationCompleted`](super::Event::WorkItemDelegationCompleted).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItemDelegationCompleted {
    pub delegation_id: DelegationId,
    pub child_agent_id: AgentId,
    pub supervision_task_id: TaskId,
    /// Work item of the parent. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_work_item_id: Option<WorkItemId>,
    /// Work item of the child that had its focus last. Absent if it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_work_item_id: Option<WorkItemId>,
    /// Message whose turn began the delegation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    pub state: DelegationState,
    /// Beginning of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    /// Position of the message whose turn began the delegation. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

impl WorkItemDelegationCompleted {
    /// Describes the end of a delegation, with the beginning of its report.
    #[must_use]
    pub fn of(
        record: DelegationRecord,
        parent_message_id: Option<MessageId>,
        result_summary: Option<String>,
    ) -> Self {
        Self {
            delegation_id: record.delegation_id,
            child_agent_id: record.child_agent_id,
            supervision_task_id: record.supervision_task_id,
            parent_work_item_id: record.parent_work_item_id,
            child_work_item_id: record.child_work_item_id,
            parent_message_id,
            state: record.state,
            result_summary,
            message_seq: None,
        }
    }
}
