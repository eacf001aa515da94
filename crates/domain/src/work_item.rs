//! Work items: the durable record of one objective, and the views of it that tools, prompts and clients show.
//!
//! An item is open or completed; whether the scheduler may run it is derived from the record alone
//! ([`WorkItemRecord::scheduling_state`]). Which item has the focus stands in the agent's row, not here.

mod overview;
mod plan;
mod view;

pub use overview::WorkOverview;
pub use plan::PlanArtifact;
pub use view::{
    CompletionReport, Focus, PlanDescriptor, ViewContext, WorkItemListEntry, WorkItemView,
};

use crate::authority::AuthorityClass;
use crate::id::{AgentId, MessageId, WaitId, WorkItemId, WorkspaceId};
use crate::time::Timestamp;
use crate::timer::DueId;
use crate::wait::WaitKind;
use serde::{Deserialize, Serialize};

/// Lifecycle of an item. Focus, queueing and blocking are derived and are no states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemState {
    Open,
    Completed,
}

/// Whether the plan is ready to guide the implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// The agent still shapes the plan. The item is runnable all the same.
    #[default]
    Draft,
    Ready,
    /// The plan needs an answer from outside; the item is not runnable until the agent sets another status.
    NeedsInput,
}

/// State of one entry of the checklist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    Pending,
    InProgress,
    Completed,
}

/// One entry of the checklist under the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    pub text: String,
    pub state: TodoState,
}

/// What the scheduler may do with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemSchedulingState {
    Runnable,
    /// Turn after turn changed nothing about the work; the scheduler offers the item again only after something did.
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
    /// The older label for the same thing, which clients of the contract read.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    Runnable,
    WaitingForOperator,
    Blocked,
    Completed,
}

/// The active wait of an item, copied from its record so that the scheduling state needs no second row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemWait {
    pub wait_id: WaitId,
    pub kind: WaitKind,
}

/// How many turns in a row left the work as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IdleTurns {
    pub count: u32,
    /// Value of the agent's `wake_count` when they were counted. A greater one makes the count void.
    pub wake_count: u64,
}

/// The reminder to look at a blocker again. It wakes the agent once and changes nothing about the item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recheck {
    pub at: Timestamp,
    /// The due entry that will come. Absent once it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueId>,
    /// Authority of the turn that set the blocker. The tick that repeats its words has no more.
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
    /// When a request that listed the item was answered after the reminder came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_at: Option<Timestamp>,
}

/// Where an item came from. What the item causes later has no more authority than this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItemProvenance {
    pub authority: AuthorityClass,
    /// The turn whose call made the item. Absent for an item that an operator made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

/// One objective of an agent, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItemRecord {
    pub id: WorkItemId,
    pub agent_id: AgentId,
    /// The workspace that was active when the item was made.
    pub workspace_id: WorkspaceId,
    pub objective: String,
    pub state: WorkItemState,
    pub plan_status: PlanStatus,
    /// Absent until the runtime has seen a plan file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanArtifact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<TodoItem>,
    /// Why the objective cannot advance, in the agent's words. The runtime never sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<Recheck>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<ItemWait>,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub idle_turns: IdleTurns,
    /// The completion report, promoted from the round that completed the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    pub provenance: WorkItemProvenance,
    /// Grows with every change that the agent or an operator makes.
    pub revision: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Turns in a row without progress after which an item is stalled.
pub const STALLED_AFTER: u32 = 3;

impl WorkItemRecord {
    /// What the scheduler may do with the item. `wake_count` is the agent's: operator messages, wakes and task results
    /// void the count of idle turns.
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

    /// Idle turns that still count.
    #[must_use]
    pub const fn idle_count(&self, wake_count: u64) -> u32 {
        if self.idle_turns.wake_count == wake_count {
            self.idle_turns.count
        } else {
            0
        }
    }

    /// The entry of the checklist that is being done, or else the next one.
    #[must_use]
    pub fn current_todo(&self) -> Option<&TodoItem> {
        let of = |state| self.todo_list.iter().find(move |todo| todo.state == state);
        of(TodoState::InProgress).or_else(|| of(TodoState::Pending))
    }

    /// How many entries of the checklist are in this state.
    #[must_use]
    pub fn todo_count(&self, state: TodoState) -> usize {
        let in_state = |todo: &&TodoItem| todo.state == state;
        self.todo_list.iter().filter(in_state).count()
    }
}
