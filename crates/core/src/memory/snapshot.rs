//! Derives the working memory from the current work item, the place of work, the waits and the evidence of a turn.
//!
//! What belongs to the item comes from its row. Files and decisions are carried on from the snapshot before; they are
//! dropped when the work moves to another item, and files also when it moves to another place, where their paths mean
//! other files.

use super::one_line;
use holon_domain::limits::{
    MEMORY_DECISIONS, MEMORY_ENTRY_BYTES, MEMORY_FILES, MEMORY_FOLLOWUPS, MEMORY_PLAN_LINES,
    MEMORY_TODOS, MEMORY_WAITS,
};
use holon_domain::memory::{TurnEvidence, WorkingMemory};
use holon_domain::text;
use holon_domain::work_item::{PlanStatus, TodoItem, TodoState, WorkItemRecord, WorkItemState};
use holon_domain::workspace::{WorkspaceEntry, WorktreeSession};

/// Records from which a snapshot is derived.
pub(crate) struct SnapshotInput<'a> {
    pub(crate) before: &'a WorkingMemory,
    /// Item that has the focus.
    pub(crate) item: Option<&'a WorkItemRecord>,
    pub(crate) workspace: &'a WorkspaceEntry,
    pub(crate) worktree: Option<&'a WorktreeSession>,
    pub(crate) evidence: &'a TurnEvidence,
    /// Beginning of what the agent said. Absent for a turn without work.
    pub(crate) decision: Option<&'a str>,
    /// What is waited for, the most relevant first.
    pub(crate) waiting_on: &'a [String],
}

pub(crate) fn derive(input: &SnapshotInput<'_>) -> WorkingMemory {
    let before = input.before;
    let scope_hints = scope_hints(input.workspace, input.worktree);
    let is_other_work = match (&before.current_work_item_id, input.item) {
        (Some(before), Some(item)) => *before != item.id,
        (Some(_) | None, _) => false,
    };
    let is_same_place = before.scope_hints == scope_hints || before.scope_hints.is_empty();
    let old_files: &[String] = match is_other_work || !is_same_place {
        true => &[],
        false => &before.working_set_files,
    };
    let old_decisions: &[String] = match is_other_work {
        true => &[],
        false => &before.recent_decisions,
    };
    let decision = input.decision.map(str::to_owned);
    let item = input.item;
    let mut waiting_on = input.waiting_on.to_vec();
    waiting_on.truncate(MEMORY_WAITS);
    WorkingMemory {
        current_work_item_id: item.map(|item| item.id.clone()),
        objective: item.and_then(|item| one_line(&item.objective)),
        work_summary: item.map(work_summary),
        plan: item.and_then(plan_lines),
        todo_list: item.map(todo_list).unwrap_or_default(),
        working_set_files: join(&input.evidence.touched_files, old_files, MEMORY_FILES),
        recent_decisions: join(decision.as_slice(), old_decisions, MEMORY_DECISIONS),
        pending_followups: item.map(followups).unwrap_or_default(),
        waiting_on,
        scope_hints,
    }
}

/// Puts new entries before old ones, each once.
fn join(new: &[String], old: &[String], most: usize) -> Vec<String> {
    let old = old.iter().filter(|old| !new.contains(old));
    new.iter().chain(old).take(most).cloned().collect()
}

/// Names the place of work. An agent in its own home has none to name.
fn scope_hints(workspace: &WorkspaceEntry, worktree: Option<&WorktreeSession>) -> Vec<String> {
    if workspace.is_agent_home() {
        return Vec::new();
    }
    let place = format!("workspace {}", workspace.workspace_anchor);
    let branch = worktree
        .filter(|worktree| worktree.worktree_path == workspace.execution_root)
        .map(|worktree| format!("worktree on branch {}", worktree.worktree_branch));
    let hints = std::iter::once(place).chain(branch);
    hints.filter_map(|hint| one_line(&hint)).collect()
}

/// Says in one line how far an item is.
pub(super) fn work_summary(item: &WorkItemRecord) -> String {
    let plan = match (item.state, item.plan_status) {
        (WorkItemState::Completed, _) => "completed",
        (WorkItemState::Open, PlanStatus::Draft) => "plan in draft",
        (WorkItemState::Open, PlanStatus::Ready) => "plan ready",
        (WorkItemState::Open, PlanStatus::NeedsInput) => "plan needs input",
    };
    let done = item.todo_list.iter();
    let done = done.filter(|todo| todo.state == TodoState::Completed);
    let done = done.count();
    match item.todo_list.len() {
        0 => plan.to_owned(),
        all => format!("{plan}, {done} of {all} entries done"),
    }
}

fn plan_lines(item: &WorkItemRecord) -> Option<String> {
    let preview = &item.plan.as_ref()?.preview;
    let lines = preview.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<String> = lines
        .take(MEMORY_PLAN_LINES)
        .map(|line| text::preview(line.trim_end(), MEMORY_ENTRY_BYTES))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn todo_list(item: &WorkItemRecord) -> Vec<TodoItem> {
    let todos = item.todo_list.iter().take(MEMORY_TODOS);
    todos
        .map(|todo| TodoItem {
            text: one_line(&todo.text).unwrap_or_default(),
            state: todo.state,
        })
        .collect()
}

/// Lists the entries of the checklist that are not done, in their order. A completed item leaves nothing to do.
pub(super) fn followups(item: &WorkItemRecord) -> Vec<String> {
    if item.state == WorkItemState::Completed {
        return Vec::new();
    }
    let open = item.todo_list.iter();
    let open = open.filter(|todo| todo.state != TodoState::Completed);
    open.filter_map(|todo| one_line(&todo.text))
        .take(MEMORY_FOLLOWUPS)
        .collect()
}
