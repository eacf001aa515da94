//! A wall clock that was set back: running pauses are planned anew, so that none gets longer than it was set for.
//!
//! Only pauses are lengths. A slot is a time on the wall and stays where it is.

use crate::draft::Draft;
use crate::input::{Reply, RunningPause};
use crate::invariant::awaited_due;
use holon_domain::Timestamp;
use holon_domain::agent::{AgentRecord, HomeState, RemovalRetry, RestWake};
use holon_domain::timer::{DueAction, DueId, Pause};
use holon_domain::turn::Phase;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::Recheck;
use holon_domain::{WaitId, WorkItemId};

/// Plans the pauses anew that a state still waits for. One that ended meanwhile, or was planned anew already, has
/// another number and is left alone, so the same input may come twice.
pub(crate) fn set_back(draft: &mut Draft<'_>, by_ms: u64, pauses: &[RunningPause]) -> Reply {
    let mut reply = Reply::Unchanged;
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
            | DueAction::BackoffOver { .. }
            | DueAction::PaceOver
            | DueAction::RemovalRetry
            | DueAction::WorkTick
            | DueAction::Unpark
            | DueAction::TimerFire { .. } => move_own(draft, running, pause),
        };
        if moved {
            reply = Reply::Done;
        }
    }
    reply
}

/// Plans a pause anew that the agent's row waits for. Whether it still does.
fn move_own(draft: &mut Draft<'_>, running: &RunningPause, pause: Pause) -> bool {
    if !awaited_due(&draft.agent).contains(&running.id) {
        return false;
    }
    let id = set_anew(draft, running, pause);
    wait_for(&mut draft.agent, running.id, (id, pause.ends_at()));
    true
}

fn set_anew(draft: &mut Draft<'_>, running: &RunningPause, pause: Pause) -> DueId {
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
    recheck.due = Some(set_anew(draft, running, pause));
    recheck.at = pause.ends_at();
    draft.put_work_item(item);
    true
}

fn move_wait(draft: &mut Draft<'_>, running: &RunningPause, pause: Pause, id: &WaitId) -> bool {
    let waits = draft.active_waits();
    let waits_for = |wait: &WaitRecord| wait.id == *id && wait.due == Some(running.id);
    let Some(mut wait) = waits.into_iter().find(waits_for) else {
        return false;
    };
    wait.due = Some(set_anew(draft, running, pause));
    wait.due_at = Some(pause.ends_at());
    let own = draft.agent.work.agent_wait.as_mut();
    if let Some(own) = own.filter(|own| own.wait_id == wait.id) {
        own.due_at = wait.due_at;
    }
    draft.put_wait(wait);
    true
}

/// Lets the state that waited for one entry wait for another.
fn wait_for(agent: &mut AgentRecord, old: DueId, (id, at): (DueId, Timestamp)) {
    let rest = agent.rest.as_mut().and_then(|rest| rest.wake.as_mut());
    let of_work = agent.work.tick_pause.as_mut();
    for wake in rest.into_iter().chain(agent.pace.as_mut()).chain(of_work) {
        if wake.due == Some(old) {
            *wake = RestWake { at, due: Some(id) };
        }
    }
    if let HomeState::NotRemoved { retry, .. } = &mut agent.home
        && let Some(retry) = retry.as_mut().filter(|retry| retry.due == old)
    {
        *retry = RemovalRetry { at, due: id };
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
