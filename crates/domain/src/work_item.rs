//! Work items: the durable record of one objective, and its views for tools, prompts and clients.
//!
//! An item is open or completed. Its availability for the scheduler is derived from the record alone
//! ([`WorkItemRecord::scheduling_state`]). The agent's row stores which item has the focus.

mod cursor;
mod delivery;
mod overview;
mod plan;
mod view;

pub use cursor::{WorkItemCursor, WorkItemCursorError};
pub use delivery::{
    ASSISTANT_ROUND, DeliverySummary, DeliverySummaryRecord, DeliverySummaryRow, ReportText,
};
pub use overview::{ItemStep, StepAction, WorkOverview};
pub use plan::PlanArtifact;
pub use view::{
    CompletionReport, Focus, PlanDescriptor, ViewContext, WorkItemListEntry, WorkItemView,
};

use crate::authority::AuthorityClass;
use crate::id::{AgentId, DeliverySummaryId, MessageId, WaitId, WorkItemId, WorkspaceId};
use crate::operator_transport::ReplyRoute;
use crate::time::Timestamp;
use crate::timer::DueId;
use crate::wait::{WaitKind, WaitNote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lifecycle of an item. Focus, queueing and blocking are derived and are not states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemState {
    Open,
    Completed,
}

/// Readiness of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// The agent still works on the plan. The item is runnable nevertheless.
    #[default]
    Draft,
    /// The plan guides the implementation.
    Ready,
    /// The plan needs an answer from outside. The item is not runnable until the agent sets another status.
    NeedsInput,
}

/// State of one entry of the checklist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    Pending,
    InProgress,
    Completed,
}

/// One entry of the checklist under the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    pub text: String,
    pub state: TodoState,
}

/// Availability of an item for the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemSchedulingState {
    Runnable,
    /// Several turns in a row changed nothing about the work. The scheduler offers the item again only after something
    /// has changed.
    Stalled,
    WaitingOperator,
    WaitingTask,
    WaitingExternal,
    WaitingTimer,
    /// The agent named a blocker in `blocked_by`.
    Blocked,
    Completed,
}

impl WorkItemSchedulingState {
    /// Returns true for an open item that waits or is blocked.
    #[must_use]
    pub const fn is_blocked(self) -> bool {
        matches!(
            self,
            Self::WaitingOperator
                | Self::WaitingTask
                | Self::WaitingExternal
                | Self::WaitingTimer
                | Self::Blocked
        )
    }

    /// Returns the older label for the same fact, which established clients read.
    #[must_use]
    pub const fn readiness(self) -> Readiness {
        match self {
            Self::Runnable | Self::Stalled => Readiness::Runnable,
            Self::WaitingOperator => Readiness::WaitingForOperator,
            Self::WaitingTask | Self::WaitingExternal | Self::WaitingTimer | Self::Blocked => {
                Readiness::Blocked
            }
            Self::Completed => Readiness::Completed,
        }
    }
}

/// Coarse label of a scheduling state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "WorkItemReadiness")]
pub enum Readiness {
    Runnable,
    WaitingForOperator,
    Blocked,
    Completed,
}

/// Active wait of an item, copied from the wait's record so that the scheduling state needs no second row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemWait {
    pub wait_id: WaitId,
    pub kind: WaitKind,
}

/// Number of turns in a row that changed nothing about the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IdleTurns {
    pub count: u32,
    /// Value of the agent's `wake_count` when they were counted. A greater value makes the count void.
    pub wake_count: u64,
}

/// Reminder to check a blocker. It wakes the agent once and does not change the item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recheck {
    pub at: Timestamp,
    /// Due entry of the reminder. Absent once it has fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueId>,
    /// Authority of the turn that set the blocker. The tick that repeats its text has no more.
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
    /// Time at which the first request after the reminder that listed the item was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_at: Option<Timestamp>,
}

/// Origin of an item. Everything that the item causes later has no more authority than this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemProvenance {
    pub authority: AuthorityClass,
    /// Turn whose call created the item. Absent for an item that an operator created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Route of the remote operator whose message asked for the item. Absent for every other item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_route: Option<ReplyRoute>,
}

impl WorkItemProvenance {
    /// Returns true if an operator created the item with a command.
    #[must_use]
    pub const fn is_by_operator(&self) -> bool {
        self.turn_index.is_none()
    }
}

