//! Rests and pauses: setting them, ending them, and handling their due entries.
//!
//! Every pause is an entry of the host's due queue, named by the state that waits for it. An entry that no state waits
//! for is cleared without consequence.

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::Reply;
use crate::subsystem::SLEEP_WAIT;
use holon_domain::agent::{AgentRecord, Lifecycle, RestRecord, RestWake};
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{Event, SystemTickEmitted};
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority, ResumeReason,
};
use holon_domain::timer::{DueAction, DueId};
use holon_domain::{Timestamp, limits};

/// Begins a rest that the agent asked for.
pub(crate) fn begin_rest(
    draft: &mut Draft<'_>,
    reason: Option<String>,
    duration_ms: Option<u64>,
    authority: AuthorityClass,
) {
    let wake = duration_ms.map(|duration| {
        let at = draft.now.plus_millis(duration);
        let due = draft.set_due(
            at,
            DueAction::RestOver {
                reason: reason.clone(),
            },
        );
        RestWake { at, due: Some(due) }
    });
    draft.agent.rest = Some(RestRecord {
        since: draft.now,
        reason,
        wake,
        authority,
    });
}

/// Ends the rest, because a message is taken up.
pub(crate) fn end_rest(draft: &mut Draft<'_>) {
    if let Some(due) = draft
        .agent
        .rest
        .take()
        .and_then(|rest| rest.wake)
        .and_then(|wake| wake.due)
    {
        draft.clear_due(due);
    }
    if let Some(due) = draft.agent.pace.take().and_then(|pace| pace.due) {
        draft.clear_due(due);
    }
}

/// Returns true if the next self-caused turn has to wait, and sets the pause that ends the wait.
///
/// The pause counts from the end of the last turn. Once its entry has come due (`due` is `None`) the turn may begin.
pub(crate) fn must_pace(draft: &mut Draft<'_>) -> bool {
    if draft.agent.pace.is_some_and(|pace| pace.due.is_none()) {
        return false;
    }
    let pause = pace_ms(draft.agent.self_caused_turns);
    let since = draft
        .agent
        .last_turn
        .as_ref()
        .map_or(draft.now, |end| end.completed_at);
    // Counted from the end of the last turn, but at most one pause from now, in case the clock was set back.
    let at = since.min(draft.now).plus_millis(pause);
    if pause == 0 || at <= draft.now {
        return false;
    }
    let due = draft.set_due(at, DueAction::PaceOver);
    draft.agent.pace = Some(RestWake { at, due: Some(due) });
    true
}

/// Returns the pause before a self-caused turn after this many in a row.
#[must_use]
pub(crate) fn pace_ms(turns_in_a_row: u32) -> u64 {
    let Some(beyond) = turns_in_a_row.checked_sub(limits::UNPACED_TURNS) else {
        return 0;
    };
    let factor = 1_u64.checked_shl(beyond).unwrap_or(u64::MAX);
    limits::PACE_BASE_MS
        .saturating_mul(factor)
        .min(limits::PACE_MAX_MS)
}

/// Handles the end of a rest: a tick wakes the agent.
pub(crate) fn handle_rest_end(
    draft: &mut Draft<'_>,
    id: DueId,
    planned_at: Timestamp,
    reason: Option<&str>,
) -> Reply {
    let Some(rest) = draft.agent.rest.as_mut() else {
        return Reply::Unchanged;
    };
    // The tick repeats text of the turn that went to rest, so it has no more authority than that turn.
    let authority = rest.authority.weaker(AuthorityClass::RuntimeInstruction);
    let Some(wake) = rest.wake.as_mut() else {
        return Reply::Unchanged;
    };
    if wake.due != Some(id) || draft.agent.lifecycle != Lifecycle::Runnable {
        return Reply::Unchanged;
    }
    wake.due = None;
    let priority = self_caused_priority(&draft.agent, Priority::Next);
    let tick = Ingress {
        kind: MessageKind::SystemTick,
        origin: Origin::System {
            subsystem: SLEEP_WAIT.to_owned(),
        },
        priority,
        body: Body::text(wake_words(reason, planned_at, draft.now)),
        images: Vec::new(),
        metadata: None,
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: None,
        max_rounds: None,
        at_most: None,
    };
    let provenance = Provenance::self_caused(authority).with_resumes(Some(ResumeReason::Rest));
    let entry = admission::enqueue(draft, tick, provenance);
    draft.event(Event::SystemTickEmitted(SystemTickEmitted {
        subsystem: SLEEP_WAIT.to_owned(),
        message_id: entry.envelope.id,
        planned_at,
        work_item_id: None,
    }));
    Reply::Done
}

fn wake_words(reason: Option<&str>, planned_at: Timestamp, now: Timestamp) -> String {
    let over =
        format!("The rest you asked for is over: planned for {planned_at}, now it is {now}.");
    match reason {
        Some(reason) => format!("{over} You rested because: {reason}"),
        None => over,
    }
}

/// Handles the end of the pause before a self-caused turn.
pub(crate) fn handle_pace_end(draft: &mut Draft<'_>, id: DueId) -> Reply {
    match draft.agent.pace.as_mut() {
        Some(pace) if pace.due == Some(id) => {
            pace.due = None;
            Reply::Done
        }
        Some(_) | None => Reply::Unchanged,
    }
}

/// Chooses the priority of a self-caused message: one whose turn will be paced goes behind all others.
///
/// Turns in a row and queued self-caused messages together stay within the unpaced number outside of the background
/// band. A paced head is therefore always a background message.
pub(crate) fn self_caused_priority(agent: &AgentRecord, wanted: Priority) -> Priority {
    let turns = u64::from(agent.self_caused_turns);
    let ahead = agent.self_caused_queued.saturating_add(turns);
    if ahead >= u64::from(limits::UNPACED_TURNS) {
        Priority::Background
    } else {
        wanted
    }
}
