//! Checks the core's invariants and recounts derived columns on the stored rows after every commit.

use crate::violation::{Verdict, ensure, violation};
use holon_core::invariant::{self, StoredRows, StoredWork};
use holon_domain::agent::AgentRecord;
use holon_domain::queue::QueueView;
use holon_store::OutstandingWork;

/// Checks one agent's row against everything stored beside it.
pub(crate) fn agent(
    agent: &AgentRecord,
    queue: &QueueView,
    outstanding: &OutstandingWork,
) -> Verdict<()> {
    let facts = StoredRows {
        effects: outstanding.effects.clone(),
        due: outstanding.due.clone(),
        tasks: outstanding.tasks.clone(),
        dequeued: outstanding.dequeued.clone(),
        held: outstanding.held.clone(),
        attempts: outstanding.attempts,
        work: StoredWork {
            items: outstanding.items.clone(),
            summaries: outstanding.summaries.clone(),
            waits: outstanding.waits.clone(),
            timers: outstanding.timers.clone(),
            hints: outstanding.hints.len(),
        },
        occupancy: outstanding.occupancy.clone(),
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
