//! Waits: declared by the agent at the end of a turn, ended by what they name.
//!
//! | ends by | status | then |
//! |---|---|---|
//! | a task's end, an event, a hint or an operator's message that it names | resolved | its item may run again, unless it is blocked |
//! | its due time | expired | a tick tells the agent |
//! | `CancelWait`, an operator, a newer wait of the same item, completion of the item | cancelled | its item may run again |
//!
//! One active wait per item, and one of the agent itself.

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::Reply;
use crate::rest::self_caused_priority;
use crate::subsystem::WAIT_OVER;
use crate::work;
use holon_domain::agent::{AgentWait, Lifecycle};
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{Event, SystemTickEmitted, WaitingIntentCreated, WaitingIntentEnded};
use holon_domain::intent::{NewWait, WakeOn};
use holon_domain::message::{MessageEnvelope, MessageKind, Origin, Priority};
use holon_domain::timer::{Due, DueId, DueTime};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::turn::OpenTurn;
use holon_domain::wait::{WaitKind, WaitRecord, WaitStatus, Wake, WakeSource};
use holon_domain::work_item::{ItemWait, WorkItemRecord};
use holon_domain::{Timestamp, WaitId, limits, text};
use serde_json::json;

/// Declares a wait. An older wait of the same item, or of the agent itself, is cancelled.
pub(crate) fn declare(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    new: &NewWait,
) -> Result<WaitRecord, ToolError> {
    let current = draft.agent.work.current.as_ref();
    let item_id = new
        .work_item_id
        .clone()
        .or_else(|| current.map(|current| current.id.clone()));
    let mut item = match &item_id {
        Some(id) => Some(work::open_item(draft, id)?),
        None => None,
    };
    check_sources(draft, new)?;
    match &mut item {
        Some(item) => end_of_item(
            draft,
            item,
            WaitStatus::Cancelled,
            "a newer wait replaced it",
        ),
        None => end_of_agent(draft, WaitStatus::Cancelled, "a newer wait replaced it"),
    }
    if draft.agent.work.active_waits >= limits::ACTIVE_WAITS {
        return Err(no_room());
    }
    let wake_sources: Vec<WakeSource> = new.wake_on.iter().map(|on| source(draft, on)).collect();
    let kind = wake_sources
        .first()
        .map_or(WaitKind::Timer, WakeSource::kind);
    let due_at = due_at(draft, new, &wake_sources);
    let id = WaitId::mint(draft.entropy);
    let due = due_at.map(|at| {
        let wait_id = id.clone();
        let due = Due::WaitOver { wait_id };
        let on_the_wall = |on: &WakeOn| matches!(on, WakeOn::Time { at: named } if *named == at);
        if new.wake_on.iter().any(on_the_wall) {
            draft.set_due_time(DueTime::Slot(at), due)
        } else {
            draft.set_due(at, due)
        }
    });
    let wait = WaitRecord {
        id,
        agent_id: draft.agent.identity.agent_id.clone(),
        work_item_id: item_id.clone(),
        kind,
        status: WaitStatus::Active,
        waiting_for: new.reason.clone(),
        source: outside_source(&wake_sources),
        wake_sources,
        external_ref: new.external_ref.clone(),
        due_at,
        due,
        authority: turn.authority,
        trigger_count: 0,
        last_triggered_at: None,
        ended_by: None,
        created_at: draft.now,
        updated_at: draft.now,
    };
    draft.agent.work.active_waits += 1;
    draft.event(Event::WaitingIntentCreated(WaitingIntentCreated {
        wait_id: wait.id.clone(),
        work_item_id: item_id,
        kind,
        waiting_for: text::preview(&wait.waiting_for, limits::EVENT_PREVIEW_BYTES),
        due_at,
    }));
    match item {
        Some(mut item) => {
            item.wait = Some(ItemWait {
                wait_id: wait.id.clone(),
                kind,
            });
            work::touch(draft, &mut item);
            work::write(draft, item, "wait_began", Vec::new());
        }
        None => {
            draft.agent.work.agent_wait = Some(AgentWait {
                wait_id: wait.id.clone(),
                kind,
                waiting_for: text::preview(&wait.waiting_for, limits::EVENT_PREVIEW_BYTES),
            });
        }
    }
    draft.put_wait(wait.clone());
    Ok(wait)
}

