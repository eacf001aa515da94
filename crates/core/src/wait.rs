//! Waits: declared by the agent at the end of a turn (`declare`), ended by the events they name.
//!
//! | ends by | status | then |
//! |---|---|---|
//! | a task's end, an event or a hint that it names, an operator's answer (`by_message`) | resolved | its item may run again, unless it is blocked |
//! | its due time | expired | a tick tells the agent |
//! | `CancelWait`, an operator, a newer wait of the same item, completion of the item | cancelled | its item may run again |
//! | the revocation of the only trigger that could end it (`revoked`) | cancelled | its item may run again |
//!
//! Each item has at most one active wait, and so has the agent itself. The event that ends a wait also begins a turn: by
//! its own message, by the next tick of the item, or by a tick that reports the end.

mod by_message;
mod declare;
mod revoked;

pub(crate) use by_message::{
    WaitChanges, end_by_head, end_by_hint, end_by_message, handle_turn_end, handle_word, join,
    notes_of_ended, resumes,
};
pub(crate) use declare::declare;
pub(crate) use revoked::handle_trigger_revoked;

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::Reply;
use crate::planted::{Fault, is_planted};
use crate::rest::self_caused_priority;
use crate::subsystem::WAIT_OVER;
use crate::tick::tick_authority;
use crate::work;
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{Event, SystemTickEmitted, WaitingIntentCancelled, WaitingIntentEnded};
use holon_domain::message::{MessageKind, Priority};
use holon_domain::timer::DueId;
use holon_domain::wait::{WaitEffect, WaitKind, WaitNote, WaitRecord, WaitStatus, WakeEvent};
use holon_domain::work_item::{WorkItemRecord, WorkItemSchedulingState};
use holon_domain::{TaskId, Timestamp, WaitId, WorkItemId, limits, text};
use serde_json::json;

/// Ends every wait that names this event. Returns the waits that ended.
pub(crate) fn wake_matching(
    draft: &mut Draft<'_>,
    wake: WakeEvent<'_>,
    by: &str,
) -> Vec<WaitRecord> {
    if draft.agent.work.active_waits == 0 {
        return Vec::new();
    }
    let waits = draft.active_waits().into_iter();
    let matching: Vec<WaitRecord> = waits.filter(|wait| is_ended_by(wait, wake)).collect();
    let task = match wake {
        WakeEvent::TaskEnded(id) => Some(id),
        WakeEvent::Outside { .. } => None,
    };
    let end = |mut wait: WaitRecord| {
        wait.trigger_count += 1;
        wait.last_triggered_at = Some(draft.now);
        end_by(
            draft,
            wait,
            WaitEnd {
                status: WaitStatus::Resolved,
                by,
                task,
            },
        )
    };
    matching.into_iter().map(end).collect()
}

/// Returns true if the event ends the wait.
fn is_ended_by(wait: &WaitRecord, wake: WakeEvent<'_>) -> bool {
    match wake {
        WakeEvent::TaskEnded(_) if is_planted(Fault::TaskEndsNoWait) => false,
        WakeEvent::Outside { .. } if is_planted(Fault::OtherSourceEndsWait) => {
            wait.kind == WaitKind::External
        }
        wake => wait.is_ended_by(wake),
    }
}

/// Wakes the agent for waits that ended without a message. The next tick takes up an item that may run now; one tick
/// reports the ends of the other waits, which are those of the agent itself and of items that are still blocked.
pub(crate) fn report_ended(draft: &mut Draft<'_>, ended: &[WaitRecord], happened: &str) {
    let has_tick = |draft: &Draft<'_>, wait: &WaitRecord| {
        let item = wait
            .work_item_id
            .as_ref()
            .and_then(|id| draft.work_item(id));
        let may_run = |item: WorkItemRecord| {
            draft.scheduling_state(&item) == WorkItemSchedulingState::Runnable
        };
        !draft.agent.is_one_run() && item.is_some_and(may_run)
    };
    let (told, untold): (Vec<_>, Vec<_>) = ended.iter().partition(|wait| has_tick(draft, wait));
    for wait in told {
        leave_note(draft, wait);
    }
    let untold: Vec<WaitRecord> = untold.into_iter().cloned().collect();
    if let Some(wait) = untold.first()
        && draft.agent.lifecycle != Lifecycle::Deleting
    {
        let tick = WaitTick {
            subsystem: WAIT_OVER,
            words: format!("{happened} {}", waited_for(&untold)),
            planned_at: draft.now,
            notes: notes_of_ended(&untold),
            authority: weakest_authority(&untold),
        };
        send_tick(draft, wait, tick);
    }
}

/// Returns the authority of a text that repeats the reasons of waits.
fn weakest_authority(waits: &[WaitRecord]) -> AuthorityClass {
    let classes = waits.iter().map(|wait| wait.authority);
    classes
        .reduce(AuthorityClass::weaker)
        .unwrap_or(AuthorityClass::weakest())
}

