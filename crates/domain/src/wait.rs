//! Waits: records of what an agent, or one of its work items, has declared to wait for.
//!
//! A wait ends when something it names happens, at its due time, by `CancelWait`, by a newer wait of the same item, or
//! with its item. An ended wait is kept as history and never opens again. What an operator's message does to a wait is
//! in `operator`.

mod operator;

pub use operator::{WaitEffect, WaitNote, WaitQuestion};

use crate::authority::AuthorityClass;
use crate::closure::WaitingReason;
use crate::id::{AgentId, TaskId, TriggerId, WaitId, WorkItemId};
use crate::time::Timestamp;
use crate::timer::DueId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of thing that a wait is for. A wait with several wake sources has the kind of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    Task,
    External,
    Operator,
    Timer,
}

impl WaitKind {
    /// Returns the reason that the closure of an agent shows while such a wait is open.
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

/// Status of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitStatus {
    Active,
    /// Something that the wait names happened.
    Resolved,
    /// The agent or an operator cancelled it, or its item was completed.
    Cancelled,
    /// Its due time came first.
    Expired,
}

/// Event that ends a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WakeSource {
    /// A task of this agent ends.
    TaskResult { task_id: TaskId },
    /// An event or a wake hint arrives from outside.
    ExternalIngress {
        /// Required source of the delivery. Absent if any source counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_trigger_id: Option<TriggerId>,
    },
    /// A wall-clock time comes.
    Timer { wake_at: Timestamp },
    /// An operator writes. A wait with a question ends by its answer, one without by a message on any topic.
    OperatorInput,
    /// The runtime sends a tick.
    SystemTick,
}

impl WakeSource {
    /// Returns the kind of a wait with these sources: the operator's if one of them is the operator, because then an
    /// answer is asked for, and otherwise that of the first.
    #[must_use]
    pub fn kind_of(sources: &[Self]) -> WaitKind {
        let mut kinds = sources.iter().map(Self::kind);
        let first = kinds.next().unwrap_or(WaitKind::Timer);
        kinds
            .find(|kind| *kind == WaitKind::Operator)
            .unwrap_or(first)
    }

    const fn kind(&self) -> WaitKind {
        match self {
            Self::TaskResult { .. } => WaitKind::Task,
            Self::ExternalIngress { .. } => WaitKind::External,
            Self::OperatorInput => WaitKind::Operator,
            Self::Timer { .. } | Self::SystemTick => WaitKind::Timer,
        }
    }
}

/// One declared wait, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitRecord {
    pub id: WaitId,
    pub agent_id: AgentId,
    /// Item that waits. Absent if the agent itself waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    pub kind: WaitKind,
    pub status: WaitStatus,
    /// Reason in the agent's words.
    pub waiting_for: String,
    pub wake_sources: Vec<WakeSource>,
    /// Outside system that the wait is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Object in that system, for example the number of a pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<String>,
    /// External trigger whose deliveries end the wait. Absent if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<TriggerId>,
    /// Question to an operator. Absent if the wait asks none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<WaitQuestion>,
    /// Time at which the wait ends at the latest: the earliest time it names, or its recheck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// Due entry of `due_at`. Absent once it has fired or was cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueId>,
    /// Operator's words that asked for what waits, at most [`ORDER_BYTES`](crate::agent::ORDER_BYTES). Absent if the turn that
    /// made it had none, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Authority of the turn that declared the wait. The tick at its due time has no more.
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
    /// Number of matching events. More than one only if they arrived in one batch.
    #[serde(default)]
    pub trigger_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_triggered_at: Option<Timestamp>,
    /// Cause of the end, in words. Absent while the wait is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// An event that may end waits, beside an operator's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeEvent<'a> {
    TaskEnded(&'a TaskId),
    /// An event or a hint from outside, with the name of its source if it has one.
    Outside {
        source: Option<&'a str>,
        external_trigger_id: Option<&'a TriggerId>,
    },
}

impl WaitRecord {
    /// Returns true if the event ends this wait.
    #[must_use]
    pub fn is_ended_by(&self, wake: WakeEvent<'_>) -> bool {
        self.status == WaitStatus::Active
            && self.wake_sources.iter().any(|source| matches(source, wake))
    }
}

fn matches(awaited: &WakeSource, wake: WakeEvent<'_>) -> bool {
    match (awaited, wake) {
        (WakeSource::TaskResult { task_id }, WakeEvent::TaskEnded(ended)) => task_id == ended,
        (
            WakeSource::ExternalIngress {
                source,
                external_trigger_id,
            },
            WakeEvent::Outside {
                source: came_from,
                external_trigger_id: came_through,
            },
        ) => {
            source.as_deref().is_none_or(|name| came_from == Some(name))
                && external_trigger_id
                    .as_ref()
                    .is_none_or(|id| came_through == Some(id))
        }
        (
            WakeSource::TaskResult { .. }
            | WakeSource::ExternalIngress { .. }
            | WakeSource::Timer { .. }
            | WakeSource::OperatorInput
            | WakeSource::SystemTick,
            WakeEvent::TaskEnded(_) | WakeEvent::Outside { .. },
        ) => false,
    }
}
