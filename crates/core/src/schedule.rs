//! The scheduler: takes up the queue's head when nothing else is open, and runs the agent to rest.
//!
//! A head with something for a model opens a turn; one without is settled on the spot and the next is looked at. A
//! result that would open a turn in vain is held.

use crate::assess::{Next, assess, is_self_caused, run_failed_since};
use crate::continuation::{self, Trigger};
use crate::draft::Draft;
use crate::{rest, tick, turn};
use holon_domain::closure::ClosureDecision;
use holon_domain::continuation::ContinuationResolution;
use holon_domain::event::{ContinuationResolved, Event, SchedulerChoice, SchedulerDecision};
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::queue::{QueueEntry, QueueStatus};

pub(crate) fn run_to_rest(draft: &mut Draft<'_>) {
    if draft.queue_is_stale() || draft.misses_something() {
        return;
    }
    let assessment = assess(draft.standing());
    match assessment.next {
        // Also a paced agent looks: what stands first may be somebody else's.
        Next::Take | Next::Pace { .. } => match (assessment.closure, draft.head()) {
            (Some(prior), Some(head)) if !is_paced(draft, &head) => take(draft, &prior, head),
            (Some(_) | None, Some(_) | None) => {}
        },
        Next::Tick(cause) => {
            if tick::emit(draft, cause) {
                run_to_rest(draft);
            }
        }
        Next::Stay | Next::Boot | Next::Turn | Next::RestUntil { .. } | Next::Rest => {}
    }
}

/// Whether a message waits for the end of a pause that is set already.
fn is_paced(draft: &Draft<'_>, head: &QueueEntry) -> bool {
    is_self_caused(&head.envelope) && draft.agent.pace.is_some_and(|pace| pace.due.is_some())
}

fn take(draft: &mut Draft<'_>, prior: &ClosureDecision, head: QueueEntry) {
    if opens_no_turn(draft, &head) {
        record_choice(draft, &head.envelope, "kept for the next turn", false);
        draft.hold_queued(&head);
        return;
    }
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

/// Whether a result is kept for a turn somebody else begins: its run has no rounds left, or failed at its provider.
fn opens_no_turn(draft: &Draft<'_>, head: &QueueEntry) -> bool {
    let message = &head.envelope;
    message.kind == MessageKind::TaskResult
        && (turn::rounds_left(&draft.agent, head) == Some(0)
            || run_failed_since(&draft.agent, message.created_at))
}

fn record(draft: &mut Draft<'_>, message: &MessageEnvelope, resolution: &ContinuationResolution) {
    let reason = if resolution.model_visible {
        "for a model"
    } else {
        "a sign of life"
    };
    record_choice(draft, message, reason, resolution.model_visible);
    draft.event(Event::ContinuationResolved(ContinuationResolved {
        message_id: message.id.clone(),
        trigger_kind: resolution.trigger_kind,
        class: resolution.class,
        prior_closure_outcome: resolution.prior_closure_outcome,
        prior_waiting_reason: resolution.prior_waiting_reason,
        matched_waiting_reason: resolution.matched_waiting_reason,
    }));
}

fn record_choice(
    draft: &mut Draft<'_>,
    message: &MessageEnvelope,
    reason: &str,
    model_reentry: bool,
) {
    let decision = if model_reentry {
        SchedulerChoice::StartModelTurn
    } else {
        SchedulerChoice::ReduceMessageOnly
    };
    draft.event(Event::SchedulerDecision(SchedulerDecision {
        decision,
        reason: reason.to_owned(),
        model_reentry,
        message_id: Some(message.id.clone()),
        evidence: Vec::new(),
    }));
}
