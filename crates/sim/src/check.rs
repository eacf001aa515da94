//! The shared invariants, and recounts of what is derived: run on the stored rows after every commit.

use crate::violation::{Verdict, ensure, violation};
use holon_core::invariant::{self, StoredFacts};
use holon_domain::agent::AgentRecord;
use holon_domain::queue::QueueView;
use holon_domain::timer::DueId;
use holon_store::Outstanding;

/// The due entries that items, waits and timers wait for.
fn work_due(outstanding: &Outstanding) -> Vec<DueId> {
    let rechecks = outstanding
        .items
        .iter()
        .filter_map(|item| item.recheck.as_ref()?.due);
    let waits = outstanding.waits.iter().filter_map(|wait| wait.due);
    let timers = outstanding.timers.iter().filter_map(|timer| timer.due);
    rechecks.chain(waits).chain(timers).collect()
}

/// Checks one agent against everything stored beside its row.
pub(crate) fn agent(
    agent: &AgentRecord,
    queue: &QueueView,
    outstanding: &Outstanding,
) -> Verdict<()> {
    let facts = StoredFacts {
        effects: outstanding.effects.clone(),
        due: outstanding.due.clone(),
        tasks: outstanding.tasks.clone(),
        dequeued: outstanding.dequeued.clone(),
        held: outstanding.held.clone(),
        attempts: outstanding.attempts,
        work_due: work_due(outstanding),
    };
    if let Some(broken) = invariant::check(agent, queue, &facts).into_iter().next() {
        return violation(broken.rule, format!("{}: {agent:?}", broken.found));
    }
    let recount = (
        outstanding.queued.len() as u64,
        outstanding.interjections.len() as u64,
    );
    ensure(
        (queue.pending, queue.interjections) == recount,
        "derived counts are what a recount gives",
        || {
            format!(
                "{} and {} instead of {recount:?}",
                queue.pending, queue.interjections
            )
        },
    )?;
    ensure(
        queue.known_head().is_some() != outstanding.queued.is_empty(),
        "a queue has a head exactly while something waits",
        || format!("{:?}", queue.head),
    )
}