/// Refuses a wait that could never end: for a task that is over or unknown, or until a time that has passed.
fn check_sources(draft: &Draft<'_>, new: &NewWait) -> Result<(), ToolError> {
    for on in &new.wake_on {
        match on {
            WakeOn::Task { task_id } => {
                let over = |task: holon_domain::task::TaskRecord| task.status.is_terminal();
                if draft.task(task_id).is_none_or(over) {
                    return Err(ToolError::new(
                        ToolErrorKind::UnknownTask,
                        format!(
                            "no task {task_id} of this agent runs, so its end cannot be waited for"
                        ),
                    )
                    .details(json!({ "task_id": task_id }))
                    .hint("TaskList shows the tasks that run; TaskStatus tells how one ended"));
                }
            }
            WakeOn::Time { at } if *at <= draft.now => {
                return Err(ToolError::new(
                    ToolErrorKind::InvalidToolInput,
                    format!("the time {at} has passed; it is {} now", draft.now),
                )
                .hint("name a later time, or go on without a wait"));
            }
            WakeOn::Time { .. }
            | WakeOn::After { .. }
            | WakeOn::External { .. }
            | WakeOn::Operator => {}
        }
    }
    Ok(())
}

fn source(draft: &Draft<'_>, on: &WakeOn) -> WakeSource {
    match on {
        WakeOn::Task { task_id } => WakeSource::TaskResult {
            task_id: task_id.clone(),
        },
        WakeOn::External { source } => WakeSource::ExternalIngress {
            source: source.clone(),
            external_trigger_id: None,
        },
        WakeOn::Operator => WakeSource::OperatorInput,
        WakeOn::Time { at } => WakeSource::Timer { wake_at: *at },
        WakeOn::After { delay_ms } => WakeSource::Timer {
            wake_at: draft.now.plus_millis(*delay_ms),
        },
    }
}

fn due_at(draft: &Draft<'_>, new: &NewWait, sources: &[WakeSource]) -> Option<Timestamp> {
    let times = sources.iter().filter_map(|source| match source {
        WakeSource::Timer { wake_at } => Some(*wake_at),
        WakeSource::TaskResult { .. }
        | WakeSource::ExternalIngress { .. }
        | WakeSource::OperatorInput
        | WakeSource::SystemTick => None,
    });
    let recheck = new.recheck_after_ms.map(|ms| draft.now.plus_millis(ms));
    times.chain(recheck).min()
}

fn outside_source(sources: &[WakeSource]) -> Option<String> {
    sources.iter().find_map(|source| match source {
        WakeSource::ExternalIngress { source, .. } => source.clone(),
        WakeSource::TaskResult { .. }
        | WakeSource::Timer { .. }
        | WakeSource::OperatorInput
        | WakeSource::SystemTick => None,
    })
}

fn no_room() -> ToolError {
    let max = limits::ACTIVE_WAITS;
    ToolError::new(
        ToolErrorKind::LimitReached,
        format!("not declared: {max} waits of this agent are active"),
    )
    .hint("end some of them with CancelWait, or by completing their items")
}

/// A message was admitted: it may be what a wait names, and it gives stalled work another chance.
pub(crate) fn message_came(draft: &mut Draft<'_>, message: &MessageEnvelope) {
    let (wake, by) = match &message.origin {
        Origin::Operator { .. } => (Wake::Operator, "a message of an operator".to_owned()),
        Origin::Channel { channel_id, .. } => {
            (outside(channel_id), format!("an event from {channel_id}"))
        }
        Origin::Webhook { source, .. } => (outside(source), format!("an event from {source}")),
        Origin::Callback {
            descriptor_id,
            source,
        } => {
            let name = source.as_deref().unwrap_or(descriptor_id);
            (outside(name), format!("an event from {name}"))
        }
        Origin::Timer { .. } | Origin::System { .. } | Origin::Task { .. } => return,
    };
    wake_matching(draft, wake, &by);
    if message.owes_outcome() {
        work::wake(draft);
    }
}

const fn outside(source: &str) -> Wake<'_> {
    Wake::Outside {
        source: Some(source),
        external_trigger_id: None,
    }
}

/// Something happened: every wait that names it is over. Answers the waits that ended.
pub(crate) fn wake_matching(draft: &mut Draft<'_>, wake: Wake<'_>, by: &str) -> Vec<WaitId> {
    if draft.agent.work.active_waits == 0 {
        return Vec::new();
    }
    let waits = draft.active_waits();
    let ended = waits.into_iter().filter(|wait| wait.is_ended_by(wake));
    let mut ids = Vec::new();
    for mut wait in ended {
        wait.trigger_count += 1;
        wait.last_triggered_at = Some(draft.now);
        ids.push(wait.id.clone());
        end(draft, wait, WaitStatus::Resolved, by);
    }
    ids
}

