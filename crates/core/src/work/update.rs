//! Updates of work items: fields, checklist and blocker, with the recheck of the blocker.

use super::{open_item, touch, write};
use crate::draft::Draft;
use holon_domain::WorkItemId;
use holon_domain::authority::AuthorityClass;
use holon_domain::intent::{BlockerChange, WorkItemChange};
use holon_domain::timer::DueAction;
use holon_domain::tool::ToolError;
use holon_domain::work_item::{Recheck, TodoState, WorkItemRecord};

/// The outcome of an update.
pub(crate) struct UpdateOutcome {
    pub(crate) item: WorkItemRecord,
    /// Warnings for the agent.
    pub(crate) warnings: Vec<String>,
    /// True if a field changed. Repeating the same value is no progress.
    pub(crate) changed: bool,
}

/// Changes fields of an item with the authority of the turn or the operator that requests it.
pub(crate) fn update(
    draft: &mut Draft<'_>,
    id: &WorkItemId,
    change: &WorkItemChange,
    authority: AuthorityClass,
) -> Result<UpdateOutcome, ToolError> {
    let mut item = open_item(draft, id)?;
    let before = item.clone();
    if let Some(objective) = change
        .objective
        .as_ref()
        .filter(|new| **new != item.objective)
    {
        item.objective.clone_from(objective);
        // A tick repeats the objective, so it has no more authority than the turn that worded it.
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
    Ok(UpdateOutcome {
        item,
        warnings,
        changed,
    })
}

/// Returns true if an update changed the work. Renewing only the blocker does not count.
fn differs(item: &WorkItemRecord, before: &WorkItemRecord) -> bool {
    let renewed = WorkItemRecord {
        recheck: before.recheck.clone(),
        ..item.clone()
    };
    renewed != *before
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

pub(super) fn clear_recheck(draft: &mut Draft<'_>, item: &mut WorkItemRecord) {
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

pub(super) fn todo_warnings(item: &WorkItemRecord) -> Vec<String> {
    match item.todo_count(TodoState::InProgress) {
        0 | 1 => Vec::new(),
        count => vec![format!(
            "{count} entries of the checklist are in progress; one at a time is easier to follow"
        )],
    }
}
