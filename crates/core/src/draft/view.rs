//! Reads of the loaded parts of a draft, and writes of its tasks.
//!
//! Reading a part that was not loaded notes it as missing and returns an empty value. Such a decision is discarded and
//! made again with the part.

use super::Draft;
use crate::budget::BudgetRefusal;
use crate::input::CurrentRound;
use crate::usage::charged_item;
use holon_domain::attempt::AttemptRecord;
use holon_domain::budget::{BudgetReading, BudgetStanding};
use holon_domain::decision::Fact;
use holon_domain::delegation::{ChildFacts, TreeStanding};
use holon_domain::effect::{Effect, EffectId};
use holon_domain::memory::WorkingMemoryState;
use holon_domain::needs::Part;
use holon_domain::queue::{QueueEntry, QueuedPrompt};
use holon_domain::task::TaskRecord;
use holon_domain::turn::{LogSeq, OpenTurn};
use holon_domain::usage::{UsageCharge, budget_root, day_in};
use holon_domain::{AgentId, TaskId};

impl Draft<'_> {
    /// Returns the head of the queue.
    pub(crate) fn head(&self) -> Option<QueueEntry> {
        match &self.queue.head {
            Part::Loaded(head) => head.clone(),
            Part::Missing => {
                self.missing.borrow_mut().queue_head = true;
                None
            }
        }
    }

    /// Returns true if an operator's message waits to join the turn. Those that get a turn of their own do not.
    pub(crate) fn operator_interjects(&self, turn: &OpenTurn) -> bool {
        if turn.closed_to_joining {
            return false;
        }
        let apart = turn.apart.iter().filter(|apart| apart.operator).count();
        match &self.queue.operators {
            Part::Loaded(count) => usize::try_from(*count).is_ok_and(|count| count > apart),
            Part::Missing => {
                self.missing.borrow_mut().operators = true;
                false
            }
        }
    }

    /// Makes sure that the assessment knows the time that wakes the agent next, if entries of the due-queue may name it.
    pub(crate) fn need_expected_wake(&self) {
        if self.queue.soonest == Part::Missing && self.agent.work.may_have_due() {
            self.missing.borrow_mut().soonest_due = true;
        }
    }

    /// Returns the queued operator prompts, at most `limits::QUEUED_PROMPTS`.
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

    /// Returns the round whose calls run; `None` if the log does not hold it.
    pub(crate) fn round(&self, seq: LogSeq) -> Option<CurrentRound> {
        let logged = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::LogAppended {
                seq: own, entry, ..
            } if *own == seq => Some(entry),
            _ => None,
        });
        if let Some(entry) = logged {
            return CurrentRound::of_entry(seq, entry);
        }
        match &self.round {
            Part::Loaded((loaded, entry)) if *loaded == seq => {
                CurrentRound::of_entry(seq, entry.as_ref()?)
            }
            Part::Loaded(_) | Part::Missing => {
                self.missing.borrow_mut().round = Some(seq);
                None
            }
        }
    }

    /// Returns the place of the agent in its tree.
    pub(crate) fn tree(&self) -> TreeStanding {
        match &self.tree {
            Part::Loaded(tree) => tree.clone(),
            Part::Missing => {
                self.missing.borrow_mut().tree = true;
                TreeStanding::default()
            }
        }
    }

    /// Returns the working memory of the agent.
    pub(crate) fn memory(&self) -> WorkingMemoryState {
        match &self.memory {
            Part::Loaded(memory) => WorkingMemoryState::clone(memory),
            Part::Missing => {
                self.missing.borrow_mut().memory = true;
                WorkingMemoryState::default()
            }
        }
    }

    /// Replaces the working memory of the agent.
    pub(crate) fn put_memory(&mut self, memory: WorkingMemoryState) {
        let memory = Box::new(memory);
        self.memory = Part::Loaded(memory.clone());
        self.facts.push(Fact::WorkingMemoryWritten(memory));
    }

    /// Returns what is known about a child of the agent; `None` if there is no such child.
    pub(crate) fn child(&self, id: &AgentId) -> Option<ChildFacts> {
        match self.children.get(id) {
            Some(known) => known.as_deref().cloned(),
            None => {
                self.missing.borrow_mut().children.insert(id.clone());
                None
            }
        }
    }

    /// Returns the active tasks in the order they began.
    pub(crate) fn active_tasks(&self) -> Vec<TaskRecord> {
        match &self.active_tasks {
            Part::Loaded(tasks) => tasks.clone(),
            // Decisions that begin and end tasks maintain this count.
            Part::Missing if self.agent.active_tasks == 0 => Vec::new(),
            Part::Missing => {
                self.missing.borrow_mut().active_tasks = true;
                Vec::new()
            }
        }
    }

    /// Returns a task of the agent, active or ended; `None` if there is no such row.
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

    /// Returns the failed attempts of the current round in order.
    pub(crate) fn attempts(&self) -> Vec<AttemptRecord> {
        match &self.attempts {
            Part::Loaded(attempts) => attempts.clone(),
            Part::Missing => {
                self.missing.borrow_mut().attempts = true;
                Vec::new()
            }
        }
    }

    /// Returns the budgets that cover the calls of a turn, with their meters. Fails with the refusal of one that cannot
    /// be read: it might have no room.
    pub(crate) fn budgets_of(&self, turn: &OpenTurn) -> Result<Vec<BudgetStanding>, BudgetRefusal> {
        let identity = &self.agent.identity;
        let root = budget_root(identity);
        let item = charged_item(&self.agent, turn);
        for budget in self.host.unreadable_budgets.iter() {
            if let Some(key) = budget.covering(&identity.agent_id, root, item) {
                return Err(BudgetRefusal::unreadable(key, budget));
            }
        }
        let mut found = Vec::new();
        for budget in self.host.budgets_of(&identity.agent_id, root, item) {
            match self.meters.get(&budget.key) {
                Some(BudgetReading::Metered(meter)) => found.push(BudgetStanding {
                    budget,
                    meter: *meter,
                }),
                // Its row is damaged, or it was cleared a moment ago: then the turn goes on as soon as the host knows.
                Some(BudgetReading::Absent) if self.host.budgets.contains(&budget) => {
                    let row = format!("budgets {}: there is no such row any more", budget.key);
                    return Err(BudgetRefusal::unreadable_row(&budget.key, row));
                }
                Some(BudgetReading::Absent) => {}
                Some(BudgetReading::Unreadable(row)) => {
                    return Err(BudgetRefusal::unreadable_row(&budget.key, row.clone()));
                }
                None => {
                    let mut missing = self.missing.borrow_mut();
                    missing.day = day_in(self.now, &self.host.zone);
                    missing.meters.insert(budget.key.clone());
                }
            }
        }
        Ok(found)
    }

    /// Adds a charge of this decision to the loaded meters, which were read before it.
    pub(crate) fn add_to_meters(&mut self, charge: &UsageCharge) {
        let item = charge.work_item_id.as_ref();
        for (key, meter) in &mut self.meters {
            let covers = key
                .scope
                .covers(&charge.agent_id, &charge.root_agent_id, item);
            if let BudgetReading::Metered(meter) = meter
                && covers
            {
                let sums = charge.sums();
                meter.spent_tokens = meter.spent_tokens.saturating_add(sums.total_tokens());
                meter.spent_micro_usd = meter.spent_micro_usd.saturating_add(sums.known_cost);
                meter.unpriced_calls = meter.unpriced_calls.saturating_add(sums.unpriced_calls);
            }
        }
    }

    /// Returns the content of an open effect.
    pub(crate) fn effect(&self, id: EffectId) -> Option<Effect> {
        match self.effects.get(&id) {
            Some(known) => known.clone(),
            None => {
                self.missing.borrow_mut().effects.insert(id);
                None
            }
        }
    }

    /// Moves the agent to a generation that no agent of this host has had. The agent's own generation is considered
    /// too: earlier builds counted per agent, so it may be ahead of the host's counter.
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

    /// Writes the row of a new task.
    pub(crate) fn begin_task(&mut self, task: TaskRecord) {
        self.agent.active_tasks += 1;
        if let Part::Loaded(tasks) = &mut self.active_tasks {
            tasks.push(task.clone());
        }
        self.write_task(task);
    }

    /// Writes the row of a task that stays active.
    pub(crate) fn change_task(&mut self, task: TaskRecord) {
        if let Part::Loaded(tasks) = &mut self.active_tasks
            && let Some(known) = tasks.iter_mut().find(|known| known.id == task.id)
        {
            known.clone_from(&task);
        }
        self.write_task(task);
    }

    /// Writes the row of a task that has ended.
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