/// Ends a wait by its id, for the agent or an operator. None when no such wait is active.
pub(crate) fn cancel(draft: &mut Draft<'_>, id: &WaitId, by: &str) -> Option<WaitRecord> {
    let wait = draft
        .active_waits()
        .into_iter()
        .find(|wait| wait.id == *id)?;
    Some(end(draft, wait, WaitStatus::Cancelled, by))
}

/// The latest time of a wait has come: it is over, and a tick tells the agent.
pub(crate) fn due_came(
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
        draft.agent.work.parked += 1;
        draft.put_wait(wait);
        return Reply::Done;
    }
    expire(draft, wait, planned_at);
    Reply::Done
}

/// The agent was started again: waits whose time came meanwhile are over. Answers how many there were.
pub(crate) fn unpark(draft: &mut Draft<'_>) -> u32 {
    let is_parked = |wait: &WaitRecord| wait.due.is_none() && wait.due_at.is_some();
    let parked = draft.active_waits().into_iter().filter(is_parked);
    let parked: Vec<WaitRecord> = parked.collect();
    let count = u32::try_from(parked.len()).unwrap_or(u32::MAX);
    for wait in parked {
        let planned_at = wait.due_at.unwrap_or(draft.now);
        expire(draft, wait, planned_at);
    }
    count
}

fn expire(draft: &mut Draft<'_>, mut wait: WaitRecord, planned_at: Timestamp) {
    wait.trigger_count += 1;
    wait.last_triggered_at = Some(draft.now);
    let authority = wait.authority.weaker(AuthorityClass::RuntimeInstruction);
    let words = format!(
        "The time you waited for has come. You waited for: {}",
        wait.waiting_for
    );
    let wait = end(draft, wait, WaitStatus::Expired, "its time came");
    let priority = self_caused_priority(&draft.agent, Priority::Next);
    let item = wait.work_item_id.as_ref();
    let metadata = item.map(|id| json!({ "work_item_id": id, "waiting_intent_id": wait.id }));
    let tick = Ingress {
        priority,
        metadata,
        ..Ingress::runtime(MessageKind::SystemTick, WAIT_OVER, words)
    };
    let entry = admission::enqueue(draft, tick, Provenance::itself(authority));
    draft.event(Event::SystemTickEmitted(SystemTickEmitted {
        subsystem: WAIT_OVER.to_owned(),
        message_id: entry.envelope.id,
        planned_at,
        work_item_id: wait.work_item_id,
    }));
}

/// Ends the wait of an item that the caller is about to write.
pub(crate) fn end_of_item(
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
        close(draft, wait, status, by);
    }
}

fn end_of_agent(draft: &mut Draft<'_>, status: WaitStatus, by: &str) {
    let Some(waiting) = draft.agent.work.agent_wait.clone() else {
        return;
    };
    let waits = draft.active_waits();
    if let Some(wait) = waits.into_iter().find(|wait| wait.id == waiting.wait_id) {
        end(draft, wait, status, by);
    }
}

/// Ends a wait and lets its item run again.
fn end(draft: &mut Draft<'_>, wait: WaitRecord, status: WaitStatus, by: &str) -> WaitRecord {
    let wait = close(draft, wait, status, by);
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
fn close(draft: &mut Draft<'_>, mut wait: WaitRecord, status: WaitStatus, by: &str) -> WaitRecord {
    if let Some(due) = wait.due.take() {
        draft.clear_due(due);
    }
    wait.status = status;
    wait.ended_by = Some(text::preview(by, limits::EVENT_PREVIEW_BYTES));
    wait.updated_at = draft.now;
    let work = &mut draft.agent.work;
    work.active_waits = work.active_waits.saturating_sub(1);
    work.agent_wait.take_if(|known| known.wait_id == wait.id);
    draft.event(Event::WaitingIntentEnded(WaitingIntentEnded {
        wait_id: wait.id.clone(),
        work_item_id: wait.work_item_id.clone(),
        status,
        ended_by: by.to_owned(),
        task_id: None,
    }));
    draft.put_wait(wait.clone());
    wait
}
