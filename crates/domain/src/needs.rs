//! What a decision has to know beside the agent's row: asked for by `core`, loaded by the store.
//!
//! A part that was not loaded is [`Part::Missing`] and never looks empty. A decision that reads one is abandoned and
//! made again with it.

use crate::attempt::AttemptRecord;
use crate::effect::{Effect, EffectId};
use crate::id::{TaskId, TimerId, WorkItemId};
use crate::log::LogEntry;
use crate::queue::{QueueView, QueuedPrompt};
use crate::task::TaskRecord;
use crate::timer::TimerRecord;
use crate::trigger::WakeHint;
use crate::turn::LogSeq;
use crate::wait::WaitRecord;
use crate::work_item::WorkItemRecord;
use std::collections::{BTreeMap, BTreeSet};

/// Rows a decision asks for. The lengths of the queue are always loaded.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a part of its own that may be asked for"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// The message that is next.
    pub queue_head: bool,
    /// How many operator messages may enter the running turn.
    pub operators: bool,
    /// The operators' prompts that wait in the queue.
    pub queued_prompts: bool,
    /// The round whose calls run.
    pub round: Option<LogSeq>,
    /// Every task that is not over.
    pub active_tasks: bool,
    /// These tasks, over or not.
    pub tasks: BTreeSet<TaskId>,
    /// The content of these open effects.
    pub effects: BTreeSet<EffectId>,
    /// The failed attempts of the round in hand.
    pub attempts: bool,
    /// The newest generation the host has given out.
    pub generation: bool,
    /// Work items by id.
    pub work_items: BTreeSet<WorkItemId>,
    /// The runnable items that a tick would offer first, for this `wake_count` of the agent.
    pub next_items: Option<u64>,
    /// The items whose recheck has come.
    pub due_rechecks: bool,
    /// All active waits; their number is bounded.
    pub active_waits: bool,
    /// Timers by id.
    pub timers: BTreeSet<TimerId>,
    /// All pending wake hints; their number is bounded.
    pub hints: bool,
    /// A page of the timers whose slot came while the agent was stopped.
    pub parked_timers: bool,
}

impl Needs {
    /// Adds what another look asks for.
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
        self.parked_timers |= more.parked_timers;
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A part of what is known: loaded, or not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Part<T> {
    /// Not loaded. Says nothing about what is stored.
    #[default]
    Missing,
    /// As it is stored.
    Loaded(T),
}

impl<T> Part<T> {
    /// The part, if it was loaded.
    #[must_use]
    pub const fn loaded(&self) -> Option<&T> {
        match self {
            Self::Missing => None,
            Self::Loaded(value) => Some(value),
        }
    }
}

/// What was loaded for a decision.
#[derive(Debug, Clone, Default)]
pub struct LoadedRows {
    /// The queue's lengths, and the parts of it that were asked for.
    pub queue: QueueView,
    /// The operators' prompts that wait, in the order they are taken; the first [`crate::limits::QUEUED_PROMPTS`] that are
    /// found near the head.
    pub queued_prompts: Part<Vec<QueuedPrompt>>,
    /// The entry of the round whose calls run, by its position; none when the log has no such entry.
    pub round: Part<(LogSeq, Option<LogEntry>)>,
    /// Every task that is not over.
    pub active_tasks: Part<Vec<TaskRecord>>,
    /// The tasks that were asked for by name; none where there is no such row.
    pub tasks: BTreeMap<TaskId, Option<TaskRecord>>,
    /// The effects that were asked for; none where one is not open.
    pub effects: BTreeMap<EffectId, Option<Effect>>,
    /// The failed attempts of the round in hand, in order.
    pub attempts: Part<Vec<AttemptRecord>>,
    /// The newest generation the host has given out, to any agent; 0 before the first.
    pub generation: Part<u64>,
    pub work_items: BTreeMap<WorkItemId, Option<WorkItemRecord>>,
    /// The runnable items that a tick would offer first; a few, so that the current one can be left out.
    pub next_items: Part<Vec<WorkItemRecord>>,
    pub due_rechecks: Part<Vec<WorkItemRecord>>,
    pub active_waits: Part<Vec<WaitRecord>>,
    pub timers: BTreeMap<TimerId, Option<TimerRecord>>,
    pub hints: Part<Vec<WakeHint>>,
    pub parked_timers: Part<Vec<TimerRecord>>,
}
