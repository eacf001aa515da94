//! What an agent's row knows about its work items, waits, wake hints and timers.
//!
//! The rows themselves have tables of their own. The counts here change with each transition and are what the scheduler
//! reads, so that a decision costs the same with ten items and with a hundred thousand.

use super::RestWake;
use crate::id::WorkItemId;
use crate::time::Timestamp;
use crate::timer::DueId;
use crate::wait::WaitKind;
use crate::work_item::WorkItemSchedulingState;
use serde::{Deserialize, Serialize};

/// The item that has the focus, as the scheduler sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentItem {
    pub id: WorkItemId,
    pub state: WorkItemSchedulingState,
    /// Idle turns that still count against the item.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub idle_turns: u32,
}

/// An active wait of the agent itself, which belongs to no item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentWait {
    pub wait_id: crate::id::WaitId,
    pub kind: WaitKind,
    /// What the agent waits for, shortened for status lines.
    pub waiting_for: String,
    /// When the wait ends at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

/// How many open items are in each state. Completed items are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ItemCounts {
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub runnable: u32,
    /// Counted since the last change of `wake_count`.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub stalled: u32,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub waiting_operator: u32,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub waiting_task: u32,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub waiting_external: u32,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub waiting_timer: u32,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub blocked: u32,
}

impl ItemCounts {
    /// All open items.
    #[must_use]
    pub const fn open(&self) -> u32 {
        self.runnable
            + self.stalled
            + self.waiting_operator
            + self.waiting_task
            + self.waiting_external
            + self.waiting_timer
            + self.blocked
    }

    /// The count of a state. None for completed items, which are not counted.
    pub const fn of(&mut self, state: WorkItemSchedulingState) -> Option<&mut u32> {
        match state {
            WorkItemSchedulingState::Runnable => Some(&mut self.runnable),
            WorkItemSchedulingState::Stalled => Some(&mut self.stalled),
            WorkItemSchedulingState::WaitingOperator => Some(&mut self.waiting_operator),
            WorkItemSchedulingState::WaitingTask => Some(&mut self.waiting_task),
            WorkItemSchedulingState::WaitingExternal => Some(&mut self.waiting_external),
            WorkItemSchedulingState::WaitingTimer => Some(&mut self.waiting_timer),
            WorkItemSchedulingState::Blocked => Some(&mut self.blocked),
            WorkItemSchedulingState::Completed => None,
        }
    }
}

/// Counts and pointers over an agent's work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkState {
    /// Set by `PickWorkItem` alone and cleared when the item is completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<CurrentItem>,
    /// Open items by what the scheduler may do with them, the current one included.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub items: ItemCounts,
    /// A runnable item other than the current one: the one that a tick would offer next. Known whenever the agent is at
    /// rest and there is such an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<WorkItemId>,
    /// Items whose recheck has come and was not yet part of a request that was answered.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub due_rechecks: u32,
    /// Whether a tick has told the agent of the due rechecks. Cleared when one more comes.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub rechecks_told: bool,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub active_waits: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_wait: Option<AgentWait>,
    /// Sources with a pending wake hint.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub hints: u32,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub active_timers: u32,
    /// Queued messages that timers sent.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub timer_ticks: u32,
    /// Timers and waits whose time came while the agent was stopped. A start looks at them.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub parked: u32,
    /// The entry that makes a started agent look at them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpark: Option<DueId>,
    /// Grows with every operator message, wake, task result and model change. Idle turns counted before are void.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub wake_count: u64,
    /// The pause before the next tick for work that made no progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_pause: Option<RestWake>,
}

impl WorkState {
    /// Runnable items beside the current one.
    #[must_use]
    pub fn runnable_queued(&self) -> u32 {
        let current = self.current.as_ref();
        let runs = current.is_some_and(|it| it.state == WorkItemSchedulingState::Runnable);
        self.items.runnable.saturating_sub(u32::from(runs))
    }
}
