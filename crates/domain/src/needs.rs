//! Rows that a decision needs beside the agent's row. `core` asks for them and the store loads them.
//!
//! Rows that were not loaded are [`Part::Missing`] and never look empty. A decision that reads missing rows is
//! abandoned and repeated with them.

use crate::attempt::AttemptRecord;
use crate::budget::{BudgetKey, BudgetReading};
use crate::delegation::{ChildFacts, TreeStanding};
use crate::effect::{Effect, EffectId};
use crate::id::{AgentId, TaskId, TimerId, WorkItemId};
use crate::log::LogEntry;
use crate::memory::WorkingMemoryState;
use crate::queue::{QueueView, QueuedPrompt};
use crate::task::TaskRecord;
use crate::timer::TimerRecord;
use crate::trigger::{TriggerRecord, WakeHint};
use crate::turn::LogSeq;
use crate::wait::WaitRecord;
use crate::work_item::WorkItemRecord;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that a decision asks for. The lengths of the queue are always loaded.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a part of its own that may be asked for"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// The next message in the queue.
    pub queue_head: bool,
    /// Number of operator messages that may join the running turn.
    pub operators: bool,
    /// Operator prompts that wait in the queue.
    pub queued_prompts: bool,
    /// Log entry of the round whose calls run.
    pub round: Option<LogSeq>,
    /// Every task that has not ended.
    pub active_tasks: bool,
    /// Tasks by id, ended or not.
    pub tasks: BTreeSet<TaskId>,
    /// Content of these open effects.
    pub effects: BTreeSet<EffectId>,
    /// Failed attempts of the current round.
    pub attempts: bool,
    /// Newest fencing generation that the host has used.
    pub generation: bool,
    pub work_items: BTreeSet<WorkItemId>,
    /// Runnable items that a tick would offer first, for this `wake_count` of the agent.
    pub next_items: Option<u64>,
    /// Items whose recheck is due.
    pub due_rechecks: bool,
    /// All active waits. Their number is bounded.
    pub active_waits: bool,
    pub timers: BTreeSet<TimerId>,
    /// All pending wake hints. Their number is bounded.
    pub hints: bool,
    /// The external triggers of the agent: the active ones and the newest revoked ones. Their number is bounded.
    pub triggers: bool,
    /// A page of the timers whose slot came while the agent was stopped.
    pub deferred_timers: bool,
    /// The first active timers, as many as a status shows.
    pub active_timers: bool,
    /// Every active timer, for a decision that ends all of them. Their number is bounded.
    pub all_timers: bool,
    /// The soonest entries of the agent in the due-queue.
    pub soonest_due: bool,
    /// How far these budgets are used up.
    pub meters: BTreeSet<BudgetKey>,
    /// Day in the zone of the host, for budgets of a day. Empty if no meter is asked for.
    pub day: String,
    /// Place of the agent in its tree, and what the tree has spawned.
    pub tree: bool,
    /// Rows of these agents that the agent made. Others are not found.
    pub children: BTreeSet<AgentId>,
    /// Working memory of the agent, for the end of a turn.
    pub memory: bool,
}

impl Needs {
    /// Adds the rows that another decision asks for.
    pub fn extend(&mut self, more: Self) {
        self.queue_head |= more.queue_head;
        self.operators |= more.operators;
        self.queued_prompts |= more.queued_prompts;
        self.round = more.round.or(self.round);
        self.active_tasks |= more.active_tasks;
        self.tasks.extend(more.tasks);
        self.effects.extend(more.effects);
        self.attempts |= more.attempts;
        self.generation |= more.generation;
        self.work_items.extend(more.work_items);
        self.next_items = more.next_items.or(self.next_items);
        self.due_rechecks |= more.due_rechecks;
        self.active_waits |= more.active_waits;
        self.timers.extend(more.timers);
        self.hints |= more.hints;
        self.triggers |= more.triggers;
        self.deferred_timers |= more.deferred_timers;
        self.active_timers |= more.active_timers;
        self.all_timers |= more.all_timers;
        self.soonest_due |= more.soonest_due;
        self.meters.extend(more.meters);
        if !more.day.is_empty() {
            self.day = more.day;
        }
        self.tree |= more.tree;
        self.children.extend(more.children);
        self.memory |= more.memory;
    }

    /// Returns true if no row is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Rows that are either loaded or were not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Part<T> {
    /// Not loaded. Says nothing about the stored rows.
    #[default]
    Missing,
    Loaded(T),
}

impl<T> Part<T> {
    /// Returns the rows if they were loaded.
    #[must_use]
    pub const fn loaded(&self) -> Option<&T> {
        match self {
            Self::Missing => None,
            Self::Loaded(value) => Some(value),
        }
    }
}

/// Rows that the store loaded for a decision.
#[derive(Debug, Clone, Default)]
pub struct LoadedRows {
    /// Lengths of the queue, and the parts of it that were asked for.
    pub queue: QueueView,
    /// Waiting operator prompts in the order of the queue: the first [`crate::limits::QUEUED_PROMPTS`] near its head.
    pub queued_prompts: Part<Vec<QueuedPrompt>>,
    /// Log entry of the round whose calls run, with its position. `None` inside if the log has no such entry.
    pub round: Part<(LogSeq, Option<LogEntry>)>,
    /// Every task that has not ended.
    pub active_tasks: Part<Vec<TaskRecord>>,
    /// Tasks that were asked for by id. `None` if there is no such row.
    pub tasks: BTreeMap<TaskId, Option<TaskRecord>>,
    /// Effects that were asked for. `None` if the effect is not open.
    pub effects: BTreeMap<EffectId, Option<Effect>>,
    /// Failed attempts of the current round, in order.
    pub attempts: Part<Vec<AttemptRecord>>,
    /// Newest generation that any agent of the host has used; 0 before the first.
    pub generation: Part<u64>,
    pub work_items: BTreeMap<WorkItemId, Option<WorkItemRecord>>,
    /// Runnable items that a tick would offer first. A few are loaded, so that the current one can be left out.
    pub next_items: Part<Vec<WorkItemRecord>>,
    pub due_rechecks: Part<Vec<WorkItemRecord>>,
    pub active_waits: Part<Vec<WaitRecord>>,
    pub timers: BTreeMap<TimerId, Option<TimerRecord>>,
    pub hints: Part<Vec<WakeHint>>,
    /// External triggers, newest first, at most [`crate::limits::TRIGGERS_KEPT`].
    pub triggers: Part<Vec<TriggerRecord>>,
    pub deferred_timers: Part<Vec<TimerRecord>>,
    /// Active timers, oldest first, at most [`crate::limits::STATUS_TIMERS`].
    pub active_timers: Part<Vec<TimerRecord>>,
    pub all_timers: Part<Vec<TimerRecord>>,
    /// Meters that were asked for, without the reservation of the agent itself.
    pub meters: BTreeMap<BudgetKey, BudgetReading>,
    pub tree: Part<TreeStanding>,
    /// Children that were asked for. `None` if there is no such child of this agent, or its row cannot be read.
    pub children: BTreeMap<AgentId, Option<Box<ChildFacts>>>,
    /// Working memory, empty before the first turn has ended.
    pub memory: Part<Box<WorkingMemoryState>>,
}
