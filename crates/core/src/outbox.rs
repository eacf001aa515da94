//! The outbox: deliveries to operators, one lane for each route, in order and with backoff.
//!
//! A delivery is written with the brief or notification that it carries. The delivery at the head of a lane is an open
//! effect, or waits for a due entry; the others wait behind it. A delivery ends when its receiver accepts or refuses it,
//! when its patience is over, or when the lane is full. Its end changes nothing but the outbox.

mod command;

pub(crate) use command::{end_lane, handle_command};

use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use crate::planted::{Fault, is_planted};
use crate::{delegation, routing};
use holon_domain::agent::Visibility as AgentVisibility;
use holon_domain::brief::{ActionCode, BriefAttachment, BriefRow};
use holon_domain::decision::{BriefSeq, Fact};
use holon_domain::delivery::{
    DeliveryContent, DeliveryOutcome, DeliveryRecord, DeliveryRoute, DeliverySeq, DeliveryStatus,
    DeliveryTrigger, LaneState, OutboxLane, SubmitResult,
};
use holon_domain::effect::Effect;
use holon_domain::event::{
    Event, OperatorDeliveryCompleted, OperatorDeliverySubmitted, OperatorNotificationMirrorFailed,
};
use holon_domain::timer::{DueAction, DueId};
use holon_domain::turn::OpenTurn;
use holon_domain::visibility::Visibility;
use holon_domain::{BriefId, DeliveryId, NotificationId, Timestamp, limits, text};

/// A brief or notification before its routes are known.
pub(crate) struct Deliverable {
    pub(crate) trigger: DeliveryTrigger,
    pub(crate) visibility: Visibility,
    pub(crate) content: DeliveryContent,
    pub(crate) brief_id: Option<BriefId>,
    pub(crate) notification_id: Option<NotificationId>,
    pub(crate) next_step: Option<String>,
    pub(crate) attachments: Vec<BriefAttachment>,
}

/// Delivers a brief. `completes_work` is true if its turn completed a work item.
pub(crate) fn deliver_brief(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    seq: BriefSeq,
    row: &BriefRow,
    completes_work: bool,
) {
    let action = row.action_required.as_ref();
    let code = action.map(|action| action.code);
    let visibility = Visibility::of_brief(row.kind, code, completes_work);
    let trigger = match (code, visibility) {
        (Some(ActionCode::WorkStalled), _) => DeliveryTrigger::WorkItemBlocked,
        (Some(_), _) => DeliveryTrigger::OperatorInputRequired,
        (None, Visibility::WorkDone) => DeliveryTrigger::WorkItemDone,
        (None, _) if row.related_task_id.is_some() => DeliveryTrigger::TaskResult,
        (None, _) => DeliveryTrigger::TurnResult,
    };
    if let Some(action) = action {
        delegation::ask_supervisor(draft, turn, action);
    }
    let item = Deliverable {
        trigger,
        visibility,
        content: DeliveryContent::Brief(seq),
        brief_id: Some(row.id.clone()),
        notification_id: None,
        next_step: action.map(|action| action.next_step.clone()),
        attachments: row.attachments.clone(),
    };
    deliver(draft, turn, &item);
}

/// Writes a delivery for every route that wants the item. Returns their number.
pub(crate) fn deliver(draft: &mut Draft<'_>, turn: &OpenTurn, item: &Deliverable) -> usize {
    // The caller of a temporary agent reads its answer, and the agent and its outbox are removed after the run. The
    // briefs of a private child are its supervisor's.
    if draft.agent.is_removed_with_process()
        || draft.agent.identity.visibility == AgentVisibility::Private
    {
        return 0;
    }
    let routes = routing::routes(draft, turn, item.visibility);
    for routed in &routes {
        let seq = extend_lane(draft, &routed.route);
        let record = DeliveryRecord {
            id: DeliveryId::mint(draft.entropy),
            route: routed.route.clone(),
            seq,
            trigger: item.trigger,
            visibility: item.visibility,
            content: item.content.clone(),
            created_at: draft.now,
            route_id: routed.route_id.clone(),
            next_step: item.next_step.clone(),
            work_item_id: turn.work_item_id.clone(),
            notification_id: item.notification_id.clone(),
            correlation_id: turn.correlation_id.clone(),
            causation_id: Some(turn.message_id.to_string()),
            attachments: item.attachments.clone(),
        };
        draft.event(Event::OperatorDeliverySubmitted(
            OperatorDeliverySubmitted {
                delivery_intent_id: record.id.clone(),
                delivery_seq: seq,
                route: routed.route.key(),
                trigger: item.trigger,
                visibility: item.visibility,
                brief_id: item.brief_id.clone(),
                notification_id: item.notification_id.clone(),
            },
        ));
        draft.fact(Fact::DeliveryWritten(Box::new(record)));
        bound_lane(draft, &routed.route);
        begin_if_idle(draft, &routed.route);
    }
    routes.len()
}

