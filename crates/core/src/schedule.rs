//! The scheduler: takes up the head of the queue when no turn is open, and runs the agent to rest.
//!
//! A head with content for a model opens a turn; one without is settled at once and the next one follows. A result
//! whose turn could not succeed is held.

use crate::assess::{Assessment, NextAction, assess, is_self_caused, run_failed_since};
use crate::continuation::{self, Trigger};
use crate::draft::{Draft, SLEEP_BOUNDARY};
use crate::planted::{Fault, is_planted};
use crate::tick::TickCause;
use crate::timer::ReleasedHead;
use crate::{rest, tick, timer, turn, wait};
use holon_domain::agent::AgentStatus;
use holon_domain::closure::{ClosureDecision, WaitingReason};
use holon_domain::continuation::ContinuationResolution;
use holon_domain::event::{
    ContinuationResolved, Event, SchedulerChoice, SchedulerDecision, SchedulerDiagnostic,
};
use holon_domain::message::{MessageKind, Priority};
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::text;
use holon_domain::work_item::STALLED_AFTER;

/// Place of the decision about a message that wakes an agent.
const ADMISSION_BOUNDARY: &str = "message_admission";

/// Decides until a turn is open, the agent rests, or a fresh view is needed. Each pass but the last removes something
/// that the next cannot find again, so the loop ends.
pub(crate) fn run_to_rest(draft: &mut Draft<'_>) {
    while !draft.queue_is_stale() && !draft.is_incomplete() {
        let assessment = assess(draft.assessment_facts());
        let goes_on = match &assessment.next {
            // A paced agent looks too: the head may be a message that it did not cause itself.
            NextAction::Take | NextAction::Pace { .. } => match (&assessment.closure, draft.head())
            {
                (Some(prior), Some(head)) if !is_paced(draft, &head) => {
                    take_head(draft, prior, head)
                }
                (Some(_) | None, Some(_) | None) => false,
            },
            NextAction::Tick(cause) => tick::emit(draft, *cause),
            NextAction::RestUntil { .. } | NextAction::Rest => {
                record_rest(draft, &assessment);
                false
            }
            NextAction::Stay | NextAction::Boot | NextAction::Turn => false,
        };
        if !goes_on {
            break;
        }
    }
    let knows_all = !draft.queue_is_stale() && !draft.is_incomplete();
    if knows_all && draft.agent.open_turn.is_none() {
        tick::point_at_queued(draft);
    }
}

/// Records the reason for which an agent rests after a turn, and the expected wake. Of an agent with work it records the
/// decision too.
fn record_rest(draft: &mut Draft<'_>, assessment: &Assessment) {
    if !draft.take_end_of_turn() {
        return;
    }
    draft.need_expected_wake();
    if draft.agent.work.is_untouched() {
        return draft.record_posture(SLEEP_BOUNDARY, AgentStatus::AwakeRunning);
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
        message_seq: None,
        boundary: None,
        previous_status: None,
        next_status: None,
    }));
    record_posture(draft, assessment);
}

/// Records the status in which an agent with work rests after a turn. Work that could run is mentioned, because only a
/// pause keeps it from running.
fn record_posture(draft: &mut Draft<'_>, assessment: &Assessment) {
    let posture = &assessment.posture;
    draft.record_posture(SLEEP_BOUNDARY, AgentStatus::AwakeRunning);
    if draft.agent.work.can_go_on() && !draft.agent.is_one_run() {
        // After one more turn without progress the work is offered no more.
        let idle = draft.agent.work.current.as_ref();
        let idle = idle.map_or(0, |current| current.idle_turns);
        let severity = match idle + 1 >= STALLED_AFTER {
            true => "warning",
            false => "info",
        };
        draft.event(Event::SchedulerDiagnostic(SchedulerDiagnostic {
            kind: "idle_posture_has_runnable_work".to_owned(),
            severity: severity.to_owned(),
            message: posture.reason.clone(),
            work_item_id: posture.work_item_id.clone(),
        }));
    }
}

/// Returns true if a message waits for the end of a pause that is already set.
fn is_paced(draft: &Draft<'_>, head: &QueueEntry) -> bool {
    is_self_caused(&head.envelope) && draft.agent.pace.is_some_and(|pace| pace.due.is_some())
}

