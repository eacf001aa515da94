//! Counters and pointers in an agent's row about its work items, waits, wake hints and timers.
//!
//! The rows themselves are in tables of their own. The counters change with each transition, and the scheduler reads
//! only them, so a decision costs the same with ten items and with a hundred thousand.

use super::RestWake;
use crate::id::{MessageId, WorkItemId};
use crate::time::Timestamp;
use crate::timer::DueId;
use crate::turn::TerminalReason;
use crate::wait::WaitKind;
use crate::work_item::WorkItemSchedulingState;
use schemars::JsonSchema;
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
    /// Reason in the agent's words, shortened for status lines.
    pub waiting_for: String,
    /// Time at which the wait ends at the latest. Absent if no time ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// True if the wait asks an operator a question. The runtime then sends no tick for open work until it ended.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub asks_operator: bool,
}

/// Number of open items in each scheduling state. Completed items are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ItemCounts {
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub runnable: u32,
    /// Valid since the last change of `wake_count`; a change makes stalled items runnable again.
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
    /// Returns the number of all open items.
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

    /// Returns the counter of a state. `None` for completed items, which are not counted.
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

/// Counters and pointers over an agent's work, kept in the agent's row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkState {
    /// Item with the focus. Set by `PickWorkItem` alone and cleared when the item is completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<CurrentItem>,
    /// Item of a supervised child that had the focus last, for its delegation record. Absent while one has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<WorkItemId>,
    /// Open items by scheduling state, the current item included.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub items: ItemCounts,
    /// Runnable item, other than the current one, that a tick would offer next. Set whenever the agent is at rest and
    /// there is such an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<WorkItemId>,
    /// Items whose recheck is due and that no answered request has shown yet.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub due_rechecks: u32,
    /// True if a tick has announced the due rechecks. Cleared when another one becomes due.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub rechecks_told: bool,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub active_waits: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_wait: Option<AgentWait>,
    /// Number of sources with a pending wake hint.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub hints: u32,
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub active_timers: u32,
    /// Queued messages that timers sent.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub timer_ticks: u32,
    /// Timers and waits that became due while the agent was stopped. A start handles them.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    #[serde(rename = "parked")]
    pub deferred: u32,
    /// Due entry that makes a started agent handle them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "unpark")]
    pub catch_up: Option<DueId>,
    /// Grows with every operator message, wake hint, task result and model change. Idle turns counted before are void.
    #[serde(skip_serializing_if = "crate::skip::is_default")]
    pub wake_count: u64,
    /// Pause before the next tick for work without progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_pause: Option<RestWake>,
    /// Pause after the newest tick for wake hints from outside. It has an entry in the due-queue only while hints wait
    /// for its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint_pause: Option<RestWake>,
    /// Time at which the agent may again get [all of its ticks](crate::limits::HINT_TICKS_AT_ONCE) for wake hints from
    /// outside at once. Absent before the first tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint_ticks_full_at: Option<Timestamp>,
    /// Tokens of the newest turns that ticks of timers began, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tick_tokens: Vec<u64>,
    /// The turn before, if it failed in a way that the agent can repair. Absent in rows of earlier builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_turn: Option<FailedTurn>,
}

impl WorkState {
    /// Returns the item with the focus, or the one that had it last. Only a supervised child keeps the latter.
    #[must_use]
    pub fn last_focused(&self) -> Option<&WorkItemId> {
        let current = self.current.as_ref().map(|current| &current.id);
        current.or(self.released.as_ref())
    }

    /// Returns true if the agent has, and had, no work, wait, timer or hint. A failed turn by itself is none of these.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        *self
            == Self {
                failed_turn: self.failed_turn.clone(),
                ..Self::default()
            }
    }
}

/// A turn whose failure a later turn of the same work can repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTurn {
    pub reason: TerminalReason,
    /// Message that the turn answered.
    pub message_id: MessageId,
    /// Work item that the turn was bound to at its end. Absent if it was bound to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
}

impl WorkState {
    /// Returns true if an entry of the due-queue may wake the agent that its row does not name: a timer, a recheck, or
    /// the time of an item's wait.
    #[must_use]
    pub const fn may_have_due(&self) -> bool {
        self.active_timers > 0 || self.active_waits > 0 || self.items.blocked > 0
    }

    /// Returns true if the agent itself has asked an operator a question that is still open.
    #[must_use]
    pub fn asks_operator(&self) -> bool {
        self.agent_wait
            .as_ref()
            .is_some_and(|wait| wait.asks_operator)
    }

    /// Returns true if an item can go on and no open question of the agent itself holds it back.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        self.items.runnable > 0 && !self.asks_operator()
    }

    /// Returns the number of runnable items beside the current one.
    #[must_use]
    pub fn runnable_queued(&self) -> u32 {
        let current = self.current.as_ref();
        let runs = current.is_some_and(|it| it.state == WorkItemSchedulingState::Runnable);
        self.items.runnable.saturating_sub(u32::from(runs))
    }
}
