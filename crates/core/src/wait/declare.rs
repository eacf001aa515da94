//! Declares a wait: checks its sources, sets its due time and replaces an older wait.

use super::{end_agent_wait, end_item_wait, handle_word};
use crate::draft::Draft;
use crate::planted::{Fault, is_planted};
use crate::{trigger, work};
use holon_domain::agent::AgentWait;
use holon_domain::event::{
    Event, ExternalWaitWithoutRecovery, MissingCurrentWorkItemBeforeWait, WaitingIntentCreated,
};
use holon_domain::intent::{NewWait, WakeCondition};
use holon_domain::timer::{DueAction, DueId};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::trigger::TriggerRecord;
use holon_domain::turn::OpenTurn;
use holon_domain::wait::{WaitRecord, WaitStatus, WakeSource};
use holon_domain::work_item::{ItemWait, WorkItemRecord};
use holon_domain::{Timestamp, TriggerId, WaitId, limits, text};
use serde_json::json;

/// Declares a wait. An older wait of the same item, or of the agent itself, is cancelled.
pub(crate) fn declare(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    new: &NewWait,
) -> Result<WaitRecord, ToolError> {
    let current = draft.agent.work.current.as_ref();
    let item_id = new
        .work_item_id
        .clone()
        .or_else(|| current.map(|current| current.id.clone()));
    let item = match &item_id {
        Some(id) => Some(work::open_item(draft, id)?),
        None => None,
    };
    check(draft, new, item.as_ref())?;
    handle_word(draft, turn, item_id.as_ref());
    let item = item_id.as_ref().and_then(|id| draft.work_item(id));
    let item = replace_older(draft, item);
    let wait = record(draft, turn, new, item_id);
    draft.event(Event::WaitingIntentCreated(WaitingIntentCreated {
        wait_id: wait.id.clone(),
        work_item_id: wait.work_item_id.clone(),
        kind: wait.kind,
        waiting_for: text::preview(&wait.waiting_for, limits::EVENT_PREVIEW_BYTES),
        due_at: wait.due_at,
    }));
    record_risks(draft, &wait);
    draft.put_wait(wait.clone());
    draft.agent.work.active_waits += 1;
    match item {
        Some(mut item) => {
            // Word of an older wait would be taken for word of this one.
            item.ended_wait = None;
            item.wait = Some(ItemWait {
                wait_id: wait.id.clone(),
                kind: wait.kind,
            });
            work::touch(draft, &mut item);
            work::write(draft, item, "wait_began", Vec::new());
        }
        None => {
            draft.agent.work.agent_wait = Some(AgentWait {
                wait_id: wait.id.clone(),
                kind: wait.kind,
                waiting_for: text::preview(&wait.waiting_for, limits::EVENT_PREVIEW_BYTES),
                due_at: wait.due_at,
                asks_operator: asks_operator(&wait),
            });
        }
    }
    Ok(wait)
}

/// Returns true if a wait asks an operator a question. One of the agent itself then holds back the ticks for open work.
fn asks_operator(wait: &WaitRecord) -> bool {
    wait.question.is_some() && wait.is_for_operator() && !is_planted(Fault::QuestionPassedOver)
}

/// Records what an operator should know about a wait: it keeps no item from being offered, or may never end by itself.
fn record_risks(draft: &mut Draft<'_>, wait: &WaitRecord) {
    let open_work_items = draft.agent.work.items.open();
    let holds_work = wait.work_item_id.is_some() || asks_operator(wait);
    if !holds_work && open_work_items > 0 {
        draft.event(Event::MissingCurrentWorkItemBeforeWait(
            MissingCurrentWorkItemBeforeWait {
                wait_id: wait.id.clone(),
                open_work_items,
            },
        ));
    }
    let is_external = |source: &WakeSource| matches!(source, WakeSource::ExternalIngress { .. });
    if wait.due_at.is_none() && wait.wake_sources.iter().all(is_external) {
        draft.event(Event::ExternalWaitWithoutRecovery(
            ExternalWaitWithoutRecovery {
                wait_id: wait.id.clone(),
                work_item_id: wait.work_item_id.clone(),
                source: wait.source.clone(),
            },
        ));
    }
}

/// Refuses a wait that could never end, or for which there is no room. Called before any change.
fn check(draft: &Draft<'_>, new: &NewWait, item: Option<&WorkItemRecord>) -> Result<(), ToolError> {
    if new.wake_on.is_empty() && new.recheck_after_ms.is_none() {
        return Err(ToolError::new(
            ToolErrorKind::InvalidToolInput,
            "the wait names nothing that could end it",
        )
        .hint("name a task, an outside source, the operator or a time in `wake_on`"));
    }
    for on in &new.wake_on {
        check_source(draft, on)?;
    }
    let replaces = match item {
        Some(item) => item.wait.is_some(),
        None => draft.agent.work.agent_wait.is_some(),
    };
    if draft.agent.work.active_waits >= limits::ACTIVE_WAITS && !replaces {
        return Err(no_room());
    }
    Ok(())
}

/// Refuses a task that has ended or is unknown, and a time that has passed.
fn check_source(draft: &Draft<'_>, on: &WakeCondition) -> Result<(), ToolError> {
    match on {
        WakeCondition::Task { task_id } => {
            let runs = draft
                .task(task_id)
                .is_some_and(|task| !task.status.is_terminal());
            if runs {
                return Ok(());
            }
            let id = text::preview(task_id.as_str(), limits::EVENT_PREVIEW_BYTES);
            Err(ToolError::new(
                ToolErrorKind::UnknownTask,
                format!("no task {id:?} of this agent runs, so its end cannot be waited for"),
            )
            .details(json!({ "task_id": id }))
            .hint("TaskList shows the tasks that run; TaskStatus tells how one ended"))
        }
        WakeCondition::Time { at } if *at <= draft.now => Err(ToolError::new(
            ToolErrorKind::InvalidToolInput,
            format!("the time {at} has passed; it is {} now", draft.now),
        )
        .hint("name a later time, or go on without a wait")),
        WakeCondition::Time { .. }
        | WakeCondition::After { .. }
        | WakeCondition::External { .. }
        | WakeCondition::Operator => Ok(()),
        WakeCondition::Trigger {
            external_trigger_id,
        } => check_trigger(draft, external_trigger_id),
    }
}

