//! Work items: made, picked, changed, completed; the counts in the agent's row follow each transition.
//!
//! | call | allowed for | changes |
//! |---|---|---|
//! | create | room for one more open item | a row; the focus stays |
//! | pick | an open item of this agent | the focus |
//! | update | an open item of this agent | objective, plan status, checklist, blocker |
//! | complete | an open item of this agent | the state; clears blocker, recheck, wait and the focus |
//!
//! Only the agent moves the focus and sets a blocker. `write` is the one place that stores an item.

mod answer;
mod check;
mod command;
mod progress;
mod report;

pub(crate) use answer::refused;
pub(crate) use command::{agent_started, command, unpark};
pub(crate) use progress::{request_answered, turn_ended};
pub(crate) use report::{MISSING_REPORT, promote};

use crate::draft::Draft;
use crate::wait;
use holon_domain::agent::CurrentItem;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{
    Event, WorkItemCompletionWarning, WorkItemFocusReleased, WorkItemPicked, WorkItemWritten,
};
use holon_domain::intent::{BlockerChange, NewWorkItem, WorkItemChange};
use holon_domain::timer::DueAction;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::turn::{Completion, OpenTurn};
use holon_domain::wait::WaitStatus;
use holon_domain::work_item::{
    IdleTurns, PlanArtifact, Readiness, Recheck, TodoState, WorkItemProvenance, WorkItemRecord,
    WorkItemSchedulingState, WorkItemState,
};
use holon_domain::{WorkItemId, limits, text};

/// Stores an item, tells of it, and keeps the agent's row in step with it.
pub(crate) fn write(
    draft: &mut Draft<'_>,
    item: WorkItemRecord,
    action: &str,
    warnings: Vec<String>,
) {
    let after = draft.scheduling_state(&item);
    draft.event(Event::WorkItemWritten(WorkItemWritten {
        action: action.to_owned(),
        work_item_id: item.id.clone(),
        revision: item.revision,
        objective: text::preview(&item.objective, limits::EVENT_PREVIEW_BYTES),
        state: item.state,
        scheduling_state: after,
        plan_status: item.plan_status,
        blocked_by: item
            .blocked_by
            .as_deref()
            .map(|words| text::preview(words, limits::EVENT_PREVIEW_BYTES)),
        warnings,
    }));
    store(draft, item);
}

/// Stores an item and keeps the counts, the focus and the pointer to queued work in step with it.
fn store(draft: &mut Draft<'_>, item: WorkItemRecord) {
    let before = known_state(draft, &item.id);
    let after = draft.scheduling_state(&item);
    count(draft, before, after);
    let work = &mut draft.agent.work;
    let is_current = match &mut work.current {
        Some(current) if current.id == item.id => {
            current.state = after;
            current.idle_turns = item.idle_count(work.wake_count);
            true
        }
        Some(_) | None => false,
    };
    if after == WorkItemSchedulingState::Runnable && !is_current {
        work.queued.get_or_insert_with(|| item.id.clone());
    } else {
        work.queued.take_if(|queued| *queued == item.id);
    }
    draft.put_work_item(item);
}

/// The state of an item before this decision changes it. None for one that is new.
fn known_state(draft: &Draft<'_>, id: &WorkItemId) -> Option<WorkItemSchedulingState> {
    let item = draft.work_item(id)?;
    Some(draft.scheduling_state(&item))
}

fn count(
    draft: &mut Draft<'_>,
    before: Option<WorkItemSchedulingState>,
    after: WorkItemSchedulingState,
) {
    let counts = &mut draft.agent.work.items;
    if let Some(count) = before.and_then(|before| counts.of(before)) {
        *count = count.saturating_sub(1);
    }
    if let Some(count) = counts.of(after) {
        *count += 1;
    }
}

/// Something happened that gives stalled work another chance: an operator's message, a wake, a task's end, a new model.
/// Idle turns counted so far are void, and the pause before the next tick is over.
pub(crate) fn wake(draft: &mut Draft<'_>) {
    let work = &mut draft.agent.work;
    if work.items.open() == 0 {
        return;
    }
    work.wake_count += 1;
    // What the agent was reminded of and did not look at is told once more.
    work.rechecks_told = false;
    work.items.runnable += std::mem::take(&mut work.items.stalled);
    if let Some(current) = &mut work.current {
        current.idle_turns = 0;
        if current.state == WorkItemSchedulingState::Stalled {
            current.state = WorkItemSchedulingState::Runnable;
        }
    }
    end_tick_pause(draft);
}