/// Names what waits were for: the reason of a single one, the shortened reasons of several.
fn waited_for(waits: &[WaitRecord]) -> String {
    if let [wait] = waits {
        return format!("You waited for: {}", wait.waiting_for);
    }
    let shown = waits.iter().take(limits::WAIT_NOTES).map(|wait| {
        let reason = text::preview(&wait.waiting_for, limits::WAIT_NOTE_BYTES);
        let item = wait.work_item_id.as_ref();
        let whose = item.map_or_else(String::new, |item| format!(" ({item})"));
        format!("{reason}{whose}")
    });
    let shown: Vec<String> = shown.collect();
    let more = match waits.len() - shown.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("You waited for: {}{more}", shown.join("; "))
}

/// Leaves word of an ended wait for the next tick of its item.
fn leave_note(draft: &mut Draft<'_>, wait: &WaitRecord) {
    let id = wait.work_item_id.as_ref();
    if let Some(mut item) = id.and_then(|id| draft.work_item(id)) {
        item.ended_wait = Some(WaitNote::of(wait, WaitEffect::Ended));
        draft.put_work_item(item);
    }
}

/// Moves word of an ended wait from its item to the turn of a message that names the item. No tick tells it again.
pub(crate) fn tell_ended(draft: &mut Draft<'_>, item: Option<&WorkItemId>, told: &mut WaitChanges) {
    let Some(mut item) = item.and_then(|id| draft.work_item(id)) else {
        return;
    };
    if let Some(note) = item.ended_wait.take() {
        draft.put_work_item(item);
        told.add(note);
    }
}

/// Ends a wait by its id, for the agent or an operator. Returns `None` if no such wait is active.
pub(crate) fn cancel(draft: &mut Draft<'_>, id: &WaitId, by: &str) -> Option<WaitRecord> {
    let wait = draft
        .active_waits()
        .into_iter()
        .find(|wait| wait.id == *id)?;
    Some(end(draft, wait, WaitStatus::Cancelled, by))
}

/// Ends every wait, for an agent that nothing starts any more.
pub(crate) fn cancel_all(draft: &mut Draft<'_>, by: &str) {
    for wait in draft.active_waits() {
        end(draft, wait, WaitStatus::Cancelled, by);
    }
}

/// Handles the due time of a wait: it expires, and a tick tells the agent.
pub(crate) fn handle_due(
    draft: &mut Draft<'_>,
    due: DueId,
    id: &WaitId,
    planned_at: Timestamp,
) -> Reply {
    let waits = draft.active_waits();
    let Some(mut wait) = waits.into_iter().find(|wait| wait.id == *id) else {
        return Reply::Unchanged;
    };
    if wait.due != Some(due) {
        return Reply::Unchanged;
    }
    draft.clear_due(due);
    wait.due = None;
    if draft.agent.lifecycle != Lifecycle::Runnable {
        draft.agent.work.deferred += 1;
        draft.put_wait(wait);
        return Reply::Done;
    }
    expire(draft, wait, planned_at);
    Reply::Done
}

/// Expires the waits whose time came while the agent was stopped. Returns how many there were.
pub(crate) fn catch_up(draft: &mut Draft<'_>) -> u32 {
    let is_deferred = |wait: &WaitRecord| wait.due.is_none() && wait.due_at.is_some();
    let deferred = draft.active_waits().into_iter().filter(is_deferred);
    let deferred: Vec<WaitRecord> = deferred.collect();
    let count = u32::try_from(deferred.len()).unwrap_or(u32::MAX);
    for wait in deferred {
        let planned_at = wait.due_at.unwrap_or(draft.now);
        expire(draft, wait, planned_at);
    }
    count
}

fn expire(draft: &mut Draft<'_>, mut wait: WaitRecord, planned_at: Timestamp) {
    wait.trigger_count += 1;
    wait.last_triggered_at = Some(draft.now);
    let words = format!(
        "The time you waited for has come: planned for {planned_at}, now it is {}. You waited for: {}",
        draft.now, wait.waiting_for
    );
    let wait = end(draft, wait, WaitStatus::Expired, "its time came");
    if !is_planted(Fault::ExpiryUntold) {
        tick(draft, &wait, words, planned_at);
    }
}

/// Tells the agent that a wait has ended.
fn tick(draft: &mut Draft<'_>, wait: &WaitRecord, words: String, planned_at: Timestamp) {
    let ended = notes_of_ended(std::slice::from_ref(wait));
    let tick = WaitTick {
        subsystem: WAIT_OVER,
        words,
        planned_at,
        notes: ended,
        authority: wait.authority,
    };
    send_tick(draft, wait, tick);
}

/// A tick that tells the agent about one of its waits.
struct WaitTick {
    subsystem: &'static str,
    words: String,
    planned_at: Timestamp,
    notes: Vec<WaitNote>,
    /// Authority of the turns that declared the waits whose text it repeats.
    authority: AuthorityClass,
}

