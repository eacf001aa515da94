//! Commands of operators about a lane: what waits there is given up at once, or tried at once.

use super::{begin_if_idle, release, settle_head};
use crate::draft::Draft;
use crate::input::{LaneCommand, Reply};
use holon_domain::delivery::{DeliveryRoute, DeliveryStatus, LaneState, OutboxLane};

/// Performs a command about the lane of a route.
pub(crate) fn handle_command(
    draft: &mut Draft<'_>,
    route: &DeliveryRoute,
    command: &LaneCommand,
) -> Reply {
    match command {
        LaneCommand::End { reason } => end_lane(draft, route, reason),
        LaneCommand::RetryNow => retry_now(draft, route),
    }
}

/// Gives up every delivery of a lane that has not ended. A running attempt is broken off.
pub(crate) fn end_lane(draft: &mut Draft<'_>, route: &DeliveryRoute, reason: &str) -> Reply {
    let lane = draft.agent.outbox.lane(route);
    let pending = lane.map_or(0, OutboxLane::pending);
    if pending == 0 {
        return Reply::Unchanged;
    }
    release(draft, route);
    for _ in 0..pending {
        let (status, error) = (DeliveryStatus::FailedToSubmit, Some(reason.to_owned()));
        settle_head(draft, route, status, error, None);
    }
    if let Some(lane) = draft.agent.outbox.lane_mut(route) {
        lane.failures = 0;
        lane.failing_since = None;
    }
    Reply::Done
}

/// Ends the pause of a lane. The next pause is as long as if this one had run to its end.
fn retry_now(draft: &mut Draft<'_>, route: &DeliveryRoute) -> Reply {
    let lane = draft.agent.outbox.lane(route);
    let is_paused = |lane: &OutboxLane| matches!(lane.state, LaneState::Paused { .. });
    if !lane.is_some_and(is_paused) {
        return Reply::Unchanged;
    }
    release(draft, route);
    begin_if_idle(draft, route);
    Reply::Done
}