/// Ends the pause before the next tick, because the work has changed.
pub(crate) fn end_tick_pause(draft: &mut Draft<'_>) {
    let pause = draft.agent.work.tick_pause.take();
    if let Some(due) = pause.and_then(|pause| pause.due) {
        draft.clear_due(due);
    }
}

/// Makes an item, whose plan file is written already where it has one.
pub(crate) fn create(
    draft: &mut Draft<'_>,
    id: WorkItemId,
    new: &NewWorkItem,
    plan: Option<PlanArtifact>,
    provenance: WorkItemProvenance,
) -> WorkItemRecord {
    draft.note_new_item(&id);
    let item = WorkItemRecord {
        id,
        agent_id: draft.agent.identity.agent_id.clone(),
        workspace_id: draft.agent.workspace.workspace_id.clone(),
        objective: new.objective.clone(),
        state: WorkItemState::Open,
        plan_status: new.plan_status,
        plan,
        todo_list: new.todo_list.clone(),
        blocked_by: None,
        recheck: None,
        wait: None,
        idle_turns: no_idle_turns(draft),
        result_summary: None,
        provenance,
        revision: 1,
        created_at: draft.now,
        updated_at: draft.now,
    };
    end_tick_pause(draft);
    write(draft, item.clone(), "created", todo_warnings(&item));
    item
}

/// Whether one more open item may be made.
pub(crate) fn has_room(draft: &Draft<'_>) -> Result<(), ToolError> {
    if draft.agent.work.items.open() < limits::OPEN_WORK_ITEMS {
        return Ok(());
    }
    let max = limits::OPEN_WORK_ITEMS;
    Err(ToolError::new(
        ToolErrorKind::LimitReached,
        format!("not made: {max} work items of this agent are open"),
    )
    .hint("complete the items that are done: ListWorkItems shows them"))
}

/// An open item of this agent, or why there is none.
pub(crate) fn open_item(draft: &Draft<'_>, id: &WorkItemId) -> Result<WorkItemRecord, ToolError> {
    let Some(item) = draft.work_item(id) else {
        return Err(answer::unknown(id));
    };
    match item.state {
        WorkItemState::Open => Ok(item),
        WorkItemState::Completed => Err(answer::completed(id)),
    }
}

/// What a pick changed.
pub(crate) struct Picked {
    pub(crate) previous: Option<WorkItemRecord>,
    pub(crate) current: WorkItemRecord,
    /// The agent left a runnable item and gave no reason.
    pub(crate) reason_missing: bool,
}

/// Moves the focus to an item.
pub(crate) fn pick(
    draft: &mut Draft<'_>,
    id: &WorkItemId,
    reason: Option<&str>,
) -> Result<Picked, ToolError> {
    let item = open_item(draft, id)?;
    let previous_id = draft
        .agent
        .work
        .current
        .as_ref()
        .map(|current| current.id.clone());
    let previous = previous_id.and_then(|id| draft.work_item(&id));
    let state = draft.scheduling_state(&item);
    let left = previous.as_ref().filter(|previous| previous.id != item.id);
    let previous_readiness = left.map(|item| draft.scheduling_state(item).readiness());
    let reason_missing = previous_readiness == Some(Readiness::Runnable) && reason.is_none();
    move_focus(draft, &item);
    draft.event(Event::WorkItemPicked(WorkItemPicked {
        previous_work_item_id: previous.as_ref().map(|item| item.id.clone()),
        current_work_item_id: item.id.clone(),
        reason: reason.map(|reason| text::preview(reason, limits::EVENT_PREVIEW_BYTES)),
        previous_readiness,
        current_readiness: state.readiness(),
        reason_missing,
    }));
    Ok(Picked {
        previous,
        current: item,
        reason_missing,
    })
}

fn move_focus(draft: &mut Draft<'_>, item: &WorkItemRecord) {
    let state = draft.scheduling_state(item);
    let work = &mut draft.agent.work;
    let idle_turns = item.idle_count(work.wake_count);
    let id = item.id.clone();
    work.queued.take_if(|queued| *queued == id);
    work.current = Some(CurrentItem {
        id,
        state,
        idle_turns,
    });
}

/// What an update came to.
pub(crate) struct Updated {
    pub(crate) item: WorkItemRecord,
    /// What the agent should know.
    pub(crate) warnings: Vec<String>,
    /// Whether anything is other than before. Saying the same again is no progress.
    pub(crate) changed: bool,
}

