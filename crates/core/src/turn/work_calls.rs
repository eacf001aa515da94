//! Calls about work items, waits and timers, which the kernel answers in the commit of the round.

use super::notification;
use crate::draft::Draft;
use crate::input::CurrentRound;
use crate::timer::{FirstSlot, TimerCost, TimerMaker};
use crate::{timer, wait, work};
use holon_domain::block::ToolCall;
use holon_domain::event::{Event, WorkItemCompletionWarning};
use holon_domain::intent::{Intent, NewTimer, NewWait, WorkIntent, WorkItemChange};
use holon_domain::timer::TimerSchedule;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::{CallPlace, OpenTurn};
use holon_domain::wait::{WaitRecord, WakeSource};
use holon_domain::work_item::{
    PlanArtifact, PlanStatus, TodoState, ViewContext, WorkItemProvenance, WorkItemRecord,
    WorkItemView,
};
use holon_domain::{WaitId, WorkItemId, limits, text};
use serde_json::{Value, json};

/// Number of unfinished checklist entries that a warning names.
const SAMPLE: usize = 3;

const BINDING_NOTE: &str = "later calls of this turn are about this item unless they name another";

/// Ends a wait that the agent names.
fn cancel_wait(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    wait_id: &WaitId,
) -> Result<ToolEnvelope, ToolError> {
    let ended = wait::cancel(draft, wait_id, "the agent cancelled it");
    let wait = ended.ok_or_else(|| {
        let id = text::preview(wait_id.as_str(), limits::EVENT_PREVIEW_BYTES);
        ToolError::new(
            ToolErrorKind::UnknownWait,
            format!("this agent has no active wait {id:?}"),
        )
        .hint("AgentGet shows the active waits with their ids")
    })?;
    note_wait_progress(turn, &wait);
    Ok(ToolEnvelope::success(
        &call.name,
        format!("wait {} is cancelled", wait.id),
        json!({ "wait": wait }),
    ))
}

/// Performs a call that changes work.
pub(super) fn apply_call(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    round: &CurrentRound,
    intent: &WorkIntent,
) -> ToolEnvelope {
    let done = match intent {
        WorkIntent::Pick {
            work_item_id,
            reason,
        } => pick_item(draft, turn, call, work_item_id, reason.as_deref()),
        WorkIntent::Update {
            work_item_id,
            change,
        } => {
            let plan_written = may_have_written(round, call);
            update_item(draft, turn, call, work_item_id, change, plan_written)
        }
        WorkIntent::Complete {
            work_item_id,
            attachments,
        } => notification::check_files(draft, attachments).and_then(|files| {
            let done = complete_item(draft, turn, call, round, work_item_id)?;
            notification::attach(draft, turn, &files);
            Ok(done)
        }),
        WorkIntent::CancelWait { wait_id } => cancel_wait(draft, turn, call, wait_id),
        WorkIntent::CreateTimer(new) => create_timer(draft, turn, call, new, FirstSlot::ByTime),
        WorkIntent::CreateTimerAfter {
            delay_ms,
            interval_ms,
            missed,
            summary,
        } => {
            let new = NewTimer {
                schedule: TimerSchedule::starting_at(
                    draft.now.plus_millis(*delay_ms),
                    *interval_ms,
                ),
                missed: *missed,
                summary: summary.clone(),
            };
            create_timer(draft, turn, call, &new, FirstSlot::ByLength)
        }
        WorkIntent::CancelTimer { timer_id } => {
            let unknown = || {
                let id = text::preview(timer_id.as_str(), limits::EVENT_PREVIEW_BYTES);
                ToolError::new(
                    ToolErrorKind::UnknownTimer,
                    format!("this agent has no active timer {id:?}"),
                )
                .hint("ListTimers shows the timers of this agent with their ids")
            };
            timer::cancel(draft, timer_id)
                .ok_or_else(unknown)
                .map(|timer| {
                    ToolEnvelope::success(
                        &call.name,
                        format!("timer {} is cancelled", timer.id),
                        json!({ "timer": timer }),
                    )
                })
        }
    };
    done.unwrap_or_else(|error| work::refuse(call, error))
}

fn update_item(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    id: &WorkItemId,
    change: &WorkItemChange,
    plan_written: bool,
) -> Result<ToolEnvelope, ToolError> {
    take_word(draft, turn, id)?;
    let updated = work::update(draft, id, change, turn.authority)?;
    let item = &updated.item;
    if updated.changed {
        turn.note_progress(&item.id);
    }
    let summary = format!("work item {} is at revision {}", item.id, item.revision);
    let mut result = json!({
        "work_item": item_view(draft, item),
        "warnings": updated.warnings,
        "changed": updated.changed,
    });
    if change.plan_status.is_some() && !plan_written {
        warn_of_empty_plan(&mut result, item);
    }
    Ok(ToolEnvelope::success(&call.name, summary, result))
}

