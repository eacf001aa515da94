//! Loads and writes rows about work in the model store, and panics on a write that no store could make.

use crate::world::{World, part};
use holon_core::invariant::StoredWork;
use holon_domain::limits;
use holon_domain::needs::{LoadedRows, Needs, Part};
use holon_domain::timer::{TimerRecord, TimerStatus};
use holon_domain::trigger::{DeliveryMode, TriggerRecord};
use holon_domain::wait::{WaitRecord, WaitStatus};
use holon_domain::work_item::{WorkItemRecord, WorkItemSchedulingState, WorkItemState};
use holon_domain::{TimerId, WorkItemId};

/// Number of items that the store returns for the next item of a decision.
const OFFERED: usize = 4;

impl World {
    /// Loads the requested parts about work.
    pub(crate) fn load_work(&self, needs: &Needs) -> LoadedRows {
        let item = |id: &WorkItemId| (id.clone(), self.items.get(id).cloned());
        let timer = |id: &TimerId| {
            let found = self.timers.iter().find(|timer| timer.id == *id);
            (id.clone(), found.cloned())
        };
        let deferred = self
            .active_timers()
            .filter(|timer| timer.due.is_none())
            .cloned();
        LoadedRows {
            work_items: needs.work_items.iter().map(item).collect(),
            timers: needs.timers.iter().map(timer).collect(),
            next_items: match needs.next_items {
                Some(wake_count) => Part::Loaded(self.next_items(wake_count)),
                None => Part::Missing,
            },
            due_rechecks: part(needs.due_rechecks, || self.due_rechecks()),
            active_waits: part(needs.active_waits, || {
                self.active_waits().cloned().collect()
            }),
            hints: part(needs.hints, || self.hints.values().cloned().collect()),
            triggers: part(needs.triggers, || {
                self.triggers.iter().rev().cloned().collect()
            }),
            deferred_timers: part(needs.deferred_timers, || {
                deferred.take(limits::CAUGHT_UP_AT_ONCE).collect()
            }),
            active_timers: part(needs.active_timers, || {
                let active = self.active_timers().cloned();
                active.take(limits::STATUS_TIMERS).collect()
            }),
            all_timers: part(needs.all_timers, || self.active_timers().cloned().collect()),
            ..LoadedRows::default()
        }
    }

    fn next_items(&self, wake_count: u64) -> Vec<WorkItemRecord> {
        let runs = |item: &&WorkItemRecord| {
            item.scheduling_state(wake_count) == WorkItemSchedulingState::Runnable
        };
        let mut found: Vec<WorkItemRecord> = self.items.values().filter(runs).cloned().collect();
        found.sort_by_key(|item| (item.idle_count(wake_count), item.updated_at));
        found.truncate(OFFERED);
        found
    }

    fn due_rechecks(&self) -> Vec<WorkItemRecord> {
        let come = |item: &&WorkItemRecord| {
            let recheck = item.recheck.as_ref();
            recheck.is_some_and(|recheck| recheck.due.is_none() && recheck.consumed_at.is_none())
        };
        let mut found: Vec<WorkItemRecord> = self.items.values().filter(come).cloned().collect();
        found.sort_by_key(|item| item.recheck.as_ref().map(|recheck| recheck.at));
        found.truncate(2 * limits::RECHECKS_PER_TICK);
        found
    }

    pub(crate) fn active_waits(&self) -> impl Iterator<Item = &WaitRecord> {
        let is_active = |wait: &&WaitRecord| wait.status == WaitStatus::Active;
        self.waits.iter().filter(is_active)
    }

    pub(crate) fn active_timers(&self) -> impl Iterator<Item = &TimerRecord> {
        let is_active = |timer: &&TimerRecord| timer.status == TimerStatus::Active;
        self.timers.iter().filter(is_active)
    }

    /// Returns the rows that the core's invariants compare.
    pub(crate) fn stored_work(&self) -> StoredWork {
        StoredWork {
            items: self.items.values().cloned().collect(),
            summaries: self.summaries.values().cloned().collect(),
            waits: self.active_waits().cloned().collect(),
            timers: self.active_timers().cloned().collect(),
            hints: self.hints.len(),
        }
    }

    pub(crate) fn write_item(&mut self, item: &WorkItemRecord) {
        if let Some(before) = self.items.get(&item.id) {
            let id = &item.id;
            assert!(
                item.revision >= before.revision,
                "revisions of {id} only rise"
            );
            let reopened = before.state == WorkItemState::Completed && item.state != before.state;
            assert!(!reopened, "{id} was completed");
            let weaker = item
                .provenance
                .authority
                .weaker(before.provenance.authority);
            assert_eq!(weaker, item.provenance.authority, "{id} gains no authority");
        }
        self.items.insert(item.id.clone(), item.clone());
    }

    pub(crate) fn write_wait(&mut self, wait: &WaitRecord) {
        let known = self.waits.iter_mut().find(|known| known.id == wait.id);
        match known {
            Some(known) => {
                assert_eq!(known.status, WaitStatus::Active, "{} was over", wait.id);
                known.clone_from(wait);
            }
            None => {
                assert_eq!(wait.status, WaitStatus::Active, "{} begins open", wait.id);
                self.waits.push(wait.clone());
            }
        }
    }

    pub(crate) fn write_trigger(&mut self, trigger: &TriggerRecord) {
        let known = self
            .triggers
            .iter_mut()
            .find(|known| known.id == trigger.id);
        match known {
            Some(known) => {
                assert!(known.is_active(), "{} was revoked", trigger.id);
                assert!(trigger.generation >= known.generation, "generations rise");
                assert!(trigger.trigger_count >= known.trigger_count, "counted up");
                known.clone_from(trigger);
            }
            None => self.triggers.push(trigger.clone()),
        }
        for mode in DeliveryMode::ALL {
            let is_active = |one: &&TriggerRecord| one.is_active() && one.delivery_mode == mode;
            let active = self.triggers.iter().filter(is_active).count();
            assert!(active <= 1, "one active trigger of each mode");
        }
    }

    pub(crate) fn write_timer(&mut self, timer: &TimerRecord) {
        let known = self.timers.iter_mut().find(|known| known.id == timer.id);
        match known {
            Some(known) => {
                assert_eq!(known.status, TimerStatus::Active, "{} was over", timer.id);
                assert!(timer.fire_count >= known.fire_count, "fires are counted up");
                known.clone_from(timer);
            }
            None => self.timers.push(timer.clone()),
        }
    }
}