/// Takes the next position of a lane, which is made if the route had none.
fn extend_lane(draft: &mut Draft<'_>, route: &DeliveryRoute) -> DeliverySeq {
    if draft.agent.outbox.lane(route).is_none() {
        forget_idle_lane(draft);
        let lane = OutboxLane::new(route.clone());
        draft.agent.outbox.lanes.push(lane);
    }
    let lane = draft.agent.outbox.lane_mut(route);
    lane.map_or(0, |lane| {
        lane.newest += 1;
        lane.newest
    })
}

/// Forgets the oldest lane without a pending delivery once the outbox remembers as many as it may.
fn forget_idle_lane(draft: &mut Draft<'_>) {
    let lanes = &draft.agent.outbox.lanes;
    if lanes.len() < limits::OUTBOX_LANES {
        return;
    }
    let Some(idle) = lanes.iter().position(|lane| lane.state == LaneState::Idle) else {
        return;
    };
    let lane = draft.agent.outbox.lanes.remove(idle);
    draft.fact(Fact::DeliveriesTrimmed {
        route: lane.route,
        through: lane.newest,
    });
}

/// Gives up the oldest deliveries of a lane that holds more than its bound. A delivery that is being submitted is left
/// to its outcome, so that new ones never break off the attempt that might succeed.
fn bound_lane(draft: &mut Draft<'_>, route: &DeliveryRoute) {
    let is_over = |lane: &OutboxLane| {
        lane.pending() > limits::DELIVERIES_PENDING
            && !matches!(lane.state, LaneState::Sending { .. })
    };
    while draft.agent.outbox.lane(route).is_some_and(is_over) {
        let error = format!(
            "given up for newer ones: {} deliveries wait on this route",
            limits::DELIVERIES_PENDING
        );
        settle_head(
            draft,
            route,
            DeliveryStatus::FailedToSubmit,
            Some(error),
            None,
        );
    }
}

/// Closes the effect or the due entry of a lane.
fn release(draft: &mut Draft<'_>, route: &DeliveryRoute) {
    let Some(lane) = draft.agent.outbox.lane_mut(route) else {
        return;
    };
    match std::mem::replace(&mut lane.state, LaneState::Idle) {
        LaneState::Idle => {}
        LaneState::Sending { effect, .. } => draft.close_effect(effect),
        LaneState::Paused { due, .. } => draft.clear_due(due),
    }
}

/// Submits the delivery at the head of an idle lane.
fn begin_if_idle(draft: &mut Draft<'_>, route: &DeliveryRoute) {
    let Some(lane) = draft.agent.outbox.lane(route) else {
        return;
    };
    if lane.state != LaneState::Idle || lane.pending() == 0 {
        return;
    }
    let overtakes = lane.failed_attempts > 0 && lane.pending() > 1;
    let seq = match overtakes && is_planted(Fault::DeliveryOvertakes) {
        true => lane.head + 1,
        false => lane.head,
    };
    let effect = draft.open_effect(Effect::SubmitDelivery {
        route: route.clone(),
        seq,
    });
    let since = Some(draft.now);
    set_state(draft, route, LaneState::Sending { effect, since });
}