/// Refuses a trigger that is unknown or revoked: no delivery to it would ever arrive.
fn check_trigger(draft: &Draft<'_>, id: &TriggerId) -> Result<(), ToolError> {
    let triggers = draft.triggers();
    let known = triggers.iter().find(|trigger| trigger.id == *id);
    if known.is_some_and(TriggerRecord::is_active) {
        return Ok(());
    }
    let is_withdrawn =
        |revoked: &TriggerRecord| trigger::is_withdrawn(draft, revoked.delivery_mode);
    let hint = match known.is_some_and(is_withdrawn) {
        true => {
            "it was revoked, and no new one of its mode can be made until your operator allows it; wait for the \
             operator or for a time"
        }
        false => "CreateExternalTrigger returns the active one of a mode with its id",
    };
    let id = text::preview(id.as_str(), limits::EVENT_PREVIEW_BYTES);
    Err(ToolError::new(
        ToolErrorKind::InvalidToolInput,
        format!("this agent has no active external trigger {id:?}"),
    )
    .details(json!({ "external_trigger_id": id }))
    .hint(hint))
}

fn no_room() -> ToolError {
    let max = limits::ACTIVE_WAITS;
    ToolError::new(
        ToolErrorKind::LimitReached,
        format!("not declared: {max} waits of this agent are active"),
    )
    .hint("end some of them with CancelWait, or by completing their items")
}

fn replace_older(draft: &mut Draft<'_>, item: Option<WorkItemRecord>) -> Option<WorkItemRecord> {
    let by = "a newer wait replaced it";
    match item {
        Some(mut item) => {
            end_item_wait(draft, &mut item, WaitStatus::Cancelled, by);
            Some(item)
        }
        None => {
            end_agent_wait(draft, WaitStatus::Cancelled, by);
            None
        }
    }
}

/// Builds the row of a wait and sets its due entry.
fn record(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    new: &NewWait,
    work_item_id: Option<holon_domain::WorkItemId>,
) -> WaitRecord {
    let wake_sources: Vec<WakeSource> = new.wake_on.iter().map(|on| source(draft, on)).collect();
    let due_at = due_at(draft, new, &wake_sources);
    let id = WaitId::mint(draft.entropy);
    let due = due_at.map(|at| set_due(draft, &id, new, at));
    WaitRecord {
        id,
        agent_id: draft.agent.identity.agent_id.clone(),
        work_item_id,
        kind: WakeSource::kind_of(&wake_sources),
        status: WaitStatus::Active,
        waiting_for: new.reason.clone(),
        source: outside_source(&wake_sources),
        external_trigger_id: trigger_of(&wake_sources),
        question: new.question.clone(),
        wake_sources,
        external_ref: new.external_ref.clone(),
        due_at,
        due,
        order: draft.agent.order.clone(),
        authority: turn.authority,
        trigger_count: 0,
        last_triggered_at: None,
        ended_by: None,
        created_at: draft.now,
        updated_at: draft.now,
    }
}

/// Sets the due entry of a wait. A time that the agent named is a slot on the wall clock; a delay is a pause.
fn set_due(draft: &mut Draft<'_>, id: &WaitId, new: &NewWait, at: Timestamp) -> DueId {
    let due = DueAction::WaitOver {
        wait_id: id.clone(),
    };
    let on_the_wall =
        |on: &WakeCondition| matches!(on, WakeCondition::Time { at: named } if *named == at);
    if new.wake_on.iter().any(on_the_wall) {
        draft.set_slot(at, due)
    } else {
        draft.set_due(at, due)
    }
}

fn source(draft: &Draft<'_>, on: &WakeCondition) -> WakeSource {
    match on {
        WakeCondition::Task { task_id } => WakeSource::TaskResult {
            task_id: task_id.clone(),
        },
        WakeCondition::External { source } => WakeSource::ExternalIngress {
            source: source.clone(),
            external_trigger_id: None,
        },
        WakeCondition::Trigger {
            external_trigger_id,
        } => WakeSource::ExternalIngress {
            source: None,
            external_trigger_id: Some(external_trigger_id.clone()),
        },
        WakeCondition::Operator => WakeSource::OperatorInput,
        WakeCondition::Time { at } => WakeSource::Timer { wake_at: *at },
        WakeCondition::After { delay_ms } => WakeSource::Timer {
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

pub(super) fn outside_source(sources: &[WakeSource]) -> Option<String> {
    sources.iter().find_map(|source| match source {
        WakeSource::ExternalIngress { source, .. } => source.clone(),
        WakeSource::TaskResult { .. }
        | WakeSource::Timer { .. }
        | WakeSource::OperatorInput
        | WakeSource::SystemTick => None,
    })
}

/// Returns the external trigger that a wait names first.
pub(super) fn trigger_of(sources: &[WakeSource]) -> Option<TriggerId> {
    sources.iter().find_map(|source| match source {
        WakeSource::ExternalIngress {
            external_trigger_id,
            ..
        } => external_trigger_id.clone(),
        WakeSource::TaskResult { .. }
        | WakeSource::Timer { .. }
        | WakeSource::OperatorInput
        | WakeSource::SystemTick => None,
    })
}