/// Takes up the head of the queue. Returns true if it was settled at once, so that the scheduler looks again.
fn take_head(draft: &mut Draft<'_>, prior: &ClosureDecision, head: QueueEntry) -> bool {
    if must_be_held(draft, &head) {
        let why = "its run has no round left, or no model answered it".to_owned();
        record_choice(draft, &head, "kept for the next turn", false, vec![why]);
        draft.hold_queued(&head);
        return true;
    }
    if is_self_caused(&head.envelope) && rest::must_pace(draft) {
        // A hint from outside does not wait behind the pause.
        return tick::cause(&draft.agent) == Some(TickCause::Hints);
    }
    let released = timer::release_tick(draft, &head);
    let ReleasedHead::Begins(late) = released else {
        let why = "its timer was cancelled".to_owned();
        record_choice(draft, &head, "settled without a turn", false, vec![why]);
        draft.unqueue(&head, QueueStatus::Processed);
        return true;
    };
    let mut waits = wait::end_by_head(draft, &head.envelope);
    let trigger = Trigger::of(&head.envelope);
    let trigger = Trigger {
        resumes: trigger.resumes.or_else(|| wait::resumes(&waits.notes)),
        ..trigger
    };
    let resolution = continuation::resolve(prior, trigger);
    record(draft, &head, &resolution);
    let skipped =
        head.envelope.kind == MessageKind::ChannelEvent && is_planted(Fault::EventSkipped);
    let model_visible = resolution.model_visible && !skipped;
    draft.agent.last_continuation = Some(resolution);
    if model_visible {
        draft.unqueue(&head, QueueStatus::Dequeued);
        rest::end_rest(draft);
        wait::tell_ended(draft, head.envelope.work_item_id.as_ref(), &mut waits);
        turn::open(draft, head, waits, late);
        false
    } else {
        draft.unqueue(&head, QueueStatus::Processed);
        true
    }
}

/// Returns true if a result is held for a turn that another message begins: its run has no rounds left, or failed at
/// its provider.
fn must_be_held(draft: &Draft<'_>, head: &QueueEntry) -> bool {
    let message = &head.envelope;
    message.kind == MessageKind::TaskResult
        && (turn::rounds_left(&draft.agent, head) == Some(0)
            || run_failed_since(&draft.agent, message.created_at))
}

fn record(draft: &mut Draft<'_>, head: &QueueEntry, resolution: &ContinuationResolution) {
    let reason = if resolution.model_visible {
        "for a model"
    } else {
        "a sign of life"
    };
    let evidence = queue_evidence(draft, head);
    record_choice(draft, head, reason, resolution.model_visible, evidence);
    draft.event(Event::ContinuationResolved(ContinuationResolved {
        message_id: head.envelope.id.clone(),
        trigger_kind: resolution.trigger_kind,
        class: resolution.class,
        prior_closure_outcome: resolution.prior_closure_outcome,
        prior_waiting_reason: resolution.prior_waiting_reason,
        matched_waiting_reason: resolution.matched_waiting_reason,
        model_visible: Some(resolution.model_visible),
        evidence: resolution.evidence.clone(),
        message_seq: Some(head.seq),
    }));
}

/// Describes why this message was taken before the others, and why now.
fn queue_evidence(draft: &Draft<'_>, head: &QueueEntry) -> Vec<String> {
    let priority = match head.envelope.priority {
        Priority::Interject => "interject",
        Priority::Next => "next",
        Priority::Normal => "normal",
        Priority::Background => "background",
    };
    let behind = draft.queue.pending.saturating_sub(1);
    let order = match behind {
        0 => format!("the only queued message, priority {priority}"),
        _ => format!(
            "first of the queue by priority ({priority}) and age, before {}",
            text::pluralize(behind, "message")
        ),
    };
    let paced = draft.agent.pace.is_some() && is_self_caused(&head.envelope);
    let pause = paced.then(|| "the pause before a turn of its own is over".to_owned());
    std::iter::once(order).chain(pause).collect()
}

/// Records the choice about the head: its reason, and whether a model is asked.
fn record_choice(
    draft: &mut Draft<'_>,
    head: &QueueEntry,
    reason: &str,
    model_reentry: bool,
    evidence: Vec<String>,
) {
    let decision = if model_reentry {
        SchedulerChoice::StartModelTurn
    } else {
        SchedulerChoice::ReduceMessageOnly
    };
    let wakes = model_reentry && draft.was_at_rest();
    draft.event(Event::SchedulerDecision(SchedulerDecision {
        decision,
        reason: reason.to_owned(),
        model_reentry,
        message_id: Some(head.envelope.id.clone()),
        evidence,
        message_seq: Some(head.seq),
        boundary: wakes.then(|| ADMISSION_BOUNDARY.to_owned()),
        previous_status: wakes.then_some(draft.status_before()),
        next_status: wakes.then_some(AgentStatus::AwakeRunning),
    }));
}
