//! The time that wakes an agent next, from everything that has one: pauses of its open turn, its rest, pacing, the pause
//! before more work, waits, rechecks and timers. Every such time is an entry of the due-queue; the agent's row repeats
//! those that belong to the agent itself, so that an assessment without the due-queue knows them too.

use super::{NextAction, next_without_wake};
use holon_domain::Timestamp;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::queue::QueueView;
use holon_domain::timer::DueAction;
use holon_domain::turn::{OpenTurn, Phase};

/// The next time at which an agent goes on without a message, and what happens then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedWake {
    pub(super) at: Timestamp,
    pub(super) action: DueAction,
}

/// Returns the next wake by time. `None` if the agent goes on now, may not run, or only a message makes it go on.
pub(super) fn expected_wake(agent: &AgentRecord, queue: &QueueView) -> Option<ExpectedWake> {
    match agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Stopped => return None,
        Lifecycle::Deleting => {
            let retry = agent.home.removal_retry()?;
            let action = DueAction::RemovalRetry;
            return Some(ExpectedWake {
                at: retry.at,
                action,
            });
        }
        Lifecycle::Runnable => {}
    }
    if let Some(turn) = &agent.open_turn {
        let action = DueAction::ProviderPauseOver {
            turn_index: turn.turn_index,
        };
        return paused_until(turn).map(|at| ExpectedWake { at, action });
    }
    let is_paced = match next_without_wake(agent, queue) {
        Some(NextAction::Pace { .. }) => true,
        None => false,
        Some(_) => return None,
    };
    let listed = queue.soonest.loaded().into_iter().flatten();
    let listed = listed.map(|due| ExpectedWake {
        at: due.at,
        action: due.action.clone(),
    });
    // Without a queued message, the end of the pause between own turns has no consequence.
    // A retry of a delivery does not touch the agent's work.
    let wakes = |wake: &ExpectedWake| match wake.action {
        DueAction::PaceOver => queue.pending > 0,
        DueAction::DeliveryRetry { .. } => false,
        // The tick of the agent's own timer may have to wait for the same pause, or be passed over because the last one
        // waits.
        DueAction::TimerFire { by_operator, .. } => by_operator || !is_paced,
        // A question of the agent holds back the tick that would follow.
        DueAction::WorkTick => !agent.work.asks_operator(),
        DueAction::RestOver { .. }
        | DueAction::ProviderPauseOver { .. }
        | DueAction::RemovalRetry
        | DueAction::HintTick
        | DueAction::Recheck { .. }
        | DueAction::WaitOver { .. }
        | DueAction::CatchUp => true,
    };
    own_wakes(agent)
        .chain(listed)
        .filter(wakes)
        .min_by_key(|wake| wake.at)
}

/// Lists the times that the agent's row names.
fn own_wakes(agent: &AgentRecord) -> impl Iterator<Item = ExpectedWake> {
    let rest = agent.rest.as_ref().and_then(|rest| {
        let reason = rest.reason.clone();
        Some((rest.wake?.at, DueAction::RestOver { reason }))
    });
    let is_set = |wake: &holon_domain::agent::RestWake| wake.due.is_some();
    let pace = agent.pace.filter(is_set);
    let pace = pace.map(|pace| (pace.at, DueAction::PaceOver));
    let pause = agent.work.tick_pause.filter(is_set);
    let pause = pause.map(|pause| (pause.at, DueAction::WorkTick));
    let hints = agent.work.hint_pause.filter(is_set);
    let hints = hints.map(|pause| (pause.at, DueAction::HintTick));
    let wait = agent.work.agent_wait.as_ref().and_then(|wait| {
        let wait_id = wait.wait_id.clone();
        Some((wait.due_at?, DueAction::WaitOver { wait_id }))
    });
    [rest, pace, pause, hints, wait]
        .into_iter()
        .flatten()
        .map(|(at, action)| ExpectedWake { at, action })
}

fn paused_until(turn: &OpenTurn) -> Option<Timestamp> {
    match &turn.phase {
        Phase::BackingOff { until, .. } => Some(*until),
        Phase::Suspended { pause, .. } => pause.map(|pause| pause.until),
        Phase::CallingModel { .. } | Phase::RunningTool { .. } | Phase::Sending { .. } => None,
    }
}

/// Describes what happens when an entry of the due-queue comes.
pub(crate) fn describe(due: &DueAction) -> String {
    match due {
        DueAction::RestOver { .. } => "the rest it asked for ends".to_owned(),
        DueAction::ProviderPauseOver { turn_index } => {
            format!("turn {turn_index} asks its model again")
        }
        DueAction::PaceOver => "the pause between turns it causes itself ends".to_owned(),
        DueAction::RemovalRetry => "the removal of its home is tried again".to_owned(),
        DueAction::WorkTick => "the pause before it goes on with its work ends".to_owned(),
        DueAction::HintTick => "it is told what woke it since the last time".to_owned(),
        DueAction::Recheck { work_item_id } => {
            format!("it is reminded of the blocker of {work_item_id}")
        }
        DueAction::WaitOver { wait_id } => format!("the time of the wait {wait_id} comes"),
        DueAction::TimerFire { timer_id, .. } => format!("the timer {timer_id} fires"),
        DueAction::DeliveryRetry { route } => {
            format!("a delivery to {} is tried again", route.key())
        }
        DueAction::CatchUp => "it makes up for what came while it was stopped".to_owned(),
    }
}