/// Changes fields of an item, on the authority of the turn or the operator that asks for it.
pub(crate) fn update(
    draft: &mut Draft<'_>,
    id: &WorkItemId,
    change: &WorkItemChange,
    authority: AuthorityClass,
) -> Result<Updated, ToolError> {
    let mut item = open_item(draft, id)?;
    let before = item.clone();
    if let Some(objective) = change
        .objective
        .as_ref()
        .filter(|new| **new != item.objective)
    {
        item.objective.clone_from(objective);
        // A tick repeats the objective, so it is worth no more than the turn that worded it.
        item.provenance.authority = item.provenance.authority.weaker(authority);
    }
    if let Some(status) = change.plan_status {
        item.plan_status = status;
    }
    if let Some(todos) = &change.todo_list {
        item.todo_list.clone_from(todos);
    }
    if let Some(blocker) = &change.blocker {
        change_blocker(draft, &mut item, blocker, authority);
    }
    let warnings = todo_warnings(&item);
    let changed = differs(&item, &before);
    if item != before {
        touch(draft, &mut item);
        write(draft, item.clone(), "updated", warnings.clone());
    }
    Ok(Updated {
        item,
        warnings,
        changed,
    })
}

/// Whether an update says something new about the work. A blocker that is only renewed does not.
fn differs(item: &WorkItemRecord, before: &WorkItemRecord) -> bool {
    let renewed = WorkItemRecord {
        recheck: before.recheck.clone(),
        ..item.clone()
    };
    renewed != *before
}

/// The count of an item that has no idle turns.
fn no_idle_turns(draft: &Draft<'_>) -> IdleTurns {
    IdleTurns {
        count: 0,
        wake_count: draft.agent.work.wake_count,
    }
}

/// Counts a change of an item by its agent or an operator. Idle turns before it are void.
pub(crate) fn touch(draft: &mut Draft<'_>, item: &mut WorkItemRecord) {
    item.idle_turns = no_idle_turns(draft);
    item.revision += 1;
    item.updated_at = draft.now;
    end_tick_pause(draft);
}

fn change_blocker(
    draft: &mut Draft<'_>,
    item: &mut WorkItemRecord,
    change: &BlockerChange,
    authority: AuthorityClass,
) {
    clear_recheck(draft, item);
    match change {
        BlockerChange::Clear => item.blocked_by = None,
        BlockerChange::Set {
            text,
            recheck_after_ms,
        } => {
            item.blocked_by = Some(text.clone());
            let at = draft.now.plus_millis(*recheck_after_ms);
            let due = DueAction::Recheck {
                work_item_id: item.id.clone(),
            };
            item.recheck = Some(Recheck {
                at,
                due: Some(draft.set_due(at, due)),
                authority,
                consumed_at: None,
            });
        }
    }
}

fn clear_recheck(draft: &mut Draft<'_>, item: &mut WorkItemRecord) {
    let Some(recheck) = item.recheck.take() else {
        return;
    };
    match recheck.due {
        Some(due) => draft.clear_due(due),
        None if recheck.consumed_at.is_none() => {
            let work = &mut draft.agent.work;
            work.due_rechecks = work.due_rechecks.saturating_sub(1);
        }
        None => {}
    }
}

/// Completes an item in a turn; answers the item and the warnings about it.
pub(crate) fn complete(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    id: &WorkItemId,
) -> Result<(WorkItemRecord, Vec<String>), ToolError> {
    let (item, warnings, focused) = complete_item(draft, id)?;
    let bound = turn.work_item_id.as_ref() == Some(&item.id);
    turn.completions.push(Completion {
        work_item_id: item.id.clone(),
        focused: focused || bound,
    });
    Ok((item, warnings))
}

/// Completes an item; answers the item, the warnings about it, and whether it had the focus.
fn complete_item(
    draft: &mut Draft<'_>,
    id: &WorkItemId,
) -> Result<(WorkItemRecord, Vec<String>, bool), ToolError> {
    let mut item = open_item(draft, id)?;
    wait::end_of_item(
        draft,
        &mut item,
        WaitStatus::Cancelled,
        "its item was completed",
    );
    clear_recheck(draft, &mut item);
    item.blocked_by = None;
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

fn todo_warnings(item: &WorkItemRecord) -> Vec<String> {
    match item.todo_count(TodoState::InProgress) {
        0 | 1 => Vec::new(),
        count => vec![format!(
            "{count} entries of the checklist are in progress; one at a time is easier to follow"
        )],
    }
}