fn set_state(draft: &mut Draft<'_>, route: &DeliveryRoute, state: LaneState) {
    if let Some(lane) = draft.agent.outbox.lane_mut(route) {
        lane.state = state;
    }
}

/// Handles the result of an attempt. `created_at` is the time at which the delivery was written.
pub(crate) fn handle_submitted(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    route: &DeliveryRoute,
    created_at: Timestamp,
    result: &SubmitResult,
) -> Reply {
    let lane = draft.agent.outbox.lane(route);
    let awaited = lane.and_then(|lane| match lane.state {
        LaneState::Sending { effect, .. } => Some(effect),
        LaneState::Idle | LaneState::Paused { .. } => None,
    });
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    set_state(draft, route, LaneState::Idle);
    match result {
        SubmitResult::Accepted {
            transport_delivery_id,
        } => {
            let id = transport_delivery_id.as_deref().map(shorten);
            settle_head(draft, route, DeliveryStatus::AcceptedByTransport, None, id);
            begin_if_idle(draft, route);
        }
        SubmitResult::Refused { error } => {
            let error = Some(shorten(error));
            settle_head(draft, route, DeliveryStatus::FailedToSubmit, error, None);
            begin_if_idle(draft, route);
        }
        SubmitResult::Retry { .. } if is_planted(Fault::FailureCallsAccepted) => {
            settle_head(
                draft,
                route,
                DeliveryStatus::AcceptedByTransport,
                None,
                None,
            );
            begin_if_idle(draft, route);
        }
        SubmitResult::Retry {
            error,
            retry_after_ms,
        } => note_failure(draft, route, created_at, error, *retry_after_ms),
    }
    Reply::Done
}

/// Notes a failed attempt: the delivery is tried again after a pause, or given up when its patience is over.
fn note_failure(
    draft: &mut Draft<'_>,
    route: &DeliveryRoute,
    created_at: Timestamp,
    error: &str,
    retry_after_ms: Option<u64>,
) {
    let (now, error) = (draft.now, shorten(error));
    let Some(lane) = draft.agent.outbox.lane_mut(route) else {
        return;
    };
    lane.failed_attempts = lane.failed_attempts.saturating_add(1);
    lane.failures = lane.failures.saturating_add(1);
    lane.last_error = Some(error.clone());
    let seq = lane.head;
    let is_new = lane
        .failing_since
        .replace(lane.failing_since.unwrap_or(now))
        .is_none();
    if now.millis_since(created_at) >= limits::DELIVERY_PATIENCE_MS {
        let days = limits::DELIVERY_PATIENCE_MS / 86_400_000;
        let reason = format!("given up after {days} days: {error}");
        let failed = DeliveryStatus::FailedToSubmit;
        settle_head(draft, route, failed, Some(shorten(&reason)), None);
    }
    bound_lane(draft, route);
    let retry_at = pause(draft, route, retry_after_ms);
    if is_new {
        draft.event(Event::OperatorNotificationMirrorFailed(
            OperatorNotificationMirrorFailed {
                route: route.key(),
                delivery_seq: seq,
                error,
                retry_at: retry_at.unwrap_or(now),
            },
        ));
    }
}

/// Sets the backoff before the next attempt on a route. Returns its end; `None` if nothing is pending.
fn pause(
    draft: &mut Draft<'_>,
    route: &DeliveryRoute,
    retry_after_ms: Option<u64>,
) -> Option<Timestamp> {
    let lane = draft.agent.outbox.lane(route)?;
    if lane.pending() == 0 {
        return None;
    }
    let asked = retry_after_ms.map(|ms| ms.min(limits::DELIVERY_RETRY_AFTER_MAX_MS));
    let length_ms = pause_ms(lane.failures).max(asked.unwrap_or(0));
    let until = draft.now.plus_millis(length_ms);
    let due = draft.set_due(
        until,
        DueAction::DeliveryRetry {
            route: route.clone(),
        },
    );
    set_state(draft, route, LaneState::Paused { due, until });
    Some(until)
}

