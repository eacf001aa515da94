//! Rows of work items, waits, timers and wake hints in a draft, as loaded or as changed by the decision so far. Reading
//! a row that was not loaded notes it as missing, and the decision is made again with it.

use super::Draft;
use holon_domain::decision::Fact;
use holon_domain::needs::{LoadedRows, Part};
use holon_domain::timer::{TimerRecord, TimerStatus};
use holon_domain::trigger::{TriggerRecord, WakeHint};
use holon_domain::wait::{WaitRecord, WaitStatus};
use holon_domain::work_item::{WorkItemRecord, WorkItemSchedulingState};
use holon_domain::{TimerId, WorkItemId, limits};
use std::collections::BTreeMap;

/// The rows about work that a draft holds.
#[derive(Debug, Default)]
pub(crate) struct WorkRows {
    items: BTreeMap<WorkItemId, Option<WorkItemRecord>>,
    next_items: Part<Vec<WorkItemRecord>>,
    due_rechecks: Part<Vec<WorkItemRecord>>,
    waits: Part<Vec<WaitRecord>>,
    timers: BTreeMap<TimerId, Option<TimerRecord>>,
    hints: Part<Vec<WakeHint>>,
    triggers: Part<Vec<TriggerRecord>>,
    deferred_timers: Part<Vec<TimerRecord>>,
    active_timers: Part<Vec<TimerRecord>>,
    all_timers: Part<Vec<TimerRecord>>,
}

impl WorkRows {
    /// Moves the rows about work out of the loaded parts.
    pub(super) fn take(loaded: &mut LoadedRows) -> Self {
        Self {
            items: std::mem::take(&mut loaded.work_items),
            next_items: std::mem::take(&mut loaded.next_items),
            due_rechecks: std::mem::take(&mut loaded.due_rechecks),
            waits: std::mem::take(&mut loaded.active_waits),
            timers: std::mem::take(&mut loaded.timers),
            hints: std::mem::take(&mut loaded.hints),
            triggers: std::mem::take(&mut loaded.triggers),
            deferred_timers: std::mem::take(&mut loaded.deferred_timers),
            active_timers: std::mem::take(&mut loaded.active_timers),
            all_timers: std::mem::take(&mut loaded.all_timers),
        }
    }
}

