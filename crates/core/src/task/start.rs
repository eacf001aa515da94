//! Tasks that an operator starts. One commit writes the row and opens the effect that starts the command, so a crash
//! between them and the start leaves a queued task, which the next process starts.

use super::{create, has_room, open_supervision, status_event};
use crate::admission;
use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use crate::policy::{self, ExecutionAct};
use crate::rejection::Rejection;
use holon_domain::task::{
    CommandTaskSpec, NewCommandTask, StartedCommand, TaskKind, TaskRecord, TaskRecoverySpec,
    TaskReport, TaskStatus, WaitPolicy,
};
use holon_domain::{CallId, TaskId, limits, text};

/// Returns true if the command of a task has yet to be started.
pub(super) fn is_due(task: &TaskRecord) -> bool {
    task.command().is_some_and(|spec| spec.starts_in.is_some())
}

/// Creates a queued task for an operator's command. Its end opens a turn, as that of a promoted command does.
pub(super) fn queue(draft: &mut Draft<'_>, new: &NewCommandTask) -> Result<Reply, Rejection> {
    admission::judge_lifecycle(&draft.agent)?;
    check(new)?;
    let allowed = policy::check_host(&draft.host.execution, ExecutionAct::KeepAsTask);
    allowed.map_err(policy::PolicyDenial::rejection)?;
    let agent_id = draft.agent.identity.agent_id.clone();
    if !has_room(draft) {
        return Err(Rejection::TooManyTasks { agent_id });
    }
    let call_id = CallId::mint(draft.entropy);
    let workspace = draft.agent.workspace.clone();
    let spec = CommandTaskSpec {
        started_by_operator: true,
        starts_in: Some(Box::new(workspace.clone())),
        ..CommandTaskSpec::of(&call_id, &new.command, &workspace)
    };
    let summary = new
        .summary
        .as_deref()
        .filter(|words| !words.trim().is_empty());
    let summary = one_line(summary.unwrap_or(&spec.cmd));
    let task = TaskRecord {
        id: TaskId::of_call(&call_id),
        agent_id,
        kind: TaskKind::CommandTask,
        status: TaskStatus::Queued,
        created_at: draft.now,
        updated_at: draft.now,
        parent_message_id: None,
        parent_message_seq: None,
        work_item_id: None,
        summary: Some(summary.clone()),
        wait_policy: WaitPolicy::Background,
        terminal_reentry: true,
        recovery: Some(TaskRecoverySpec::CommandTask {
            summary,
            spec: Box::new(spec),
            trust: new.trust,
        }),
        max_rounds: None,
        effect: None,
        stop: None,
        end: None,
        ends_unread: 0,
        operator_inputs: 0,
    };
    let snapshot = task.status_snapshot();
    create(draft, task);
    Ok(Reply::Task(Box::new(snapshot)))
}

fn check(new: &NewCommandTask) -> Result<(), Rejection> {
    let command = &new.command;
    if command.cmd.trim().is_empty() {
        return Err(Rejection::InvalidCommand {
            reason: "the command is empty",
        });
    }
    let texts = [
        Some(&command.cmd),
        command.workdir.as_ref(),
        command.shell.as_ref(),
    ];
    if texts.into_iter().flatten().any(|text| text.contains('\0')) {
        return Err(Rejection::InvalidCommand {
            reason: "the command, its directory or its shell contains a NUL character",
        });
    }
    Ok(())
}

/// Shortens a description to one line.
pub(super) fn one_line(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    text::preview(&words.join(" "), limits::EVENT_PREVIEW_BYTES)
}

/// Handles the start of a queued command, which is watched from now on.
pub(crate) fn handle_start(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    id: &TaskId,
    started: &StartedCommand,
) -> Reply {
    let found = draft.task(id);
    let awaited = found.as_ref().and_then(|task| task.effect);
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(mut task) = found else {
        return Reply::Unchanged;
    };
    if let Some(TaskRecoverySpec::CommandTask { spec, .. }) = &mut task.recovery {
        spec.workdir.clone_from(&started.workdir);
        spec.started_at = Some(started.started_at);
        spec.output_path.clone_from(&started.output_path);
        spec.stderr_path.clone_from(&started.stderr_path);
        spec.starts_in = None;
    }
    let previous = task.status;
    task.status = TaskStatus::Running;
    task.updated_at = draft.now;
    task.ends_unread = 0;
    task.effect = open_supervision(draft, &task);
    draft.event(status_event(&task, previous, "started"));
    draft.change_task(task);
    Reply::Done
}

/// Adds the output files of a command that had ended when its start was looked at.
pub(super) fn note_output(task: &mut TaskRecord, report: &TaskReport) {
    if let (Some(TaskRecoverySpec::CommandTask { spec, .. }), TaskReport::Ended(output)) =
        (&mut task.recovery, report)
        && spec.starts_in.take().is_some()
    {
        spec.output_path.clone_from(&output.stdout.path);
        spec.stderr_path.clone_from(&output.stderr.path);
    }
}

/// Has no queued command started any more. It is watched instead, which finds that it does not run.
pub(crate) fn start_no_more(draft: &mut Draft<'_>) {
    for mut task in draft.active_tasks() {
        if let Some(TaskRecoverySpec::CommandTask { spec, .. }) = &mut task.recovery
            && spec.starts_in.take().is_some()
        {
            draft.change_task(task);
        }
    }
}
