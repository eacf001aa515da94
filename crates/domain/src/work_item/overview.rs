//! Work of an agent as a prompt shows it: a few items of each class, waits and timers.

use super::WorkItemRecord;
use crate::timer::TimerRecord;
use crate::wait::WaitRecord;

/// Work of an agent as the first request of a turn shows it. No item is in two lists, except that a due recheck may
/// belong to an item of any list. The reader that fills a list bounds it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkOverview {
    /// Item that has the focus.
    pub current: Option<WorkItemRecord>,
    /// Active wait of that item.
    pub current_wait: Option<WaitRecord>,
    /// Open items whose wait has ended and that have not changed since, newest end first.
    pub triggered: Vec<WorkItemRecord>,
    /// Runnable items, longest unchanged first. Stalled ones are among them.
    pub queued: Vec<WorkItemRecord>,
    pub waiting_operator: Vec<WorkItemRecord>,
    /// Blocked items, and items that wait for a task, a time or something outside, newest change first.
    pub blocked: Vec<WorkItemRecord>,
    /// Completed items, newest completion first.
    pub completed: Vec<WorkItemRecord>,
    /// Items whose reminder is due and that no answered request has shown.
    pub due_rechecks: Vec<WorkItemRecord>,
    /// Active waits of the agent, oldest first.
    pub waits: Vec<WaitRecord>,
    /// Active timers of the agent, oldest first.
    pub timers: Vec<TimerRecord>,
    /// Latest steps of the turns that worked on the current item, oldest first.
    pub trace: Vec<ItemStep>,
}

/// A step of a turn that worked on an item. Reasoning of the model is no step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemStep {
    pub turn_index: u64,
    pub action: StepAction,
}

/// What the model did in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepAction {
    /// Wrote this text; its beginning.
    Said(String),
    Called {
        tool: String,
        /// Summary of the result, never bulk output.
        summary: String,
        failed: bool,
    },
}

impl WorkOverview {
    /// Iterates over the open items that stand in a list, the current one left out.
    pub fn listed_mut(&mut self) -> impl Iterator<Item = &mut WorkItemRecord> {
        let lists = [
            &mut self.triggered,
            &mut self.queued,
            &mut self.waiting_operator,
            &mut self.blocked,
            &mut self.due_rechecks,
        ];
        lists.into_iter().flatten()
    }

    /// Returns true if there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
