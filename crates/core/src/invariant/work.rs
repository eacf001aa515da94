//! Invariants of an agent's work: counts and pointers in its row agree with the rows of items, waits, timers and hints.

use super::Violation;
use crate::tick;
use holon_domain::agent::{AgentRecord, ItemCounts, Lifecycle};
use holon_domain::queue::QueueView;
use holon_domain::timer::{DueId, TimerRecord};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{
    DeliverySummaryRow, WorkItemRecord, WorkItemSchedulingState, WorkItemState,
};

/// Stored rows about an agent's work.
#[derive(Debug, Clone, Default)]
pub struct StoredWork {
    /// Work items, open or completed.
    pub items: Vec<WorkItemRecord>,
    /// Delivery summaries of completed items.
    pub summaries: Vec<DeliverySummaryRow>,
    pub waits: Vec<WaitRecord>,
    pub timers: Vec<TimerRecord>,
    /// Number of pending wake hints.
    pub hints: usize,
}

impl StoredWork {
    /// Lists the due entries that items, waits and timers wait for.
    pub(super) fn due(&self) -> Vec<DueId> {
        let rechecks = self
            .items
            .iter()
            .filter_map(|item| item.recheck.as_ref()?.due);
        let waits = self.waits.iter().filter_map(|wait| wait.due);
        let timers = self.timers.iter().filter_map(|timer| timer.due);
        rechecks.chain(waits).chain(timers).collect()
    }

    fn item(&self, id: &holon_domain::WorkItemId) -> Option<&WorkItemRecord> {
        self.items.iter().find(|item| item.id == *id)
    }

    /// Counts the items by scheduling state.
    fn recount(&self, wake_count: u64) -> ItemCounts {
        let mut counts = ItemCounts::default();
        for item in &self.items {
            if let Some(count) = counts.of(item.scheduling_state(wake_count)) {
                *count += 1;
            }
        }
        counts
    }

    /// Counts the timers and waits whose time came while the agent was stopped and that were not handled since.
    fn deferred(&self) -> usize {
        let waits = self.waits.iter();
        let waits = waits.filter(|wait| wait.due.is_none() && wait.due_at.is_some());
        let timers = self.timers.iter().filter(|timer| timer.due.is_none());
        waits.count() + timers.count()
    }
}

/// Checks the work in an agent's row against the stored rows.
pub(super) fn check(agent: &AgentRecord, queue: &QueueView, stored: &StoredWork) -> Vec<Violation> {
    let mut found = check_counts(agent, stored);
    found.extend(check_pointers(agent, stored));
    found.extend(check_summaries(stored));
    found.extend(check_waits(stored));
    found.extend(check_rest(agent, queue, stored));
    found
}

fn violation(rule: &'static str, found: String) -> Violation {
    Violation { rule, found }
}

fn check_counts(agent: &AgentRecord, stored: &StoredWork) -> Vec<Violation> {
    let work = &agent.work;
    let recounted = stored.recount(work.wake_count);
    let come = |item: &&WorkItemRecord| {
        let recheck = item.recheck.as_ref();
        recheck.is_some_and(|recheck| recheck.due.is_none() && recheck.consumed_at.is_none())
    };
    let rechecks = stored.items.iter().filter(come).count();
    let rules = [
        (
            work.items == recounted,
            "the agent counts its open items by what the scheduler may do with them",
            format!("counted {:?}, stored {recounted:?}", work.items),
        ),
        (
            work.due_rechecks as usize == rechecks,
            "the agent counts the rechecks that came and were not shown",
            format!("counted {}, stored {rechecks}", work.due_rechecks),
        ),
        (
            work.active_waits as usize == stored.waits.len(),
            "the agent counts its active waits",
            format!(
                "counted {}, stored {}",
                work.active_waits,
                stored.waits.len()
            ),
        ),
        (
            work.active_timers as usize == stored.timers.len(),
            "the agent counts its active timers",
            format!(
                "counted {}, stored {}",
                work.active_timers,
                stored.timers.len()
            ),
        ),
        (
            work.hints as usize == stored.hints,
            "the agent counts its pending wake hints",
            format!("counted {}, stored {}", work.hints, stored.hints),
        ),
    ];
    let broken = rules.into_iter().filter(|(holds, _, _)| !holds);
    broken
        .map(|(_, rule, found)| violation(rule, found))
        .collect()
}

