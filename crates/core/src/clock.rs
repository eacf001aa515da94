//! Replans the due queue of an agent after the wall clock was set back, so that no pause takes longer than it was set
//! for, and nothing waits for a slot that is further away than the next one from now.
//!
//! Pauses are durations. A slot is a time on the wall clock; one that was named by its time stays where it is. The host
//! notices a step up to a minute after it, so slots count from the earliest moment of the step and not from now: one that
//! came meanwhile fires at once.

use crate::draft::Draft;
use crate::input::{Reply, RunningPause, SlotAhead};
use crate::invariant::awaited_due;
use crate::planted::{Fault, is_planted};
use crate::timer;
use holon_domain::Timestamp;
use holon_domain::agent::{AgentRecord, HomeState, RemovalRetry, RestWake};
use holon_domain::delivery::LaneState;
use holon_domain::timer::{DueAction, DueId, Pause};
use holon_domain::turn::Phase;
use holon_domain::usage::next_midnight;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::Recheck;
use holon_domain::{WaitId, WorkItemId};

/// A step of the wall clock, as the host noticed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepBack {
    pub(crate) by_ms: u64,
    /// Earliest time of the clock after the step at which the step may have been made.
    pub(crate) since: Timestamp,
}

/// Replans the entries that some state still waits for. An entry that came meanwhile, or was already replanned, has
/// another number and is skipped, so the input is idempotent.
pub(crate) fn handle_set_back(
    draft: &mut Draft<'_>,
    step: StepBack,
    pauses: &[RunningPause],
    slots: &[SlotAhead],
) -> Reply {
    let mut reply = Reply::Unchanged;
    let by_ms = step.by_ms;
    for running in pauses {
        let Some(pause) = running.pause.shift_after_step_back(by_ms, draft.now) else {
            continue;
        };
        let moved = match &running.due {
            DueAction::Recheck { work_item_id } => {
                move_recheck(draft, running, pause, work_item_id)
            }
            DueAction::WaitOver { wait_id } => move_wait(draft, running, pause, wait_id),
            DueAction::RestOver { .. }
            | DueAction::ProviderPauseOver { .. }
            | DueAction::PaceOver
            | DueAction::RemovalRetry
            | DueAction::WorkTick
            | DueAction::HintTick
            | DueAction::CatchUp
            | DueAction::DeliveryRetry { .. } => move_own(draft, running, pause),
            DueAction::TimerFire { timer_id, .. } => {
                timer::move_length(draft, running.id, timer_id, pause)
            }
        };
        if moved {
            reply = Reply::Done;
        }
    }
    for slot in slots {
        let moved = match &slot.due {
            DueAction::TimerFire { timer_id, .. } => {
                timer::plan_anew(draft, slot.id, timer_id, step)
            }
            DueAction::ProviderPauseOver { .. } => move_day_end(draft, slot, step.since),
            DueAction::RestOver { .. }
            | DueAction::PaceOver
            | DueAction::RemovalRetry
            | DueAction::WorkTick
            | DueAction::HintTick
            | DueAction::Recheck { .. }
            | DueAction::WaitOver { .. }
            | DueAction::DeliveryRetry { .. }
            | DueAction::CatchUp => false,
        };
        if moved {
            reply = Reply::Done;
        }
    }
    reply
}

/// Replans the end of the day that a turn waits for because its budget is used up.
fn move_day_end(draft: &mut Draft<'_>, slot: &SlotAhead, since: Timestamp) -> bool {
    let at = next_midnight(since.min(draft.now), &draft.host.zone);
    if at >= slot.at || !awaited_due(&draft.agent).contains(&slot.id) {
        return false;
    }
    draft.clear_due(slot.id);
    let id = draft.set_slot(at, slot.due.clone());
    replace_due(&mut draft.agent, slot.id, id, at);
    true
}

/// Replans a pause that the agent's row waits for. Returns true if the row still waits for it.
fn move_own(draft: &mut Draft<'_>, running: &RunningPause, pause: Pause) -> bool {
    if !awaited_due(&draft.agent).contains(&running.id) {
        return false;
    }
    let id = replan(draft, running, pause);
    replace_due(&mut draft.agent, running.id, id, pause.ends_at());
    true
}

fn replan(draft: &mut Draft<'_>, running: &RunningPause, pause: Pause) -> DueId {
    draft.clear_due(running.id);
    draft.set_pause(pause, running.due.clone())
}

fn move_recheck(
    draft: &mut Draft<'_>,
    running: &RunningPause,
    pause: Pause,
    id: &WorkItemId,
) -> bool {
    let Some(mut item) = draft.work_item(id) else {
        return false;
    };
    let waits = |recheck: &&mut Recheck| recheck.due == Some(running.id);
    let Some(recheck) = item.recheck.as_mut().filter(waits) else {
        return false;
    };
    recheck.due = Some(replan(draft, running, pause));
    recheck.at = pause.ends_at();
    draft.put_work_item(item);
    true
}

fn move_wait(draft: &mut Draft<'_>, running: &RunningPause, pause: Pause, id: &WaitId) -> bool {
    let waits = draft.active_waits();
    let waits_for = |wait: &WaitRecord| {
        wait.id == *id && wait.due == Some(running.id) && !is_planted(Fault::WaitPauseStretched)
    };
    let Some(mut wait) = waits.into_iter().find(waits_for) else {
        return false;
    };
    wait.due = Some(replan(draft, running, pause));
    wait.due_at = Some(pause.ends_at());
    let own = draft.agent.work.agent_wait.as_mut();
    if let Some(own) = own.filter(|own| own.wait_id == wait.id) {
        own.due_at = wait.due_at;
    }
    draft.put_wait(wait);
    true
}

/// Replaces the due entry that a state of the agent waits for.
fn replace_due(agent: &mut AgentRecord, old: DueId, id: DueId, at: Timestamp) {
    let rest = agent.rest.as_mut().and_then(|rest| rest.wake.as_mut());
    let of_work = agent.work.tick_pause.iter_mut();
    let of_work = of_work.chain(agent.work.hint_pause.iter_mut());
    for wake in rest.into_iter().chain(agent.pace.as_mut()).chain(of_work) {
        if wake.due == Some(old) {
            *wake = RestWake { at, due: Some(id) };
        }
    }
    if agent.work.catch_up == Some(old) {
        agent.work.catch_up = Some(id);
    }
    if let HomeState::NotRemoved { retry, .. } = &mut agent.home
        && let Some(retry) = retry.as_mut().filter(|retry| retry.due == old)
    {
        *retry = RemovalRetry { at, due: id };
    }
    for lane in &mut agent.outbox.lanes {
        if let LaneState::Paused { due, until } = &mut lane.state
            && *due == old
        {
            (*due, *until) = (id, at);
        }
    }
    let Some(turn) = agent.open_turn.as_mut() else {
        return;
    };
    match &mut turn.phase {
        Phase::BackingOff { due, until, .. } => {
            if *due == old {
                (*due, *until) = (id, at);
            }
        }
        Phase::Suspended { pause, .. } => {
            if let Some(pause) = pause.as_mut().filter(|pause| pause.due == old) {
                (pause.due, pause.until) = (id, at);
            }
        }
        Phase::CallingModel { .. } | Phase::RunningTool { .. } | Phase::Sending { .. } => {}
    }
}
