//! A wall clock that was set back: running pauses are planned anew, so that none gets longer than it was set for.
//!
//! Only pauses are lengths. A slot is a time on the wall and stays where it is.

use crate::draft::Draft;
use crate::input::{Reply, RunningPause};
use crate::invariant::awaited_due;
use holon_domain::Timestamp;
use holon_domain::agent::{AgentRecord, HomeState, RemovalRetry, RestWake};
use holon_domain::timer::DueId;
use holon_domain::turn::Phase;

/// Plans the pauses anew that a state still waits for. One that ended meanwhile, or was planned anew already, has
/// another number and is left alone, so the same input may come twice.
pub(crate) fn set_back(draft: &mut Draft<'_>, by_ms: u64, pauses: &[RunningPause]) -> Reply {
    let mut reply = Reply::Unchanged;
    for running in pauses {
        if !awaited_due(&draft.agent).contains(&running.id) {
            continue;
        }
        let Some(pause) = running.pause.after_step_back(by_ms, draft.now) else {
            continue;
        };
        draft.clear_due(running.id);
        let id = draft.set_pause(pause, running.due.clone());
        wait_for(&mut draft.agent, running.id, (id, pause.over_at()));
        reply = Reply::Done;
    }
    reply
}

/// Lets the state that waited for one entry wait for another.
fn wait_for(agent: &mut AgentRecord, old: DueId, (id, at): (DueId, Timestamp)) {
    let rest = agent.rest.as_mut().and_then(|rest| rest.wake.as_mut());
    for wake in rest.into_iter().chain(agent.pace.as_mut()) {
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
