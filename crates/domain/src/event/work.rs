//! Events about work items, waits, timers and wake hints.

use crate::id::{MessageId, TaskId, TimerId, WaitId, WorkItemId};
use crate::time::Timestamp;
use crate::wait::{WaitKind, WaitStatus};
use crate::work_item::{PlanStatus, Readiness, WorkItemSchedulingState, WorkItemState};
use serde::{Deserialize, Serialize};

/// See [`Event::WorkItemWritten`](super::Event::WorkItemWritten).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemWritten {
    /// What changed the item: `created`, `updated`, `completed`, `idle_turn`, `stalled`, `progress`, `wait_began`,
    /// `wait_ended` or `resumed`.
    pub action: String,
    /// The item that changed.
    pub work_item_id: WorkItemId,
    /// The number of this change; readers that see a gap read the item again.
    pub revision: u64,
    /// The beginning of the objective.
    pub objective: String,
    /// Whether the item is open or completed.
    pub state: WorkItemState,
    /// Whether the scheduler may run the item after this change.
    pub scheduling_state: WorkItemSchedulingState,
    /// The status of the plan after this change.
    pub plan_status: PlanStatus,
    /// The beginning of the blocker text, while the item is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// Things the agent should know although the change was made, for example unfinished entries of the checklist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// See [`Event::WorkItemPicked`](super::Event::WorkItemPicked).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemPicked {
    /// The item that had the focus before, if one had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_work_item_id: Option<WorkItemId>,
    /// The item that has the focus now.
    pub current_work_item_id: WorkItemId,
    /// Why the agent switched, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the item that lost the focus could have gone on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_readiness: Option<Readiness>,
    /// Whether the item that got the focus can go on.
    pub current_readiness: Readiness,
    /// The agent left a runnable item and gave no reason.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub reason_missing: bool,
}

/// See [`Event::WorkItemFocusReleased`](super::Event::WorkItemFocusReleased).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemFocusReleased {
    /// The item that had the focus.
    pub work_item_id: WorkItemId,
    /// Why the focus was released: `completed`.
    pub reason: String,
}

/// See [`Event::WorkItemPlanArtifactRefreshed`](super::Event::WorkItemPlanArtifactRefreshed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemPlanArtifactRefreshed {
    /// The item whose plan file changed.
    pub work_item_id: WorkItemId,
    /// SHA-256 of the file as it is now.
    pub hash: String,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// See [`Event::WorkItemRecheckConsumed`](super::Event::WorkItemRecheckConsumed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemRecheckConsumed {
    /// The blocked item that the agent was reminded of.
    pub work_item_id: WorkItemId,
    /// When the reminder was due.
    pub recheck_at: Timestamp,
}

/// See [`Event::WorkItemCompletionReportPromoted`](super::Event::WorkItemCompletionReportPromoted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemCompletionReportPromoted {
    /// The completed item.
    pub work_item_id: WorkItemId,
    /// The turn whose round held the report.
    pub turn_index: u64,
    /// The beginning of the report.
    pub text_preview: String,
}

/// See [`Event::WorkItemCompletionWarning`](super::Event::WorkItemCompletionWarning).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkItemCompletionWarning {
    /// The completed item.
    pub work_item_id: WorkItemId,
    /// What is missing: `missing_report` or `unfinished_todos`.
    pub kind: String,
    /// The warning as the agent reads it.
    pub message: String,
}

/// See [`Event::WaitingIntentCreated`](super::Event::WaitingIntentCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingIntentCreated {
    /// The wait.
    pub wait_id: WaitId,
    /// The item that waits. Absent when the agent itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The kind of thing that is waited for.
    pub kind: WaitKind,
    /// What is waited for, shortened.
    pub waiting_for: String,
    /// When the wait ends at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

/// See [`Event::WaitingIntentEnded`](super::Event::WaitingIntentEnded).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitingIntentEnded {
    /// The wait.
    pub wait_id: WaitId,
    /// The item that waited. Absent when the agent itself did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// How the wait ended.
    pub status: WaitStatus,
    /// What ended it.
    pub ended_by: String,
    /// The task whose end was waited for, where a task ended the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

/// See [`Event::TimerCreated`](super::Event::TimerCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerCreated {
    /// The timer.
    pub timer_id: TimerId,
    /// Its first slot.
    pub next_fire_at: Timestamp,
    /// What its ticks say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// See [`Event::TimerFired`](super::Event::TimerFired).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerFired {
    /// The timer.
    pub timer_id: TimerId,
    /// The slot it fired for; the time of the event says when it fired.
    pub planned_at: Timestamp,
    /// The tick it sent. Absent when the policy of the timer skips missed slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Ticks sent so far.
    pub fire_count: u64,
    /// Slots that passed unnoticed before this one.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub missed: u64,
    /// The next slot. Absent when this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<Timestamp>,
}

/// See [`Event::TimerCancelled`](super::Event::TimerCancelled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerCancelled {
    /// The timer.
    pub timer_id: TimerId,
}

/// See [`Event::WakeHintTriggered`](super::Event::WakeHintTriggered).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeHintTriggered {
    /// The capability or source under which the hint is kept.
    pub key: String,
    /// Why the agent was woken, in the words of an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Deliveries that the pending hint stands for, this one included. More than one: it was coalesced.
    pub count: u64,
    /// The waits this hint ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wait_ids: Vec<WaitId>,
}

/// See [`Event::SystemTickSuppressed`](super::Event::SystemTickSuppressed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemTickSuppressed {
    /// The part of the runtime that would have sent the tick.
    pub subsystem: String,
    /// Why no tick was sent: `backs_off` or `stalled`.
    pub reason: String,
    /// The item the tick would have been for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// When the next tick may come. Absent when only a change or a message brings one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}
