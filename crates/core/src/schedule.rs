//! The scheduler: takes up the queue's head when nothing else is open, and runs the agent to rest.
//!
//! A head with something for a model opens a turn; one without is settled on the spot and the next is looked at.

use crate::assess::{Next, assess, is_self_caused};
use crate::continuation::{self, Trigger};
use crate::draft::Draft;
use crate::{rest, turn};
use holon_domain::closure::ClosureDecision;
use holon_domain::continuation::ContinuationResolution;
use holon_domain::event::{ContinuationResolved, Event, SchedulerChoice, SchedulerDecision};
use holon_domain::message::MessageEnvelope;
use holon_domain::queue::{QueueEntry, QueueStatus};

pub(crate) fn run_to_rest(draft: &mut Draft<'_>) {
    if draft.queue_is_stale() {
        return;
    }
    let standing = assess(&draft.agent, &draft.queue);
    match (standing.next, standing.closure, draft.queue.head.clone()) {
        (Next::Take, Some(prior), Some(head)) => take(draft, &prior, head),
        (
            Next::Take
            | Next::Stay
            | Next::Boot
            | Next::Turn
            | Next::Pace { .. }
            | Next::RestUntil { .. }
            | Next::Rest,
            Some(_) | None,
            Some(_) | None,
        ) => {}
    }
}

fn take(draft: &mut Draft<'_>, prior: &ClosureDecision, head: QueueEntry) {
    if is_self_caused(&head.envelope) && rest::must_pace(draft) {
        return;
    }
    let resolution = continuation::resolve(prior, Trigger::of(&head.envelope));
    record(draft, &head.envelope, &resolution);
    if resolution.model_visible {
        draft.unqueue(&head, QueueStatus::Dequeued);
        rest::end_rest(draft);
        turn::open(draft, head);
    } else {
        draft.unqueue(&head, QueueStatus::Processed);
    }
}

fn record(draft: &mut Draft<'_>, message: &MessageEnvelope, resolution: &ContinuationResolution) {
    let (decision, reason) = if resolution.model_visible {
        (SchedulerChoice::StartModelTurn, "for a model")
    } else {
        (SchedulerChoice::ReduceMessageOnly, "a sign of life")
    };
    draft.event(Event::SchedulerDecision(SchedulerDecision {
        decision,
        reason: reason.to_owned(),
        model_reentry: resolution.model_visible,
        message_id: Some(message.id.clone()),
        evidence: Vec::new(),
    }));
    draft.event(Event::ContinuationResolved(ContinuationResolved {
        message_id: message.id.clone(),
        trigger_kind: resolution.trigger_kind,
        class: resolution.class,
        prior_closure_outcome: resolution.prior_closure_outcome,
        prior_waiting_reason: resolution.prior_waiting_reason,
        matched_waiting_reason: resolution.matched_waiting_reason,
    }));
}
