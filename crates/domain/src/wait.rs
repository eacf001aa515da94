//! Waits: the one record of what an agent, or one of its work items, has declared to wait for.
//!
//! A wait ends when something it names happens, at its due time, by `CancelWait`, by a newer wait of the same item, or
//! with its item. An ended wait is kept as history and never opens again.

use crate::authority::AuthorityClass;
use crate::closure::WaitingReason;
use crate::id::{AgentId, TaskId, TriggerId, WaitId, WorkItemId};
use crate::time::Timestamp;
use crate::timer::DueId;
use serde::{Deserialize, Serialize};

/// What kind of thing is waited for. A wait with several wake sources takes the kind of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    Task,
    External,
    Operator,
    Timer,
}

impl WaitKind {
    /// The reason that the closure of an agent shows while such a wait is open.
    #[must_use]
    pub const fn reason(self) -> WaitingReason {
        match self {
            Self::Task => WaitingReason::AwaitingTaskResult,
            Self::External => WaitingReason::AwaitingExternalChange,
            Self::Operator => WaitingReason::AwaitingOperatorInput,
            Self::Timer => WaitingReason::AwaitingTimer,
        }
    }
}

/// Whether a wait is still open, and how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitStatus {
    Active,
    /// Something it names happened.
    Resolved,
    /// The agent or an operator gave it up, or its item was completed.
    Cancelled,
    /// Its due time came first.
    Expired,
}

/// Something that ends a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WakeSource {
    /// The end of a task of this agent.
    TaskResult { task_id: TaskId },
    /// An event or a wake hint from outside.
    ExternalIngress {
        /// Only a delivery from this source counts. Absent: any does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_trigger_id: Option<TriggerId>,
    },
    /// A time on the wall.
    Timer { wake_at: Timestamp },
    /// Any message of an operator.
    OperatorInput,
    /// A tick of the runtime.
    SystemTick,
}

impl WakeSource {
    /// The kind of a wait whose first source this is.
    #[must_use]
    pub const fn kind(&self) -> WaitKind {
        match self {
            Self::TaskResult { .. } => WaitKind::Task,
            Self::ExternalIngress { .. } => WaitKind::External,
            Self::OperatorInput => WaitKind::Operator,
            Self::Timer { .. } | Self::SystemTick => WaitKind::Timer,
        }
    }
}

/// One declared wait, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRecord {
    pub id: WaitId,
    pub agent_id: AgentId,
    /// The item that waits. Absent when the agent itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    pub kind: WaitKind,
    pub status: WaitStatus,
    /// What is waited for, in the agent's words.
    pub waiting_for: String,
    pub wake_sources: Vec<WakeSource>,
    /// The outside system that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The thing in that system, for example the number of a pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<String>,
    /// When the wait ends at the latest: the earliest time it names, or its recheck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// The due entry of `due_at`. Absent once it has come or was cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueId>,
    /// Authority of the turn that declared it. The tick at its due time has no more.
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
    /// How often something it names happened. More than one only in a batch that came at once.
    #[serde(default)]
    pub trigger_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_triggered_at: Option<Timestamp>,
    /// What ended it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Something that happened and may end waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake<'a> {
    TaskEnded(&'a TaskId),
    /// An event or a hint, with the name of its source where it has one.
    Outside {
        source: Option<&'a str>,
        external_trigger_id: Option<&'a TriggerId>,
    },
    Operator,
}

impl WaitRecord {
    /// Whether this ends the wait.
    #[must_use]
    pub fn is_ended_by(&self, wake: Wake<'_>) -> bool {
        self.status == WaitStatus::Active
            && self.wake_sources.iter().any(|source| matches(source, wake))
    }
}

fn matches(awaited: &WakeSource, wake: Wake<'_>) -> bool {
    match (awaited, wake) {
        (WakeSource::TaskResult { task_id }, Wake::TaskEnded(ended)) => task_id == ended,
        (
            WakeSource::ExternalIngress {
                source,
                external_trigger_id,
            },
            Wake::Outside {
                source: came_from,
                external_trigger_id: came_through,
            },
        ) => {
            source.as_deref().is_none_or(|name| came_from == Some(name))
                && external_trigger_id
                    .as_ref()
                    .is_none_or(|id| came_through == Some(id))
        }
        (WakeSource::OperatorInput, Wake::Operator) => true,
        (
            WakeSource::TaskResult { .. }
            | WakeSource::ExternalIngress { .. }
            | WakeSource::Timer { .. }
            | WakeSource::OperatorInput
            | WakeSource::SystemTick,
            Wake::TaskEnded(_) | Wake::Outside { .. } | Wake::Operator,
        ) => false,
    }
}
