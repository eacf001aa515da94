//! Waits: declared by the agent at the end of a turn (`declare`), ended by the events they name.
//!
//! | ends by | status | then |
//! |---|---|---|
//! | a task's end, an event, a hint or an operator's message that it names | resolved | its item may run again, unless it is blocked |
//! | its due time | expired | a tick tells the agent |
//! | `CancelWait`, an operator, a newer wait of the same item, completion of the item | cancelled | its item may run again |
//!
//! Each item has at most one active wait, and so has the agent itself. The event that ends a wait also begins a turn: by
//! its own message, by the next tick of the item, or by a tick that reports the end.

mod declare;

pub(crate) use declare::declare;

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
use holon_domain::event::{Event, SystemTickEmitted, WaitingIntentCancelled, WaitingIntentEnded};
use holon_domain::message::{Cause, MessageEnvelope, MessageKind, Origin, Priority, ResumeReason};
use holon_domain::timer::DueId;
use holon_domain::trigger::WakeHint;
use holon_domain::wait::{WaitKind, WaitRecord, WaitStatus, WakeEvent};
use holon_domain::work_item::{WorkItemRecord, WorkItemSchedulingState};
use holon_domain::{TaskId, Timestamp, TriggerId, WaitId, limits, text};
use serde_json::json;

/// Ends the waits that name a message about to be admitted. An operator's prompt also makes stalled work runnable
/// again. Returns the wait that the message resumes.
pub(crate) fn end_by_message(
    draft: &mut Draft<'_>,
    ingress: &Ingress,
    cause: Cause,
) -> Option<ResumeReason> {
    let sender = Sender::of(ingress.kind, &ingress.origin, cause)?;
    let ended = end_by_sender(draft, &sender);
    if sender == Sender::Operator && !is_planted(Fault::StallOutlivesOperator) {
        work::wake(draft);
    }
    resumes(&ended)
}

/// Ends the waits for an operator when the supervisor of a private child writes: it stands where an operator would.
pub(crate) fn end_by_supervisor(draft: &mut Draft<'_>) {
    wake_matching(draft, WakeEvent::Operator, "a message of its supervisor");
}

/// Ends the waits that name a queued message which is taken up now. A wait that was declared while the message was
/// queued has not seen it at its admission. Returns the wait that the message resumes.
pub(crate) fn end_by_head(
    draft: &mut Draft<'_>,
    message: &MessageEnvelope,
) -> Option<ResumeReason> {
    if is_planted(Fault::QueuedEventEndsNoWait) {
        return None;
    }
    let sender = Sender::of(message.kind, &message.origin, message.cause())?;
    resumes(&end_by_sender(draft, &sender))
}

fn end_by_sender(draft: &mut Draft<'_>, sender: &Sender<'_>) -> Vec<WaitRecord> {
    match sender {
        Sender::Operator => wake_matching(draft, WakeEvent::Operator, "a message of an operator"),
        Sender::Outside(source) => {
            let wake = WakeEvent::Outside {
                source: Some(source),
                external_trigger_id: None,
            };
            wake_matching(draft, wake, &format!("an event from {source}"))
        }
        Sender::Trigger { id, source } => {
            let wake = WakeEvent::Outside {
                source: *source,
                external_trigger_id: Some(id),
            };
            let by = format!("an event from {}", source.unwrap_or(id.as_str()));
            wake_matching(draft, wake, &by)
        }
    }
}

/// Ends the waits that name a wake hint.
pub(crate) fn end_by_hint(draft: &mut Draft<'_>, hint: &WakeHint) -> Vec<WaitRecord> {
    if is_planted(Fault::HintEndsNoWait) {
        return Vec::new();
    }
    let mut ended = Vec::new();
    for (source, external_trigger_id) in hint.deliveries() {
        let wake = WakeEvent::Outside {
            source,
            external_trigger_id,
        };
        let by = format!("a wake hint from {}", source.unwrap_or(&hint.key));
        ended.extend(wake_matching(draft, wake, &by));
    }
    ended
}

