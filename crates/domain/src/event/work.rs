//! Payloads of events about work items, waits, timers and wake hints.

use crate::authority::AuthorityClass;
use crate::id::{MessageId, TaskId, TimerId, TriggerId, WaitId, WorkItemId};
use crate::time::Timestamp;
use crate::wait::{WaitKind, WaitStatus};
use crate::work_item::{PlanStatus, Readiness, WorkItemSchedulingState, WorkItemState};
use serde::{Deserialize, Serialize};

/// A work item after a change. See [`Event::WorkItemWritten`](super::Event::WorkItemWritten).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemWritten {
    /// Change that was made: `created`, `updated`, `completed`, `idle_turn`, `stalled`, `progress`, `wait_began`,
    /// `wait_changed`, `wait_ended` or `resumed`.
    pub action: String,
    pub work_item_id: WorkItemId,
    /// Number of this change. Readers that see a gap read the item again.
    pub revision: u64,
    /// Beginning of the objective.
    pub objective: String,
    pub state: WorkItemState,
    /// Tells the scheduler whether it may run the item after this change.
    pub scheduling_state: WorkItemSchedulingState,
    pub plan_status: PlanStatus,
    /// Beginning of the blocker text. Absent unless the item is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// Problems that did not prevent the change, for example unfinished entries of the checklist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A change of focus. See [`Event::WorkItemPicked`](super::Event::WorkItemPicked).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemPicked {
    /// Item that had the focus before. Absent if none had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_work_item_id: Option<WorkItemId>,
    /// Item that has the focus now.
    pub current_work_item_id: WorkItemId,
    /// Reason in the agent's words. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Readiness of the item that lost the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_readiness: Option<Readiness>,
    /// Readiness of the item that got the focus.
    pub current_readiness: Readiness,
    /// True if the agent left a runnable item and gave no reason.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub reason_missing: bool,
}

/// Item that lost the focus. See [`Event::WorkItemFocusReleased`](super::Event::WorkItemFocusReleased).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemFocusReleased {
    pub work_item_id: WorkItemId,
    /// Always `completed` in this build.
    pub reason: String,
}

/// New content of a plan file. See
/// [`Event::WorkItemPlanArtifactRefreshed`](super::Event::WorkItemPlanArtifactRefreshed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemPlanArtifactRefreshed {
    pub work_item_id: WorkItemId,
    /// SHA-256 of the file's new content, in hex.
    pub hash: String,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// A used reminder. See [`Event::WorkItemRecheckConsumed`](super::Event::WorkItemRecheckConsumed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemRecheckConsumed {
    /// Blocked item that the agent was reminded of.
    pub work_item_id: WorkItemId,
    /// Time for which the reminder was set.
    pub recheck_at: Timestamp,
}

/// A stored completion report. See
/// [`Event::WorkItemCompletionReportPromoted`](super::Event::WorkItemCompletionReportPromoted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemCompletionReportPromoted {
    pub work_item_id: WorkItemId,
    /// Turn whose round contains the report.
    pub turn_index: u64,
    /// Beginning of the report.
    pub text_preview: String,
}

/// A flaw in a completion. See [`Event::WorkItemCompletionWarning`](super::Event::WorkItemCompletionWarning).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemCompletionWarning {
    pub work_item_id: WorkItemId,
    /// Name of the flaw: `missing_report`, `unfinished_todos` or `active_tasks`.
    pub kind: String,
    /// Warning as the agent reads it.
    pub message: String,
}

/// A new wait. See [`Event::WaitingIntentCreated`](super::Event::WaitingIntentCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingIntentCreated {
    pub wait_id: WaitId,
    /// Item that waits. Absent when the agent itself waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Kind of the first wake source: a task, something external, an operator or a time.
    pub kind: WaitKind,
    /// Reason in the agent's words, shortened.
    pub waiting_for: String,
    /// Time at which the wait ends at the latest. Absent if no time ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

/// A wait that is over. See [`Event::WaitingIntentEnded`](super::Event::WaitingIntentEnded).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingIntentEnded {
    pub wait_id: WaitId,
    /// Item that waited. Absent when the agent itself waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Resolved, cancelled or expired.
    pub status: WaitStatus,
    /// Cause of the end, in words.
    pub ended_by: String,
    /// Task whose end resolved the wait. Absent if something else ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

/// A new timer. See [`Event::TimerCreated`](super::Event::TimerCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerCreated {
    pub timer_id: TimerId,
    /// First slot of the timer.
    pub next_fire_at: Timestamp,
    /// Text of the timer's ticks. Absent if a default text is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A slot of a timer that could not be handled as planned. See
/// [`Event::TimerFireFailed`](super::Event::TimerFireFailed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerFireFailed {
    pub timer_id: TimerId,
    /// Slot that was handled.
    pub planned_at: Timestamp,
    pub error: String,
}

/// A slot of a timer. See [`Event::TimerFired`](super::Event::TimerFired).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerFired {
    pub timer_id: TimerId,
    /// Slot the timer fired for. The event's own time is when it fired; the difference is the delay.
    pub planned_at: Timestamp,
    /// Id of the queued tick. Absent when the timer's policy skips missed slots, or when the queue holds too many
    /// ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Ticks that the timer has queued so far.
    pub fire_count: u64,
    /// Slots missed before this one, for example while the host was down.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub missed: u64,
    /// Next slot. Absent when this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<Timestamp>,
}

/// Timer that was cancelled. See [`Event::TimerCancelled`](super::Event::TimerCancelled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerCancelled {
    pub timer_id: TimerId,
}

/// A wake hint that arrived. See [`Event::WakeHintTriggered`](super::Event::WakeHintTriggered).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeHintTriggered {
    /// Capability or source the hint came from. Hints with the same key are merged.
    pub key: String,
    /// Reason given by the sender, shortened. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Deliveries that the pending hint stands for, this one included. More than one means that it was merged.
    pub count: u64,
    /// Waits that the pending hint ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wait_ids: Vec<WaitId>,
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

/// A wake-up by the runtime. See [`Event::SystemTickEmitted`](super::Event::SystemTickEmitted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemTickEmitted {
    /// Part of the runtime that sent the tick: `sleep_wait`, `wait_over`, `wait_changed`, `work_queue`,
    /// `work_item_recheck` or `wake_hint`.
    pub subsystem: String,
    /// Id of the queued tick message.
    pub message_id: MessageId,
    /// Time for which the tick was planned. The event's own time is when it was queued; the difference is the delay.
    pub planned_at: Timestamp,
    /// Work item that the tick is about. Absent if it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
}

/// Ticks that are held back. See [`Event::SystemTickSuppressed`](super::Event::SystemTickSuppressed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemTickSuppressed {
    /// Part of the runtime that would have sent the tick: `work_queue`.
    pub subsystem: String,
    /// `backs_off` for a pause that grows, `stalled` when the item is no longer offered.
    pub reason: String,
    /// Work item that the tick would have been for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Earliest time of the next tick. Absent when only a change or a message brings one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}