/// Returns the backoff after this many failures in a row: doubled each time, up to a bound.
fn pause_ms(failures: u32) -> u64 {
    let factor = 1_u64.checked_shl(failures.saturating_sub(1));
    limits::DELIVERY_PAUSE_MS
        .saturating_mul(factor.unwrap_or(u64::MAX))
        .min(limits::DELIVERY_PAUSE_MAX_MS)
}

/// Handles the end of a backoff; its due entry is already cleared.
pub(crate) fn handle_pause_end(draft: &mut Draft<'_>, id: DueId, route: &DeliveryRoute) -> Reply {
    let lane = draft.agent.outbox.lane(route);
    let waits =
        |lane: &OutboxLane| matches!(lane.state, LaneState::Paused { due, .. } if due == id);
    if !lane.is_some_and(waits) {
        return Reply::Unchanged;
    }
    set_state(draft, route, LaneState::Idle);
    if !is_planted(Fault::DeliveryPauseEndless) {
        begin_if_idle(draft, route);
    }
    Reply::Done
}

/// Ends the delivery at the head of a lane and moves the head. Rows beyond the kept ones are removed.
fn settle_head(
    draft: &mut Draft<'_>,
    route: &DeliveryRoute,
    status: DeliveryStatus,
    error: Option<String>,
    transport_delivery_id: Option<String>,
) {
    let now = draft.now;
    let Some(lane) = draft.agent.outbox.lane_mut(route) else {
        return;
    };
    let seq = lane.head;
    let outcome = DeliveryOutcome {
        status,
        at: now,
        attempts: lane.failed_attempts + u32::from(status == DeliveryStatus::AcceptedByTransport),
        error,
        transport_delivery_id,
    };
    lane.head += 1;
    lane.failed_attempts = 0;
    match status {
        DeliveryStatus::AcceptedByTransport => {
            lane.failures = 0;
            lane.failing_since = None;
            lane.last_error = None;
            lane.last_accepted_at = Some(now);
        }
        DeliveryStatus::FailedToSubmit => {
            lane.given_up += 1;
            lane.last_error.clone_from(&outcome.error);
            // Nothing is tried any more, so nothing fails.
            if lane.pending() == 0 {
                lane.failing_since = None;
            }
        }
        DeliveryStatus::Pending => {}
    }
    draft.event(Event::OperatorDeliveryCompleted(
        OperatorDeliveryCompleted {
            route: route.key(),
            delivery_seq: seq,
            status,
            attempts: outcome.attempts,
            error: outcome.error.clone(),
            transport_delivery_id: outcome.transport_delivery_id.clone(),
        },
    ));
    draft.fact(Fact::DeliverySettled {
        route: route.clone(),
        seq,
        outcome: Box::new(outcome),
    });
    if let Some(through) = seq
        .checked_sub(limits::DELIVERIES_KEPT)
        .filter(|it| *it > 0)
    {
        let route = route.clone();
        draft.fact(Fact::DeliveriesTrimmed { route, through });
    }
}

/// Opens the attempts of all lanes again under a new generation.
pub(crate) fn reopen(draft: &mut Draft<'_>) {
    let sending: Vec<DeliveryRoute> = draft
        .agent
        .outbox
        .lanes
        .iter()
        .filter(|lane| matches!(lane.state, LaneState::Sending { .. }))
        .map(|lane| lane.route.clone())
        .collect();
    for route in sending {
        release(draft, &route);
        begin_if_idle(draft, &route);
    }
}

/// Drops the outbox of an agent that is being removed. Its rows go with the agent's.
pub(crate) fn close(draft: &mut Draft<'_>) {
    let routes: Vec<DeliveryRoute> = draft
        .agent
        .outbox
        .lanes
        .iter()
        .map(|lane| lane.route.clone())
        .collect();
    for route in routes {
        release(draft, &route);
    }
    draft.agent.outbox.lanes.clear();
}

fn shorten(words: &str) -> String {
    text::preview(words, limits::EVENT_PREVIEW_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_its_bound() {
        let pauses = [1, 2, 3, 8, 9, 400].map(pause_ms);
        assert_eq!(pauses, [5_000, 10_000, 20_000, 640_000, 900_000, 900_000]);
    }
}