/// Returns true if a call of the round before this one may have written the plan file. The runtime reads the file again
/// with the next request.
fn may_have_written(round: &CurrentRound, call: &ToolCall) -> bool {
    let earlier = round.calls().take_while(|(other, _)| other.id != call.id);
    earlier
        .filter_map(|(_, planned)| planned?.as_ref().ok())
        .any(|intent| matches!(intent, Intent::Host(_)))
}

/// Adds a warning to the result of a call that says that a plan is ready, if its file holds nothing.
fn warn_of_empty_plan(result: &mut Value, item: &WorkItemRecord) {
    let plan = item.plan.as_ref();
    let is_empty = plan.is_none_or(|plan| plan.preview_complete && plan.preview.trim().is_empty());
    if item.plan_status == PlanStatus::Ready && is_empty {
        result["plan_warning"] = json!({
            "kind": "empty_plan",
            "message": "plan_status is ready, but the plan file was empty when it was last read: write the plan into the file",
        });
    }
}

fn create_timer(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    new: &NewTimer,
    start: FirstSlot,
) -> Result<ToolEnvelope, ToolError> {
    let timer = timer::create(draft, new, turn.authority, TimerMaker::Agent, start)?;
    let first = timer
        .next_fire_at
        .map(|at| at.to_string())
        .unwrap_or_default();
    let cost = TimerCost::of(&timer, &draft.agent);
    let words = cost.map_or_else(String::new, |cost| format!(": {}", cost.words()));
    Ok(ToolEnvelope::success(
        &call.name,
        format!("timer {} fires first at {first}{words}", timer.id),
        json!({
            "timer": timer,
            "ticks_a_day": cost.map(|cost| cost.ticks_a_day),
            "tokens_a_day": cost.and_then(|cost| cost.tokens_a_day),
        }),
    ))
}

fn pick_item(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    id: &WorkItemId,
    reason: Option<&str>,
) -> Result<ToolEnvelope, ToolError> {
    take_word(draft, turn, id)?;
    let picked = work::pick(draft, id, reason)?;
    turn.bind(picked.current.id.clone());
    let warnings: Vec<&str> = picked
        .reason_missing
        .then_some("the item you left could have gone on; say why you switch in `reason`")
        .into_iter()
        .collect();
    let summary = format!("work item {} has the focus", picked.current.id);
    let result = json!({
        "previous_work_item": picked.previous.as_ref().map(|item| item_view(draft, item)),
        "current_work_item": item_view(draft, &picked.current),
        "current_work_item_id": picked.current.id,
        "transition": "picked",
        "binding_note": BINDING_NOTE,
        "warnings": warnings,
    });
    Ok(ToolEnvelope::success(&call.name, summary, result))
}

fn complete_item(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    round: &CurrentRound,
    id: &WorkItemId,
) -> Result<ToolEnvelope, ToolError> {
    work::open_item(draft, id)?;
    wait::handle_word(draft, turn, Some(id));
    let current = draft.agent.work.current.as_ref();
    let was_current = current.is_some_and(|current| current.id == *id);
    let (item, warnings) = work::complete(draft, turn, id)?;
    turn.name_item(&item.id);
    turn.note_progress(&item.id);
    let mut warnings: Vec<Value> = warnings
        .iter()
        .map(|message| unfinished_warning(&item, message))
        .collect();
    let has_text = !round.report().is_empty();
    if !has_text {
        warnings.push(json!({
            "kind": "missing_report",
            "message": work::MISSING_REPORT,
        }));
    }
    let report_delivered = has_text && work::is_reported(turn, round, &item.id);
    if draft.agent.active_tasks > 0 {
        warnings.push(active_tasks_warning(draft, &item));
    }
    let current = draft.agent.work.current.as_ref();
    let result = json!({
        "work_item": item_view(draft, &item),
        "current_work_item_id": current.map(|current| &current.id),
        "focus_released": was_current,
        "warnings": warnings,
        "completed_transition": true,
        "report_delivered": report_delivered,
    });
    let summary = completion_words(&item.id, was_current, report_delivered);
    Ok(ToolEnvelope::success(&call.name, summary, result))
}