fn check_pointers(agent: &AgentRecord, stored: &StoredWork) -> Vec<Violation> {
    let work = &agent.work;
    let mut found = Vec::new();
    if let Some(current) = &work.current {
        let item = stored.item(&current.id);
        let fits = item.is_some_and(|item| {
            item.state == WorkItemState::Open
                && item.scheduling_state(work.wake_count) == current.state
                && item.idle_count(work.wake_count) == current.idle_turns
        });
        if !fits {
            let rule = "the current item is open, and the agent knows its state";
            found.push(violation(rule, format!("{current:?} of {item:?}")));
        }
    }
    if let Some(id) = &work.queued {
        let item = stored.item(id);
        let is_current = work
            .current
            .as_ref()
            .is_some_and(|current| current.id == *id);
        let runs = item.is_some_and(|item| {
            item.scheduling_state(work.wake_count) == WorkItemSchedulingState::Runnable
        });
        if is_current || !runs {
            let rule = "the queued item that is named may run and is not the current one";
            found.push(violation(rule, format!("{id} of {item:?}")));
        }
    }
    found
}

/// Checks that completed items and delivery summaries refer to each other, at most one summary per item.
fn check_summaries(stored: &StoredWork) -> Vec<Violation> {
    let reported = stored.items.iter().filter_map(|item| {
        let has_report = item.state == WorkItemState::Completed && item.result_summary.is_some();
        let id = item.delivery_summary_id.as_ref()?;
        has_report.then_some((&item.id, &item.agent_id, id))
    });
    let stored_ones = stored.summaries.iter();
    let stored_ones =
        stored_ones.map(|summary| (&summary.work_item_id, &summary.agent_id, &summary.id));
    let (mut reported, mut kept): (Vec<_>, Vec<_>) = (reported.collect(), stored_ones.collect());
    reported.sort_unstable();
    kept.sort_unstable();
    let pointers = stored
        .items
        .iter()
        .filter(|item| item.delivery_summary_id.is_some());
    if reported == kept && pointers.count() == kept.len() {
        return Vec::new();
    }
    let rule = "a completed item with a report and its one delivery summary name each other";
    vec![violation(
        rule,
        format!("items {reported:?}, summaries {kept:?}"),
    )]
}

/// Checks that items and waits refer to each other, at most one wait per item.
fn check_waits(stored: &StoredWork) -> Vec<Violation> {
    let waiting = stored.items.iter().filter_map(|item| {
        let wait = item.wait.as_ref()?;
        Some((item.id.clone(), wait.wait_id.clone(), wait.kind))
    });
    let mut waiting: Vec<_> = waiting.map(|parts| format!("{parts:?}")).collect();
    let declared = stored.waits.iter().filter_map(|wait| {
        let item = wait.work_item_id.clone()?;
        Some((item, wait.id.clone(), wait.kind))
    });
    let mut declared: Vec<_> = declared.map(|parts| format!("{parts:?}")).collect();
    waiting.sort_unstable();
    declared.sort_unstable();
    let own = stored
        .waits
        .iter()
        .filter(|wait| wait.work_item_id.is_none());
    let own = own.count();
    let mut found = Vec::new();
    if waiting != declared {
        let rule = "an item that waits and its one active wait name each other";
        found.push(violation(
            rule,
            format!("items {waiting:?}, waits {declared:?}"),
        ));
    }
    if own > 1 {
        let rule = "the agent itself has one active wait at most";
        found.push(violation(rule, format!("{own}")));
    }
    found
}

/// Checks the agent's own wait and its pauses, and that an agent at rest has no work left to be ticked for.
fn check_rest(agent: &AgentRecord, queue: &QueueView, stored: &StoredWork) -> Vec<Violation> {
    let work = &agent.work;
    let mut found = Vec::new();
    let own = stored.waits.iter().find(|wait| wait.work_item_id.is_none());
    let named = work
        .agent_wait
        .as_ref()
        .map(|wait| (&wait.wait_id, wait.due_at));
    if own.map(|wait| (&wait.id, wait.due_at)) != named {
        let rule = "the agent names its own wait";
        found.push(violation(rule, format!("{named:?}, stored {own:?}")));
    }
    let pauses = work.tick_pause.is_some_and(|pause| pause.due.is_some());
    if pauses && work.items.runnable == 0 {
        let rule = "a pause before the next tick is for work that can go on";
        found.push(violation(rule, format!("{work:?}")));
    }
    if work.hints == 0 && work.hint_pause.is_some_and(|pause| pause.due.is_some()) {
        let rule = "a pause before the next tick for hints is for hints that are pending";
        found.push(violation(rule, format!("{work:?}")));
    }
    if agent.lifecycle != Lifecycle::Runnable {
        return found;
    }
    if stored.deferred() > 0 && work.catch_up.is_none() {
        let rule = "what came while an agent was stopped is made up for";
        found.push(violation(rule, format!("{} parked", stored.deferred())));
    }
    if agent.open_turn.is_some() || queue.pending > 0 {
        return found;
    }
    if let Some(cause) = tick::cause(agent) {
        let rule = "an agent at rest has no work to be ticked for";
        found.push(violation(rule, format!("{cause:?} of {work:?}")));
    }
    if work.runnable_queued() > 0 && work.queued.is_none() {
        let rule = "an agent at rest names the queued item that makes it continuable";
        found.push(violation(rule, format!("{work:?}")));
    }
    found
}