/// One objective of an agent, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItemRecord {
    pub id: WorkItemId,
    pub agent_id: AgentId,
    /// Workspace that was active when the item was created.
    pub workspace_id: WorkspaceId,
    pub objective: String,
    pub state: WorkItemState,
    pub plan_status: PlanStatus,
    /// Absent until the runtime has seen a plan file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanArtifact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<TodoItem>,
    /// Blocker in the agent's words. The runtime never sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<Recheck>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<ItemWait>,
    /// Wait that ended without a message of its own. The next tick for the item tells it and clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_wait: Option<WaitNote>,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub idle_turns: IdleTurns,
    /// Beginning of the completion report, taken from the round that completed the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    /// Delivery summary with the whole report and its origin. Absent without a report, in imported items, and in items
    /// that earlier builds completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_summary_id: Option<DeliverySummaryId>,
    /// Origin of the report of an item that an earlier build completed. Its brief has the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliverySummary>,
    pub provenance: WorkItemProvenance,
    /// Operator's words that asked for it, at most [`ORDER_BYTES`](crate::agent::ORDER_BYTES). Absent if the turn that
    /// made it had none, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Grows with every change that the agent or an operator makes.
    pub revision: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Turns in a row without progress after which an item is stalled.
pub const STALLED_AFTER: u32 = 3;

impl WorkItemRecord {
    /// Returns the availability of the item. `wake_count` is the agent's: operator messages, wake hints and task
    /// results void the count of idle turns.
    #[must_use]
    pub fn scheduling_state(&self, wake_count: u64) -> WorkItemSchedulingState {
        if self.state == WorkItemState::Completed {
            return WorkItemSchedulingState::Completed;
        }
        if self.blocked_by.is_some() {
            return WorkItemSchedulingState::Blocked;
        }
        if self.plan_status == PlanStatus::NeedsInput {
            return WorkItemSchedulingState::WaitingOperator;
        }
        match self.wait.as_ref().map(|wait| wait.kind) {
            Some(WaitKind::Operator) => WorkItemSchedulingState::WaitingOperator,
            Some(WaitKind::Task) => WorkItemSchedulingState::WaitingTask,
            Some(WaitKind::External) => WorkItemSchedulingState::WaitingExternal,
            Some(WaitKind::Timer) => WorkItemSchedulingState::WaitingTimer,
            None if self.idle_count(wake_count) >= STALLED_AFTER => {
                WorkItemSchedulingState::Stalled
            }
            None => WorkItemSchedulingState::Runnable,
        }
    }

    /// Returns the idle turns that still count.
    #[must_use]
    pub const fn idle_count(&self, wake_count: u64) -> u32 {
        if self.idle_turns.wake_count == wake_count {
            self.idle_turns.count
        } else {
            0
        }
    }

    /// Returns the checklist entry in progress, or else the next pending one.
    #[must_use]
    pub fn current_todo(&self) -> Option<&TodoItem> {
        let of = |state| self.todo_list.iter().find(move |todo| todo.state == state);
        of(TodoState::InProgress).or_else(|| of(TodoState::Pending))
    }

    /// Counts the checklist entries in this state.
    #[must_use]
    pub fn todo_count(&self, state: TodoState) -> usize {
        let in_state = |todo: &&TodoItem| todo.state == state;
        self.todo_list.iter().filter(in_state).count()
    }
}

/// A reminder in a long turn that the current work item was not updated for many rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleReminder {
    pub work_item_id: WorkItemId,
    /// Model rounds since a work item was last updated.
    pub rounds_since_update: u32,
    /// Why the reminder was due and left out. `None` if the request holds it.
    pub skipped: Option<ReminderSkip>,
}

/// Reason for which a due reminder was left out of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderSkip {
    /// It is longer than the settings let a reminder be.
    OverLimit,
    /// The request had no room for it.
    OverBudget,
}

impl ReminderSkip {
    /// Returns the name in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OverLimit => "over_limit",
            Self::OverBudget => "over_budget",
        }
    }
}

impl StaleReminder {
    /// Reason of the continuation prompts in the log that hold reminders.
    pub const LOG_REASON: &str = "work_item_reminder";
}