/// Queues a tick that names a wait. It has no more authority than the text that it repeats.
fn send_tick(draft: &mut Draft<'_>, wait: &WaitRecord, tick: WaitTick) {
    let authority = tick_authority(tick.authority, Fault::WaitTickAuthority);
    let metadata = match &wait.work_item_id {
        Some(id) => json!({ "work_item_id": id, "waiting_intent_id": wait.id }),
        None => json!({ "waiting_intent_id": wait.id }),
    };
    let ingress = Ingress {
        priority: self_caused_priority(&draft.agent, Priority::Next),
        metadata: Some(metadata),
        ..Ingress::runtime(MessageKind::SystemTick, tick.subsystem, tick.words)
    };
    let provenance = Provenance::self_caused(authority).with_waits(tick.notes);
    let entry = admission::enqueue(draft, ingress, provenance);
    draft.event(Event::SystemTickEmitted(SystemTickEmitted {
        subsystem: tick.subsystem.to_owned(),
        message_id: entry.envelope.id,
        planned_at: tick.planned_at,
        work_item_id: wait.work_item_id.clone(),
    }));
}

/// Ends the wait of an item that the caller is about to write.
pub(crate) fn end_item_wait(
    draft: &mut Draft<'_>,
    item: &mut WorkItemRecord,
    status: WaitStatus,
    by: &str,
) {
    let Some(waiting) = item.wait.take() else {
        return;
    };
    let waits = draft.active_waits();
    if let Some(wait) = waits.into_iter().find(|wait| wait.id == waiting.wait_id) {
        close(draft, wait, WaitEnd::new(status, by));
    }
}

/// Ends the wait of the agent itself.
fn end_agent_wait(draft: &mut Draft<'_>, status: WaitStatus, by: &str) {
    let Some(waiting) = draft.agent.work.agent_wait.clone() else {
        return;
    };
    let waits = draft.active_waits();
    if let Some(wait) = waits.into_iter().find(|wait| wait.id == waiting.wait_id) {
        end(draft, wait, status, by);
    }
}

/// The end of a wait.
#[derive(Clone, Copy)]
struct WaitEnd<'a> {
    status: WaitStatus,
    /// Description of the event that ended the wait, for its row and its event.
    by: &'a str,
    /// Task whose end resolved the wait, if a task did.
    task: Option<&'a TaskId>,
}

impl<'a> WaitEnd<'a> {
    const fn new(status: WaitStatus, by: &'a str) -> Self {
        Self {
            status,
            by,
            task: None,
        }
    }
}

/// Ends a wait and lets its item run again.
fn end(draft: &mut Draft<'_>, wait: WaitRecord, status: WaitStatus, by: &str) -> WaitRecord {
    end_by(draft, wait, WaitEnd::new(status, by))
}

fn end_by(draft: &mut Draft<'_>, wait: WaitRecord, end: WaitEnd<'_>) -> WaitRecord {
    let wait = close(draft, wait, end);
    let item = wait
        .work_item_id
        .as_ref()
        .and_then(|id| draft.work_item(id));
    let waits_here = |item: &WorkItemRecord| {
        let waiting = item.wait.as_ref();
        waiting.is_some_and(|waiting| waiting.wait_id == wait.id)
    };
    if let Some(mut item) = item.filter(waits_here) {
        item.wait = None;
        work::touch(draft, &mut item);
        work::write(draft, item, "wait_ended", Vec::new());
    }
    wait
}

/// Writes the end of a wait.
fn close(draft: &mut Draft<'_>, mut wait: WaitRecord, end: WaitEnd<'_>) -> WaitRecord {
    let WaitEnd { status, by, task } = end;
    if let Some(due) = wait.due.take() {
        draft.clear_due(due);
    }
    let ended_by = text::preview(by, limits::EVENT_PREVIEW_BYTES);
    wait.status = status;
    wait.ended_by = Some(ended_by.clone());
    wait.updated_at = draft.now;
    draft.event(Event::WaitingIntentEnded(WaitingIntentEnded {
        wait_id: wait.id.clone(),
        work_item_id: wait.work_item_id.clone(),
        status,
        ended_by,
        task_id: task.cloned(),
    }));
    if status == WaitStatus::Cancelled {
        draft.event(Event::WaitingIntentCancelled(WaitingIntentCancelled {
            wait_id: wait.id.clone(),
            work_item_id: wait.work_item_id.clone(),
            reason: text::preview(by, limits::EVENT_PREVIEW_BYTES),
        }));
    }
    draft.put_wait(wait.clone());
    let work = &mut draft.agent.work;
    work.active_waits = work.active_waits.saturating_sub(1);
    work.agent_wait.take_if(|known| known.wait_id == wait.id);
    wait
}
