//! Tasks that stand for child agents. They hold no effect: the child's own decision sends its end.

use super::{close, create, result, status_event};
use crate::draft::Draft;
use crate::input::Reply;
use crate::rejection::Rejection;
use crate::{delegation, home, wait};
use holon_domain::agent::Lifecycle;
use holon_domain::delegation::ChildTask;
use holon_domain::send::ChildEnd;
use holon_domain::task::{
    TaskKind, TaskRecord, TaskRecoverySpec, TaskStatus, WaitPolicy, WorkspaceMode,
};
use holon_domain::turn::OpenTurn;
use holon_domain::{TaskId, limits, text};

/// Begins the task of a child. Its label is the beginning of the first message.
pub(crate) fn begin_child(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    id: TaskId,
    prompt: &str,
    child: ChildTask,
) {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    let summary = text::preview(&words.join(" "), limits::CHILD_LABEL_BYTES);
    let workspace_mode = match child.worktree {
        Some(_) => WorkspaceMode::Worktree,
        None => WorkspaceMode::Inherit,
    };
    let task = TaskRecord {
        id,
        agent_id: draft.agent.identity.agent_id.clone(),
        kind: TaskKind::ChildAgentTask,
        status: TaskStatus::Running,
        created_at: draft.now,
        updated_at: draft.now,
        parent_message_id: Some(turn.message_id.clone()),
        parent_message_seq: Some(turn.message_seq),
        work_item_id: turn.work_item_id.clone(),
        summary: Some(summary.clone()),
        wait_policy: WaitPolicy::Background,
        terminal_reentry: true,
        recovery: Some(TaskRecoverySpec::ChildAgentTask {
            summary,
            // The child's queue holds the whole message.
            prompt: text::preview(prompt, limits::TASK_SUMMARY_BYTES),
            trust: turn.authority.into(),
            workspace_mode,
            child: Some(Box::new(child)),
        }),
        max_rounds: None,
        effect: None,
        stop: None,
        end: None,
        ends_unread: 0,
        operator_inputs: 0,
    };
    create(draft, task);
}

/// Returns an interrupted task to running, because its child was heard or written to again. The row of an interrupted
/// task is not counted among the active ones.
pub(crate) fn resume_child(
    draft: &mut Draft<'_>,
    mut task: TaskRecord,
    reason: &str,
) -> TaskRecord {
    if task.status != TaskStatus::Interrupted {
        return task;
    }
    task.status = TaskStatus::Running;
    task.updated_at = draft.now;
    task.end = None;
    draft.event(status_event(&task, TaskStatus::Interrupted, reason));
    draft.begin_task(task.clone());
    task
}

/// Ends the task of a child that was not made after all. The call that asked for it tells the model.
pub(crate) fn discard_child(draft: &mut Draft<'_>, task: TaskRecord, reason: &str) {
    let end = result::without_output(&task, reason, draft.now);
    drop(close(draft, task, TaskStatus::Failed, end));
}

/// Cancels the task of a child and stops the child. A later end of the child finds its task over.
pub(super) fn cancel_child(draft: &mut Draft<'_>, task: TaskRecord, reason: &str) -> TaskRecord {
    delegation::stop_child(draft, &task);
    let end = result::without_output(&task, reason, draft.now);
    let (task, ended) = close(draft, task, TaskStatus::Cancelled, end);
    wait::report_ended(draft, &ended, &format!("Task {} ended.", task.id));
    task
}

/// Ends the task of a child whose parent is being removed. No result is queued, because no agent is left to read it.
pub(super) fn end_child_with_parent(draft: &mut Draft<'_>, task: TaskRecord) {
    if draft.agent.lifecycle != Lifecycle::Deleting {
        return;
    }
    if let Some(effect) = task.effect {
        draft.close_effect(effect);
    }
    let end = result::without_output(&task, "removed with its parent", draft.now);
    drop(close(draft, task, TaskStatus::Cancelled, end));
}

/// Handles the end of a child agent, which ends the task that represents it.
pub(crate) fn handle_child_end(
    draft: &mut Draft<'_>,
    id: &TaskId,
    child: &ChildEnd,
) -> Result<Reply, Rejection> {
    let found = draft.task(id);
    let open = found.filter(|task| task.kind == TaskKind::ChildAgentTask && !task.is_over());
    let Some(task) = open else {
        return Err(Rejection::NoSuchTask);
    };
    if let Some(effect) = task.effect {
        draft.close_effect(effect);
    }
    let (status, end) = result::of_child(&task, child, draft.now);
    let task = with_traces_of(task, child);
    let (mut task, ended) = close(draft, task, status, end);
    result::keep_open_item(draft, &mut task);
    // A parent that may not run receives the result in its next turn.
    match draft.agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Runnable => {
            result::queue(draft, &task, &result::LastOutput::None, &ended);
        }
        Lifecycle::Stopped => {
            result::hold(draft, &task, &result::LastOutput::None);
            wait::report_ended(draft, &ended, &format!("Task {} ended.", task.id));
        }
        Lifecycle::Deleting => {}
    }
    home::remove_when_free(draft);
    Ok(Reply::Done)
}

/// Notes the work item of a child that has ended, and the files it changed, in the row of its task.
fn with_traces_of(mut task: TaskRecord, end: &ChildEnd) -> TaskRecord {
    if let Some(TaskRecoverySpec::ChildAgentTask {
        child: Some(child), ..
    }) = &mut task.recovery
    {
        child.child_work_item_id.clone_from(&end.work_item_id);
        child.changed_files.clone_from(&end.changed_files);
    }
    task
}
