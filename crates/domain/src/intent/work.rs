//! Intents about work items, waits and timers.

use crate::id::{TaskId, TimerId, TriggerId, WaitId, WorkItemId};
use crate::time::Timestamp;
use crate::timer::{MissedSlotPolicy, TimerSchedule};
use crate::wait::WaitQuestion;
use crate::work_item::{PlanStatus, TodoItem, WorkItemCursor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A work item to create. The plan text stays in the call; the shell writes it to the plan file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWorkItem {
    pub objective: String,
    #[serde(default)]
    pub plan_status: PlanStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<TodoItem>,
}

/// Changes of a work item. An absent field leaves the item as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkItemChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_list: Option<Vec<TodoItem>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<BlockerChange>,
}

/// Change of an item's blocker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockerChange {
    Clear,
    Set {
        text: String,
        /// Milliseconds until the agent is reminded of the blocker.
        recheck_after_ms: u64,
    },
}

/// One condition that ends a new wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum WakeCondition {
    Task {
        task_id: TaskId,
    },
    External {
        source: Option<String>,
    },
    /// A delivery to one external trigger of the agent.
    Trigger {
        external_trigger_id: TriggerId,
    },
    Operator,
    Time {
        at: Timestamp,
    },
    After {
        delay_ms: u64,
    },
}

/// A wait to declare. It ends the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWait {
    pub reason: String,
    pub wake_on: Vec<WakeCondition>,
    /// Item that waits. Absent if it is the current item, or the agent itself if there is no current item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<String>,
    /// Question to an operator. Absent if every message of an operator counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<WaitQuestion>,
    /// Milliseconds after which the agent checks again, even if nothing happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_after_ms: Option<u64>,
}

/// A timer to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTimer {
    pub schedule: TimerSchedule,
    #[serde(default)]
    pub missed: MissedSlotPolicy,
    /// Text of the tick that the agent receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Selection of the work items that a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemFilter {
    #[default]
    All,
    Open,
    Completed,
    Current,
    Queued,
    Blocked,
    WaitingForOperator,
    Runnable,
}

/// A query for stored work. The shell answers it from a reader, never inside the writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum WorkQuery {
    Item {
        work_item_id: WorkItemId,
        include_todo_list: bool,
    },
    Items {
        filter: WorkItemFilter,
        limit: u32,
        include_todo_list: bool,
        /// Position behind which the list begins. Absent for the first page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<WorkItemCursor>,
    },
    Timers {
        limit: u32,
    },
}

/// A change of work that the kernel decides in its own commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum WorkIntent {
    Pick {
        work_item_id: WorkItemId,
        reason: Option<String>,
    },
    Update {
        work_item_id: WorkItemId,
        change: WorkItemChange,
    },
    Complete {
        work_item_id: WorkItemId,
        /// Paths of files in the agent's home that the report attaches.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<String>,
    },
    CancelWait {
        wait_id: WaitId,
    },
    CreateTimer(NewTimer),
    /// A timer whose first slot is counted from the commit that creates it.
    CreateTimerAfter {
        delay_ms: u64,
        /// Absent for a timer that fires once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval_ms: Option<u64>,
        #[serde(default)]
        missed: MissedSlotPolicy,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    CancelTimer {
        timer_id: TimerId,
    },
}
