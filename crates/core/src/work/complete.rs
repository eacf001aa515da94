//! Completion of work items: ends the wait, the blocker and the focus of an item, and warns about unfinished entries.

use super::update::clear_recheck;
use super::{open_item, touch, write};
use crate::draft::Draft;
use crate::wait;
use holon_domain::WorkItemId;
use holon_domain::event::{Event, WorkItemCompletionWarning, WorkItemFocusReleased};
use holon_domain::tool::ToolError;
use holon_domain::turn::{Completion, OpenTurn};
use holon_domain::wait::WaitStatus;
use holon_domain::work_item::{TodoState, WorkItemRecord, WorkItemState};

/// Completes an item in a turn. Returns the item and its warnings.
pub(crate) fn complete(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    id: &WorkItemId,
) -> Result<(WorkItemRecord, Vec<String>), ToolError> {
    let (item, warnings, focused) = complete_item(draft, id)?;
    if item.provenance.is_by_operator() {
        // An operator asked for the item, so the turns before this one had a cause outside of the agent. Each item is
        // completed once, so this gives no more turns without a pause than operators created items for.
        draft.agent.self_caused_turns = draft.agent.self_caused_turns.min(1);
    }
    let bound = turn.work_item_id.as_ref() == Some(&item.id);
    let focused = focused || bound;
    if focused || turn.work_item_id.is_none() {
        turn.evidence.completed_item = Some(item.id.clone());
    }
    turn.completions.push(Completion {
        work_item_id: item.id.clone(),
        focused,
    });
    Ok((item, warnings))
}

/// Completes an item. Returns the item, its warnings, and true if it had the focus.
pub(super) fn complete_item(
    draft: &mut Draft<'_>,
    id: &WorkItemId,
) -> Result<(WorkItemRecord, Vec<String>, bool), ToolError> {
    let mut item = open_item(draft, id)?;
    wait::end_item_wait(
        draft,
        &mut item,
        WaitStatus::Cancelled,
        "its item was completed",
    );
    clear_recheck(draft, &mut item);
    item.blocked_by = None;
    item.ended_wait = None;
    item.state = WorkItemState::Completed;
    touch(draft, &mut item);
    let warnings = unfinished(&item);
    write(draft, item.clone(), "completed", warnings.clone());
    for message in &warnings {
        draft.event(Event::WorkItemCompletionWarning(
            WorkItemCompletionWarning {
                work_item_id: item.id.clone(),
                kind: "unfinished_todos".to_owned(),
                message: message.clone(),
            },
        ));
    }
    let current = draft.agent.work.current.as_ref();
    let focused = current.is_some_and(|current| current.id == item.id);
    if focused {
        draft.agent.work.current = None;
        if draft.agent.supervision.is_some() {
            draft.agent.work.released = Some(item.id.clone());
        }
        draft.event(Event::WorkItemFocusReleased(WorkItemFocusReleased {
            work_item_id: item.id.clone(),
            reason: "completed".to_owned(),
        }));
    }
    Ok((item, warnings, focused))
}

fn unfinished(item: &WorkItemRecord) -> Vec<String> {
    let pending = item.todo_count(TodoState::Pending);
    let in_progress = item.todo_count(TodoState::InProgress);
    if pending + in_progress == 0 {
        return Vec::new();
    }
    vec![format!(
        "completed with {pending} pending and {in_progress} started entries in its checklist"
    )]
}