/// Says what became of a completed item, of its report and of the focus.
fn completion_words(id: &WorkItemId, was_current: bool, report_delivered: bool) -> String {
    let report = if report_delivered {
        "; the text of this answer is delivered as its report, do not repeat it"
    } else {
        ""
    };
    let focus = if was_current {
        "; no item has the focus now, PickWorkItem gives it to another"
    } else {
        ""
    };
    format!("work item {id} is completed{report}{focus}")
}

/// Warns that tasks of the agent go on after an item was completed.
fn active_tasks_warning(draft: &mut Draft<'_>, item: &WorkItemRecord) -> Value {
    let count = draft.agent.active_tasks;
    let tasks = text::pluralize(u64::from(count), "task");
    let message =
        format!("{tasks} of this agent still active; TaskList shows them, TaskStop ends one");
    draft.event(Event::WorkItemCompletionWarning(
        WorkItemCompletionWarning {
            work_item_id: item.id.clone(),
            kind: "active_tasks".to_owned(),
            message: message.clone(),
        },
    ));
    json!({ "kind": "active_tasks", "message": message, "active_count": count })
}

/// Builds the warning about checklist entries that a completed item leaves open.
fn unfinished_warning(item: &WorkItemRecord, message: &str) -> Value {
    let open = item
        .todo_list
        .iter()
        .filter(|todo| todo.state != TodoState::Completed);
    let sample: Vec<String> = open
        .take(SAMPLE)
        .map(|todo| text::preview(&todo.text, limits::EVENT_PREVIEW_BYTES))
        .collect();
    json!({
        "kind": "unfinished_todos",
        "message": message,
        "pending_count": item.todo_count(TodoState::Pending),
        "in_progress_count": item.todo_count(TodoState::InProgress),
        "sample": sample,
    })
}

/// Notes a call about an open item: the turn is about it unless it is about another one, and the item's wait that a
/// message of the turn interrupted is over.
fn take_word(draft: &mut Draft<'_>, turn: &mut OpenTurn, id: &WorkItemId) -> Result<(), ToolError> {
    work::open_item(draft, id)?;
    turn.name_item(id);
    wait::handle_word(draft, turn, Some(id));
    Ok(())
}

/// Creates the row of a new item after its plan file was written.
pub(super) fn create_item(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    round: &CurrentRound,
    place: CallPlace,
    plan: &PlanArtifact,
) -> Option<ToolEnvelope> {
    let (call, planned) = round.calls().nth(place.call_index)?;
    let Some(Ok(Intent::CreateWorkItem(new))) = planned else {
        return None;
    };
    let id = WorkItemId::of_call(&call.id);
    let provenance = WorkItemProvenance {
        authority: turn.authority,
        turn_index: Some(turn.turn_index),
        message_id: Some(turn.asked_by().clone()),
        reply_route: turn.reply_route.clone(),
    };
    let plan = PlanArtifact {
        updated_at: draft.now,
        ..plan.clone()
    };
    let item = work::create(draft, id, new, Some(plan), provenance);
    let summary = format!(
        "work item {} is made; PickWorkItem gives it the focus",
        item.id
    );
    let mut result = json!({ "work_item": item_view(draft, &item) });
    warn_of_empty_plan(&mut result, &item);
    Some(ToolEnvelope::success(&call.name, summary, result))
}

/// Declares a wait and answers its call. The turn ends with it.
pub(super) fn declare_wait(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    new: &NewWait,
) -> Result<(ToolEnvelope, WaitRecord), ToolError> {
    let wait = wait::declare(draft, turn, new)?;
    if let Some(id) = &wait.work_item_id {
        turn.name_item(id);
    }
    note_wait_progress(turn, &wait);
    let summary = format!(
        "waiting for: {}",
        text::preview(&wait.waiting_for, limits::EVENT_PREVIEW_BYTES)
    );
    let envelope = ToolEnvelope::success(&call.name, summary, json!({ "wait": wait }));
    Ok((envelope, wait))
}

/// Notes a change of a wait as progress of its item.
fn note_wait_progress(turn: &mut OpenTurn, wait: &WaitRecord) {
    if let Some(id) = &wait.work_item_id {
        turn.note_progress(id);
    }
}

/// Returns true if an operator's message ends this wait.
pub(super) fn asks_operator(wait: &WaitRecord) -> bool {
    wait.wake_sources
        .iter()
        .any(|source| matches!(source, WakeSource::OperatorInput))
}

fn item_view(draft: &Draft<'_>, item: &WorkItemRecord) -> WorkItemView {
    item.view(ViewContext {
        agent_home: &draft.agent.agent_home,
        current: draft.agent.work.current.as_ref().map(|current| &current.id),
        wake_count: draft.agent.work.wake_count,
        include_todo_list: true,
    })
}
