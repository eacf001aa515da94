//! The scheduler: takes up the queue's head when nothing else is open, and runs the agent to rest.
//!
//! A head with something for a model opens a turn; one without is settled on the spot and the next is looked at. A
//! result that would open a turn in vain is held.

use crate::assess::{Assessment, Next, assess, is_self_caused, run_failed_since};
use crate::continuation::{self, Trigger};
use crate::draft::Draft;
use crate::{rest, tick, turn};
use holon_domain::agent::WorkState;
use holon_domain::closure::{ClosureDecision, WaitingReason};
use holon_domain::continuation::ContinuationResolution;
use holon_domain::event::{ContinuationResolved, Event, SchedulerChoice, SchedulerDecision};
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::queue::{QueueEntry, QueueStatus};

/// Decides until a turn is open, the agent rests, or a fresh view is needed. Each look but the last takes something away
/// that the next cannot find again, so the looks come to an end.
pub(crate) fn run_to_rest(draft: &mut Draft<'_>) {
    while !draft.queue_is_stale() && !draft.misses_something() {
        let assessment = assess(draft.standing());
        let goes_on = match &assessment.next {
            // Also a paced agent looks: what stands first may be somebody else's.
            Next::Take | Next::Pace { .. } => match (&assessment.closure, draft.head()) {
                (Some(prior), Some(head)) if !is_paced(draft, &head) => take(draft, prior, head),
                (Some(_) | None, Some(_) | None) => false,
            },
            Next::Tick(cause) => tick::emit(draft, *cause),
            Next::RestUntil { .. } | Next::Rest => {
                record_rest(draft, &assessment);
                false
            }
            Next::Stay | Next::Boot | Next::Turn => false,
        };
        if !goes_on {
            break;
        }
    }
    let knows_all = !draft.queue_is_stale() && !draft.misses_something();
    if knows_all && draft.agent.open_turn.is_none() {
        tick::point_at_queued(draft);
    }
}

/// Records why an agent with work goes to rest after a turn, and what it expects to be woken by.
fn record_rest(draft: &mut Draft<'_>, assessment: &Assessment) {
    if !draft.take_end_of_turn() || draft.agent.work == WorkState::default() {
        return;
    }
    let waits_for = assessment
        .closure
        .as_ref()
        .and_then(|closure| closure.waiting_reason);
    let decision = match waits_for {
        Some(WaitingReason::AwaitingOperatorInput) => SchedulerChoice::WaitForOperator,
        Some(WaitingReason::AwaitingExternalChange) => SchedulerChoice::WaitForExternalChange,
        Some(WaitingReason::AwaitingTimer) => SchedulerChoice::WaitForTimer,
        Some(WaitingReason::AwaitingTaskResult) | None => SchedulerChoice::Sleep,
    };
    let closure = assessment.closure.as_ref();
    let mut evidence = closure.map_or_else(Vec::new, |closure| closure.evidence.clone());
    evidence.extend(
        assessment
            .posture
            .wakes_at
            .map(|at| format!("wakes at {at}")),
    );
    draft.event(Event::SchedulerDecision(SchedulerDecision {
        decision,
        reason: assessment.posture.reason.clone(),
        model_reentry: false,
        message_id: None,
        evidence,
    }));
}

/// Whether a message waits for the end of a pause that is set already.
fn is_paced(draft: &Draft<'_>, head: &QueueEntry) -> bool {
    is_self_caused(&head.envelope) && draft.agent.pace.is_some_and(|pace| pace.due.is_some())
}

/// Takes up the queue's head. Whether it was settled on the spot, so that there is more to look at.
fn take(draft: &mut Draft<'_>, prior: &ClosureDecision, head: QueueEntry) -> bool {
    if opens_no_turn(draft, &head) {
        record_choice(draft, &head.envelope, "kept for the next turn", false);
        draft.hold_queued(&head);
        return true;
    }
    if is_self_caused(&head.envelope) && rest::must_pace(draft) {
        // A hint of somebody else's does not wait behind the pause.
        return draft.agent.work.hints > 0;
    }
    let resolution = continuation::resolve(prior, Trigger::of(&head.envelope));
    record(draft, &head.envelope, &resolution);
    let model_visible = resolution.model_visible;
    draft.agent.last_continuation = Some(resolution);
    if model_visible {
        draft.unqueue(&head, QueueStatus::Dequeued);
        rest::end_rest(draft);
        turn::open(draft, head);
        false
    } else {
        draft.unqueue(&head, QueueStatus::Processed);
        true
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
        model_visible: Some(resolution.model_visible),
        evidence: resolution.evidence.clone(),
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
