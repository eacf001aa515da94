//! The work of an agent as a prompt shows it: a few items of each class, waits and timers.

use super::WorkItemRecord;
use crate::timer::TimerRecord;
use crate::wait::WaitRecord;

/// The work of an agent as the first request of a turn shows it. No item stands in two lists, except that a due recheck
/// may belong to an item of any of them. Each list is bounded by the reader that fills it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkOverview {
    /// The item that has the focus.
    pub current: Option<WorkItemRecord>,
    /// The active wait of that item.
    pub current_wait: Option<WaitRecord>,
    /// Open items whose wait has ended and that did not change since, newest end first.
    pub triggered: Vec<WorkItemRecord>,
    /// Items that may run, longest unchanged first. Stalled ones are among them.
    pub queued: Vec<WorkItemRecord>,
    pub waiting_operator: Vec<WorkItemRecord>,
    /// Blocked items and those that wait for a task, a time or something outside, newest change first.
    pub blocked: Vec<WorkItemRecord>,
    /// Newest completion first.
    pub completed: Vec<WorkItemRecord>,
    /// Items whose reminder has come and that no answered request has shown.
    pub due_rechecks: Vec<WorkItemRecord>,
    /// Active waits of the agent, oldest first.
    pub waits: Vec<WaitRecord>,
    /// Active timers of the agent, oldest first.
    pub timers: Vec<TimerRecord>,
}

impl WorkOverview {
    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
