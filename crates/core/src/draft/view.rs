//! What a draft knows beside the agent's row: parts that were loaded, and tasks as the decision has changed them.
//!
//! Reading a part that was not loaded notes it as missing and answers as if there were nothing; such a decision is not
//! used, but made again with the part.

use super::Draft;
use crate::input::RoundInHand;
use holon_domain::TaskId;
use holon_domain::attempt::AttemptRecord;
use holon_domain::decision::Fact;
use holon_domain::effect::{Effect, EffectId};
use holon_domain::needs::Part;
use holon_domain::queue::{QueueEntry, QueuedPrompt};
use holon_domain::task::TaskRecord;
use holon_domain::turn::LogSeq;

impl Draft<'_> {
    /// The message that is next.
    pub(crate) fn head(&self) -> Option<QueueEntry> {
        match &self.queue.head {
            Part::Loaded(head) => head.clone(),
            Part::Missing => {
                self.missing.borrow_mut().queue_head = true;
                None
            }
        }
    }

    /// Whether an operator's message waits to enter the turn.
    pub(crate) fn operator_interjects(&self) -> bool {
        match &self.queue.operators {
            Part::Loaded(count) => *count > 0,
            Part::Missing => {
                self.missing.borrow_mut().operators = true;
                false
            }
        }
    }

    /// The operators' prompts that wait in the queue, as far as they are told of.
    pub(crate) fn queued_prompts(&self) -> Vec<QueuedPrompt> {
        match &self.queued_prompts {
            Part::Loaded(prompts) => prompts.clone(),
            Part::Missing if self.queue.pending == 0 => Vec::new(),
            Part::Missing => {
                self.missing.borrow_mut().queued_prompts = true;
                Vec::new()
            }
        }
    }

    /// The round whose calls run; none when the log does not hold it.
    pub(crate) fn round(&self, seq: LogSeq) -> Option<RoundInHand> {
        match &self.round {
            Part::Loaded((loaded, entry)) if *loaded == seq => {
                RoundInHand::of_entry(seq, entry.as_ref()?)
            }
            Part::Loaded(_) | Part::Missing => {
                self.missing.borrow_mut().round = Some(seq);
                None
            }
        }
    }

    /// The tasks that are not over, in the order they began.
    pub(crate) fn active_tasks(&self) -> Vec<TaskRecord> {
        match &self.active_tasks {
            Part::Loaded(tasks) => tasks.clone(),
            // The count is kept by the decisions that begin and end tasks.
            Part::Missing if self.agent.active_tasks == 0 => Vec::new(),
            Part::Missing => {
                self.missing.borrow_mut().active_tasks = true;
                Vec::new()
            }
        }
    }

    /// A task of the agent, over or not; none when there is no such row.
    pub(crate) fn task(&self, id: &TaskId) -> Option<TaskRecord> {
        if let Some(known) = self.tasks.get(id) {
            return known.clone();
        }
        let active = self.active_tasks.loaded().into_iter().flatten();
        if let Some(known) = active.into_iter().find(|task| task.id == *id) {
            return Some(known.clone());
        }
        self.missing.borrow_mut().tasks.insert(id.clone());
        None
    }

    /// The failed attempts of the round in hand, in order.
    pub(crate) fn attempts(&self) -> Vec<AttemptRecord> {
        match &self.attempts {
            Part::Loaded(attempts) => attempts.clone(),
            Part::Missing => {
                self.missing.borrow_mut().attempts = true;
                Vec::new()
            }
        }
    }

    /// The content of an open effect.
    pub(crate) fn effect(&self, id: EffectId) -> Option<Effect> {
        match self.effects.get(&id) {
            Some(known) => known.clone(),
            None => {
                self.missing.borrow_mut().effects.insert(id);
                None
            }
        }
    }

    /// Moves the agent to a generation that no agent of this host has had. The agent's own counts too: rows of earlier
    /// builds were numbered each for itself and may be ahead of the host's counter.
    pub(crate) fn take_generation(&mut self) {
        let Part::Loaded(newest) = self.newest_generation else {
            self.missing.borrow_mut().generation = true;
            return;
        };
        let generation = newest.max(self.agent.generation).saturating_add(1);
        self.newest_generation = Part::Loaded(generation);
        self.agent.generation = generation;
        self.facts.push(Fact::GenerationTaken { generation });
    }

    /// Writes the row of a task that begins.
    pub(crate) fn begin_task(&mut self, task: TaskRecord) {
        self.agent.active_tasks += 1;
        if let Part::Loaded(tasks) = &mut self.active_tasks {
            tasks.push(task.clone());
        }
        self.write_task(task);
    }

    /// Writes the row of a task that goes on.
    pub(crate) fn change_task(&mut self, task: TaskRecord) {
        if let Part::Loaded(tasks) = &mut self.active_tasks
            && let Some(known) = tasks.iter_mut().find(|known| known.id == task.id)
        {
            known.clone_from(&task);
        }
        self.write_task(task);
    }

    /// Writes the row of a task that is over from now on.
    pub(crate) fn end_task(&mut self, task: TaskRecord) {
        self.agent.active_tasks = self.agent.active_tasks.saturating_sub(1);
        if let Part::Loaded(tasks) = &mut self.active_tasks {
            tasks.retain(|known| known.id != task.id);
        }
        self.write_task(task);
    }

    fn write_task(&mut self, task: TaskRecord) {
        self.tasks.insert(task.id.clone(), Some(task.clone()));
        self.facts.push(Fact::TaskWritten(Box::new(task)));
    }
}
