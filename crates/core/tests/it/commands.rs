//! Builds calls about commands and tasks, and reports of their ends.

use crate::world::{World, stamp_of};
use holon_core::{Input, Stamp};
use holon_domain::block::ToolCall;
use holon_domain::command::{CapturedStream, CommandEnd, CommandOutput};
use holon_domain::consequence::Consequence;
use holon_domain::effect::Effect;
use holon_domain::event::BatchItemEnd;
use holon_domain::intent::{
    ApplyPatch, BatchItem, DuplicatePolicy, ExecCommand, ExecCommandBatch, HostAction, Intent,
    TaskOutput,
};
use holon_domain::task::{CommandTaskSpec, TaskRecord, TaskReport};
use holon_domain::tool::{ToolEnvelope, ToolError};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{CallId, TaskId};
use serde_json::json;

/// A tool name and the intent of its call.
pub(crate) type PlannedCall = (&'static str, Result<Intent, ToolError>);

pub(crate) fn command(cmd: &str) -> ExecCommand {
    ExecCommand {
        cmd: cmd.to_owned(),
        workdir: None,
        shell: None,
        login: false,
        tty: false,
        accepts_input: false,
        duplicate_policy: DuplicatePolicy::ReuseRunning,
        yield_time_ms: 1_000,
        max_output_tokens: Some(100),
    }
}

pub(crate) fn exec(cmd: &str) -> PlannedCall {
    let action = HostAction::ExecCommand(command(cmd));
    ("ExecCommand", Ok(Intent::Host(action)))
}

pub(crate) fn batch(cmds: &[&str]) -> PlannedCall {
    let action = HostAction::ExecCommandBatch(ExecCommandBatch {
        items: cmds
            .iter()
            .map(|cmd| BatchItem::Command(command(cmd)))
            .collect(),
        stop_on_error: true,
    });
    ("ExecCommandBatch", Ok(Intent::Host(action)))
}

/// Builds a call that is not performed again after a restart.
pub(crate) fn patch() -> PlannedCall {
    let digest = "f00d".to_owned();
    let action = HostAction::ApplyPatch(ApplyPatch { digest });
    ("ApplyPatch", Ok(Intent::Host(action)))
}

pub(crate) fn task_list() -> PlannedCall {
    ("TaskList", Ok(Intent::TaskList))
}

pub(crate) fn task_status(task_id: &TaskId) -> PlannedCall {
    let task_id = task_id.clone();
    ("TaskStatus", Ok(Intent::TaskStatus { task_id }))
}

pub(crate) fn task_stop(task_id: &TaskId) -> PlannedCall {
    let task_id = task_id.clone();
    ("TaskStop", Ok(Intent::TaskStop { task_id }))
}

pub(crate) fn task_input(task_id: &TaskId) -> PlannedCall {
    let intent = Intent::TaskInput {
        task_id: task_id.clone(),
        input: "yes\n".to_owned(),
        close_input: false,
    };
    ("TaskInput", Ok(intent))
}

pub(crate) fn task_output(task_id: &TaskId) -> PlannedCall {
    let intent = Intent::TaskOutput(TaskOutput {
        task_id: task_id.clone(),
        wait_ms: None,
        after_byte: None,
        stderr_after_byte: None,
        tail_lines: None,
        max_output_tokens: None,
    });
    ("TaskOutput", Ok(intent))
}

/// Returns a task id that no agent has.
pub(crate) fn unknown_task() -> TaskId {
    TaskId::from_stored("task_nobody")
}

/// Returns the running call, its action and its workspace.
pub(crate) fn running(world: &World) -> Option<(ToolCall, HostAction, WorkspaceEntry)> {
    let Effect::RunTool {
        round_entry,
        call_index,
        ..
    } = world.effect()?.effect
    else {
        return None;
    };
    let (call, action) = world.call_at(round_entry, call_index);
    let turn = world.agent.open_turn.as_ref()?;
    Some((call, action?, turn.workspace.clone()))
}

/// Returns the command of the running call, as the shell describes it when it becomes a task.
pub(crate) fn running_spec(world: &World) -> Option<CommandTaskSpec> {
    let (call, action, workspace) = running(world)?;
    let HostAction::ExecCommand(command) = action else {
        return None;
    };
    let spec = CommandTaskSpec::of(&call.id, &command, &workspace);
    Some(CommandTaskSpec {
        output_path: Some("/srv/ada/task-output/1.log".to_owned()),
        promoted_from_exec_command: true,
        ..spec
    })
}

/// Builds the command of a call that does not exist.
pub(crate) fn strange_spec() -> CommandTaskSpec {
    let call = CallId::from_stored("call_strange");
    CommandTaskSpec::of(
        &call,
        &command("make all"),
        &WorkspaceEntry::agent_home("/srv/ada"),
    )
}

/// Builds the input that promotes a call's command to a task.
pub(crate) fn goes_on(stamp: Stamp, spec: CommandTaskSpec) -> Input {
    Input::ToolFinished {
        stamp,
        consequence: Consequence::Task {
            result: ToolEnvelope::success(
                "ExecCommand",
                "still running",
                json!({ "disposition": "promoted_to_task", "task_id": TaskId::of_call(&spec.call_id) }),
            ),
            spec: Box::new(spec),
        },
        duration_ms: 1_000,
    }
}

/// Builds the input that promotes the running call's command to a task.
pub(crate) fn promotion(world: &World) -> Input {
    let spec = running_spec(world).expect("a command runs");
    goes_on(world.stamp().expect("a command runs"), spec)
}

pub(crate) fn printed(text: &str) -> CapturedStream {
    CapturedStream {
        head: text.to_owned(),
        total_bytes: text.len() as u64,
        ..CapturedStream::default()
    }
}

pub(crate) fn ended(end: CommandEnd) -> TaskReport {
    TaskReport::Ended(CommandOutput {
        end,
        stdout: printed("built\n"),
        stderr: CapturedStream::default(),
        duration_ms: 1_500,
        leftovers: 0,
        survivors: 0,
        stopped: false,
    })
}

/// Builds the report of a command that a stop ended.
pub(crate) fn stopped() -> TaskReport {
    match ended(CommandEnd::Signalled { signal: 15 }) {
        TaskReport::Ended(output) => TaskReport::Ended(CommandOutput {
            stopped: true,
            ..output
        }),
        other @ (TaskReport::NotStarted { .. } | TaskReport::Lost { .. }) => other,
    }
}

pub(crate) fn exited(status: i32) -> TaskReport {
    ended(CommandEnd::Exited { status })
}

pub(crate) fn lost() -> TaskReport {
    TaskReport::Lost {
        reason: "its shim is gone and left no status".to_owned(),
        stdout: printed("half of it\n"),
        stderr: CapturedStream::default(),
    }
}

/// Returns every kind of report by name.
pub(crate) fn reports() -> [(&'static str, TaskReport); 6] {
    [
        ("exit 0", exited(0)),
        ("exit 3", exited(3)),
        ("signal 9", ended(CommandEnd::Signalled { signal: 9 })),
        ("timed out", ended(CommandEnd::TimedOut)),
        ("stopped", stopped()),
        ("lost", lost()),
    ]
}

pub(crate) fn task_ended(stamp: Stamp, task_id: TaskId, report: TaskReport) -> Input {
    Input::TaskEnded {
        stamp,
        task_id,
        report: Box::new(report),
    }
}

/// Builds the report of a task by the effect that watches or stops it.
pub(crate) fn reported(world: &World, task: &TaskRecord, report: TaskReport) -> Input {
    let following = world.following(task).expect("a task that is followed");
    task_ended(stamp_of(following), task.id.clone(), report)
}

/// Builds the report of a batch of which the first command was stopped.
pub(crate) fn batch_stopped(stamp: Stamp) -> Input {
    let items = vec![BatchItemEnd::Stopped, BatchItemEnd::NotBegun];
    Input::BatchStopped { stamp, items }
}

/// Finishes every patch and stops every batch whose turn was cancelled.
pub(crate) fn finish_patches(world: &mut World) {
    while let Some(stamp) = world.patches().first().map(|open| stamp_of(open)) {
        world.send(Input::PatchFinished { stamp });
    }
    while let Some(stamp) = world.batches().first().map(|open| stamp_of(open)) {
        world.send(batch_stopped(stamp));
    }
}
