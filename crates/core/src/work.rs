//! Work items: create, pick, update and complete. The counts in the agent's row follow each transition.
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
pub(crate) mod check;
mod command;
mod complete;
mod progress;
mod report;
mod update;

pub(crate) use answer::refuse;
pub(crate) use command::{catch_up, command, handle_agent_start};
pub(crate) use complete::complete;
pub(crate) use progress::{consume_recheck, handle_answered_request, handle_turn_end};
pub(crate) use report::{MISSING_REPORT, adopt_report, adopt_report_early, is_reported};
pub(crate) use update::update;

use crate::draft::Draft;
use crate::planted::{Fault, is_planted};
use holon_domain::agent::CurrentItem;
use holon_domain::event::{Event, WorkItemPicked, WorkItemWritten};
use holon_domain::intent::NewWorkItem;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::work_item::{
    IdleTurns, PlanArtifact, Readiness, WorkItemProvenance, WorkItemRecord,
    WorkItemSchedulingState, WorkItemState,
};
use holon_domain::{WorkItemId, limits, text};
use update::todo_warnings;

/// Stores an item, records its event and updates the agent's row.
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

/// Stores an item and updates the counts, the focus and the pointer to queued work in the agent's row.
pub(crate) fn store(draft: &mut Draft<'_>, item: WorkItemRecord) {
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

/// Returns the scheduling state of an item before this change; `None` for a new item.
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

/// Makes stalled work runnable again, after an operator's message, a wake, a task's end or a new model. Idle turns
/// counted so far are void, and the pause before the next tick ends.
pub(crate) fn wake(draft: &mut Draft<'_>) {
    let work = &mut draft.agent.work;
    if work.items.open() == 0 {
        return;
    }
    work.wake_count += 1;
    // A reminder that the agent did not look at is sent once more.
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

/// Creates an item. Its plan file, if it has one, is already written.
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
        ended_wait: None,
        idle_turns: no_idle_turns(draft),
        result_summary: None,
        delivery_summary_id: None,
        delivery: None,
        order: draft
            .agent
            .order
            .clone()
            .filter(|_| !provenance.is_by_operator()),
        provenance,
        revision: 1,
        created_at: draft.now,
        updated_at: draft.now,
    };
    end_tick_pause(draft);
    write(draft, item.clone(), "created", todo_warnings(&item));
    item
}

/// Checks that one more open item may be created.
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

/// Returns an open item of this agent, or the refusal of its id.
pub(crate) fn open_item(draft: &Draft<'_>, id: &WorkItemId) -> Result<WorkItemRecord, ToolError> {
    let Some(item) = draft.work_item(id) else {
        return Err(answer::unknown(id));
    };
    match item.state {
        WorkItemState::Open => Ok(item),
        WorkItemState::Completed => Err(answer::completed(id)),
    }
}

/// The outcome of a pick.
pub(crate) struct PickOutcome {
    pub(crate) previous: Option<WorkItemRecord>,
    pub(crate) current: WorkItemRecord,
    /// True if the agent left a runnable item and gave no reason.
    pub(crate) reason_missing: bool,
}

/// Moves the agent's focus to an item.
pub(crate) fn pick(
    draft: &mut Draft<'_>,
    id: &WorkItemId,
    reason: Option<&str>,
) -> Result<PickOutcome, ToolError> {
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
    Ok(PickOutcome {
        previous,
        current: item,
        reason_missing,
    })
}

pub(crate) fn move_focus(draft: &mut Draft<'_>, item: &WorkItemRecord) {
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

/// Returns a zero count of idle turns as of the current wake.
fn no_idle_turns(draft: &Draft<'_>) -> IdleTurns {
    IdleTurns {
        count: 0,
        wake_count: draft.agent.work.wake_count,
    }
}

/// Counts a change of an item by its agent or an operator. Earlier idle turns are void.
pub(crate) fn touch(draft: &mut Draft<'_>, item: &mut WorkItemRecord) {
    if !is_planted(Fault::IdleNotReset) {
        item.idle_turns = no_idle_turns(draft);
    }
    item.revision += 1;
    item.updated_at = draft.now;
    end_tick_pause(draft);
}