/// The sender of a message that may end a wait.
#[derive(Debug, PartialEq, Eq)]
enum Sender<'a> {
    Operator,
    /// Something outside of the agent, by the name that a wait gives it.
    Outside(&'a str),
    /// A holder of a capability, with the name that it gave itself.
    Trigger {
        id: TriggerId,
        source: Option<&'a str>,
    },
}

impl<'a> Sender<'a> {
    /// Returns the sender of a message; `None` for a message of the runtime or of the agent itself, which ends no wait.
    fn of(kind: MessageKind, origin: &'a Origin, cause: Cause) -> Option<Self> {
        match origin {
            Origin::Operator { .. } if kind == MessageKind::OperatorPrompt => Some(Self::Operator),
            Origin::Channel { channel_id, .. } => Some(Self::Outside(channel_id)),
            Origin::Webhook { source, .. } => Some(Self::Outside(source)),
            Origin::Callback {
                descriptor_id,
                source,
            } => Some(Self::Trigger {
                id: TriggerId::from_stored(descriptor_id.as_str()),
                source: source.as_deref(),
            }),
            // A message of another agent. The tick of a wake hint is from outside too, and its hints end the waits.
            Origin::System { subsystem }
                if cause == Cause::Outside && kind != MessageKind::SystemTick =>
            {
                Some(Self::Outside(subsystem))
            }
            Origin::Operator { .. }
            | Origin::Timer { .. }
            | Origin::System { .. }
            | Origin::Task { .. } => None,
        }
    }
}

/// Returns what a message resumes that ended these waits: the oldest one is reported.
pub(crate) fn resumes(ended: &[WaitRecord]) -> Option<ResumeReason> {
    let reason = ended.first()?.kind.reason();
    Some(ResumeReason::Wait { reason })
}

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
        WakeEvent::Outside { .. } | WakeEvent::Operator => None,
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
        WakeEvent::Operator if is_planted(Fault::OperatorEndsNoWait) => false,
        WakeEvent::Outside { .. } if is_planted(Fault::OtherSourceEndsWait) => {
            wait.kind == WaitKind::External
        }
        wake => wait.is_ended_by(wake),
    }
}

/// Wakes the agent for waits that ended without a message. The next tick takes up an item that may run now; the agent
/// itself and an item that is still blocked get a tick that reports the end.
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
    let untold = ended.iter().find(|wait| !has_tick(draft, wait));
    if let Some(wait) = untold.filter(|_| draft.agent.lifecycle != Lifecycle::Deleting) {
        let words = format!("{happened} You waited for: {}", wait.waiting_for);
        tick(draft, wait, words, draft.now);
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

/// Tells the agent that a wait has ended. The text repeats the turn that declared it, so the tick has no more authority
/// than that turn.
fn tick(draft: &mut Draft<'_>, wait: &WaitRecord, words: String, planned_at: Timestamp) {
    let authority = tick_authority(wait.authority, Fault::WaitTickAuthority);
    let metadata = match &wait.work_item_id {
        Some(id) => json!({ "work_item_id": id, "waiting_intent_id": wait.id }),
        None => json!({ "waiting_intent_id": wait.id }),
    };
    let ingress = Ingress {
        priority: self_caused_priority(&draft.agent, Priority::Next),
        metadata: Some(metadata),
        ..Ingress::runtime(MessageKind::SystemTick, WAIT_OVER, words)
    };
    let reason = wait.kind.reason();
    let provenance =
        Provenance::self_caused(authority).with_resumes(Some(ResumeReason::Wait { reason }));
    let entry = admission::enqueue(draft, ingress, provenance);
    draft.event(Event::SystemTickEmitted(SystemTickEmitted {
        subsystem: WAIT_OVER.to_owned(),
        message_id: entry.envelope.id,
        planned_at,
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