impl Draft<'_> {
    pub(crate) fn work_item(&self, id: &WorkItemId) -> Option<WorkItemRecord> {
        match self.work.items.get(id) {
            Some(known) => known.clone(),
            None => {
                self.missing.borrow_mut().work_items.insert(id.clone());
                None
            }
        }
    }

    /// Notes that no item has this id yet, because the caller is about to create it.
    pub(crate) fn note_new_item(&mut self, id: &WorkItemId) {
        self.work.items.insert(id.clone(), None);
    }

    /// Returns the scheduling state of an item.
    pub(crate) fn scheduling_state(&self, item: &WorkItemRecord) -> WorkItemSchedulingState {
        item.scheduling_state(self.agent.work.wake_count)
    }

    /// Writes an item. The caller, `work::write`, maintains the counts in the agent's row.
    pub(crate) fn put_work_item(&mut self, item: WorkItemRecord) {
        let fact = Fact::WorkItemWritten(Box::new(item.clone()));
        self.work.items.insert(item.id.clone(), Some(item));
        self.fact(fact);
    }

    /// Returns the runnable item that a tick offers next: never the current one, fewest idle turns first.
    pub(crate) fn next_item(&self) -> Option<WorkItemRecord> {
        let current = self.agent.work.current.as_ref().map(|current| &current.id);
        let may_run = |item: &WorkItemRecord| {
            Some(&item.id) != current
                && self.scheduling_state(item) == WorkItemSchedulingState::Runnable
        };
        let Part::Loaded(stored) = &self.work.next_items else {
            self.missing.borrow_mut().next_items = Some(self.agent.work.wake_count);
            return None;
        };
        let changed = self.work.items.values().flatten().cloned();
        let unchanged = stored
            .iter()
            .filter(|item| !self.work.items.contains_key(&item.id));
        let wake_count = self.agent.work.wake_count;
        changed
            .chain(unchanged.cloned())
            .filter(may_run)
            .min_by_key(|item| (item.idle_count(wake_count), item.updated_at))
    }

    /// Returns the items whose recheck is due and that no answered request has shown, earliest first. At most twice as
    /// many as one tick names.
    pub(crate) fn due_rechecks(&self) -> Vec<WorkItemRecord> {
        if self.agent.work.due_rechecks == 0 {
            return Vec::new();
        }
        let Part::Loaded(stored) = &self.work.due_rechecks else {
            self.missing.borrow_mut().due_rechecks = true;
            return Vec::new();
        };
        let unchanged = stored
            .iter()
            .filter(|item| !self.work.items.contains_key(&item.id));
        // A recheck may have come due in this decision.
        let changed = self.work.items.values().flatten();
        let is_due = |item: &WorkItemRecord| {
            let recheck = item.recheck.as_ref();
            recheck.is_some_and(|recheck| recheck.due.is_none() && recheck.consumed_at.is_none())
        };
        let mut due: Vec<WorkItemRecord> = unchanged
            .chain(changed)
            .filter(|item| is_due(item))
            .cloned()
            .collect();
        due.sort_by_key(|item| item.recheck.as_ref().map(|recheck| recheck.at));
        due
    }

    pub(crate) fn active_waits(&self) -> Vec<WaitRecord> {
        match &self.work.waits {
            Part::Loaded(waits) => waits.clone(),
            Part::Missing if self.agent.work.active_waits == 0 => Vec::new(),
            Part::Missing => {
                self.missing.borrow_mut().active_waits = true;
                Vec::new()
            }
        }
    }

    /// Writes a wait. The module `wait` maintains the counts in the agent's row.
    pub(crate) fn put_wait(&mut self, wait: WaitRecord) {
        let mut waits = self.active_waits();
        waits.retain(|known| known.id != wait.id);
        if wait.status == WaitStatus::Active {
            waits.push(wait.clone());
        }
        self.work.waits = Part::Loaded(waits);
        self.fact(Fact::WaitWritten(Box::new(wait)));
    }

    pub(crate) fn timer(&self, id: &TimerId) -> Option<TimerRecord> {
        match self.work.timers.get(id) {
            Some(known) => known.clone(),
            None => {
                self.missing.borrow_mut().timers.insert(id.clone());
                None
            }
        }
    }

    pub(crate) fn put_timer(&mut self, timer: TimerRecord) {
        let fact = Fact::TimerWritten(Box::new(timer.clone()));
        self.work.timers.insert(timer.id.clone(), Some(timer));
        self.fact(fact);
    }

    /// Returns one page of the timers whose slot came while the agent was stopped.
    pub(crate) fn deferred_timers(&self) -> Vec<TimerRecord> {
        match &self.work.deferred_timers {
            Part::Loaded(timers) => timers.clone(),
            Part::Missing => {
                self.missing.borrow_mut().deferred_timers = true;
                Vec::new()
            }
        }
    }

    /// Returns the active timers, oldest first, at most `limits::STATUS_TIMERS`.
    pub(crate) fn active_timers(&self) -> Vec<TimerRecord> {
        let stored = match &self.work.active_timers {
            Part::Loaded(timers) => timers.as_slice(),
            Part::Missing if self.agent.work.active_timers == 0 => &[],
            Part::Missing => {
                self.missing.borrow_mut().active_timers = true;
                &[]
            }
        };
        let mut active = self.still_active(stored);
        active.truncate(limits::STATUS_TIMERS);
        active
    }

    /// Returns every active timer, oldest first.
    pub(crate) fn all_timers(&self) -> Vec<TimerRecord> {
        match &self.work.all_timers {
            Part::Loaded(timers) => self.still_active(timers),
            Part::Missing if self.agent.work.active_timers == 0 => Vec::new(),
            Part::Missing => {
                self.missing.borrow_mut().all_timers = true;
                Vec::new()
            }
        }
    }

    /// Returns the active ones among stored timers and those that this decision has written, oldest first.
    fn still_active(&self, stored: &[TimerRecord]) -> Vec<TimerRecord> {
        let unchanged = stored
            .iter()
            .filter(|timer| !self.work.timers.contains_key(&timer.id));
        let changed = self.work.timers.values().flatten();
        let mut active: Vec<TimerRecord> = unchanged
            .chain(changed)
            .filter(|timer| timer.status == TimerStatus::Active)
            .cloned()
            .collect();
        active.sort_by_key(|timer| timer.created_at);
        active
    }

    pub(crate) fn hints(&self) -> Vec<WakeHint> {
        match &self.work.hints {
            Part::Loaded(hints) => hints.clone(),
            Part::Missing if self.agent.work.hints == 0 => Vec::new(),
            Part::Missing => {
                self.missing.borrow_mut().hints = true;
                Vec::new()
            }
        }
    }

    /// Returns the external triggers, newest first: the active ones and the newest revoked ones.
    pub(crate) fn triggers(&self) -> Vec<TriggerRecord> {
        match &self.work.triggers {
            Part::Loaded(triggers) => triggers.clone(),
            Part::Missing => {
                self.missing.borrow_mut().triggers = true;
                Vec::new()
            }
        }
    }

    pub(crate) fn put_trigger(&mut self, trigger: TriggerRecord) {
        let mut triggers = self.triggers();
        match triggers.iter_mut().find(|known| known.id == trigger.id) {
            Some(known) => known.clone_from(&trigger),
            None => triggers.insert(0, trigger.clone()),
        }
        self.work.triggers = Part::Loaded(triggers);
        self.fact(Fact::TriggerWritten(Box::new(trigger)));
    }

    /// Replaces the pending hints, after a new one or after all became a tick.
    pub(crate) fn put_hints(&mut self, hints: Vec<WakeHint>) {
        self.agent.work.hints = u32::try_from(hints.len()).unwrap_or(u32::MAX);
        self.work.hints = Part::Loaded(hints);
    }
}
