//! Payloads of events about requests of operators for work, the end of a turn in its work item, and the scheduler's own
//! account of a rest.

use crate::agent::AgentStatus;
use crate::authority::AuthorityClass;
use crate::id::{RunId, TimerId, TriggerId, WaitId, WorkItemId};
use crate::time::Timestamp;
use crate::turn::TerminalReason;
use crate::work_item::WorkItemSchedulingState;
use serde::{Deserialize, Serialize};

/// An item that an operator asked for. See [`Event::WorkItemEnqueueRequested`](super::Event::WorkItemEnqueueRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemEnqueueRequested {
    pub work_item_id: WorkItemId,
    pub authority_class: AuthorityClass,
}

/// A timer that an operator asked for. See [`Event::TimerCreateRequested`](super::Event::TimerCreateRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerCreateRequested {
    pub timer_id: TimerId,
    pub authority_class: AuthorityClass,
}

/// A wake that an operator asked for. See [`Event::WakeRequested`](super::Event::WakeRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeRequested {
    /// Reason in the operator's words, shortened. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Outside system that changed. Absent if the operator named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// Authority that a tick for this request alone has. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
}

/// A hint that joined a pending one. See [`Event::WakeHintCoalesced`](super::Event::WakeHintCoalesced).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeHintCoalesced {
    /// Capability or source the hint came from, as its sender named it.
    pub key: String,
    /// Capability that the hint came through. Absent for a request of an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<TriggerId>,
    /// Name that the sender gave itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// Authority that a tick for this hint alone has. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
}

/// Hints that began no turn. See [`Event::WakeHintIgnored`](super::Event::WakeHintIgnored).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeHintIgnored {
    /// Capabilities or sources of the hints.
    pub keys: Vec<String>,
    /// Capabilities that the hints came through, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_trigger_ids: Vec<TriggerId>,
    /// Name that the sender of the only hint gave itself. Absent if there are several hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Correlation id of the only hint. Absent if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Causation id of the only hint. Absent if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// Authority that a tick for the hints has. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
}

/// The end of a turn in its work item. See
/// [`Event::WorkItemTurnEndCommitted`](super::Event::WorkItemTurnEndCommitted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemTurnEndCommitted {
    pub turn_index: u64,
    pub run_id: RunId,
    pub work_item_id: WorkItemId,
    /// State of the item after the turn.
    pub committed_state: WorkItemSchedulingState,
    /// True if the turn changed the item, a file or a task.
    pub work_item_state_changed: bool,
}

/// A turn that says nothing about its work item. See
/// [`Event::WorkItemTurnEndCommitSkipped`](super::Event::WorkItemTurnEndCommitSkipped).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemTurnEndCommitSkipped {
    pub turn_index: u64,
    pub run_id: RunId,
    pub work_item_id: WorkItemId,
    pub reason: TerminalReason,
}

/// A reminder in a long turn. See
/// [`Event::WorkItemStaleReminderInjected`](super::Event::WorkItemStaleReminderInjected).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemStaleReminderInjected {
    pub turn_index: u64,
    /// Number of the round whose request held the reminder, counted from 1.
    pub round: u32,
    pub work_item_id: WorkItemId,
    /// Model rounds since a work item was last updated.
    pub rounds_since_work_item_update: u32,
}

/// A reminder that was left out. See
/// [`Event::WorkItemStaleReminderSkipped`](super::Event::WorkItemStaleReminderSkipped).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemStaleReminderSkipped {
    pub turn_index: u64,
    /// Number of the round whose request had no room for the reminder, counted from 1.
    pub round: u32,
    pub work_item_id: WorkItemId,
    /// `over_limit` if it is longer than the settings let a reminder be, `over_budget` if the request had no room.
    pub reason: String,
}

/// A wait beside open work. See
/// [`Event::MissingCurrentWorkItemBeforeWait`](super::Event::MissingCurrentWorkItemBeforeWait).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MissingCurrentWorkItemBeforeWait {
    pub wait_id: WaitId,
    /// Number of open items, none of which waits because of this wait.
    pub open_work_items: u32,
}

/// A wait that was cancelled. See [`Event::WaitingIntentCancelled`](super::Event::WaitingIntentCancelled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingIntentCancelled {
    pub wait_id: WaitId,
    /// Item that waited. Absent when the agent itself waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Cause of the cancellation, in words.
    pub reason: String,
}

/// A wait that may never end. See [`Event::ExternalWaitWithoutRecovery`](super::Event::ExternalWaitWithoutRecovery).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExternalWaitWithoutRecovery {
    pub wait_id: WaitId,
    /// Item that waits. Absent when the agent itself waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Outside system whose event is awaited. Absent if any event ends the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Status that the scheduler gives an agent at a boundary of its life, and why. See
/// [`Event::SchedulerPostureDecision`](super::Event::SchedulerPostureDecision).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulerPostureDecision {
    /// Place of the decision: `bootstrap` when an agent becomes ready or is taken up by a new process, `lifecycle_sleep` when it goes to rest after a turn, `control` for a
    /// request of an operator, `shutdown` when its host goes down while it is at work. Events of earlier builds say
    /// `run_loop_idle` for a rest.
    pub boundary: String,
    /// One sentence for people.
    pub reason: String,
    pub previous_status: AgentStatus,
    pub next_status: AgentStatus,
    /// Time of the next wake. Absent if only a message wakes the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes_at: Option<Timestamp>,
}

/// A rest that deserves attention. See [`Event::SchedulerDiagnostic`](super::Event::SchedulerDiagnostic).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulerDiagnostic {
    /// Name of the finding: `idle_posture_has_runnable_work`.
    pub kind: String,
    /// `info`, or `warning` if the work is offered no more after one further turn without progress.
    pub severity: String,
    /// One sentence for people.
    pub message: String,
    /// Item that the agent would continue with. Absent if none has the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
}
