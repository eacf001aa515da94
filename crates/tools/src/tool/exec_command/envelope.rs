//! What a command came to, in the shape that is stored: it ended, it goes on, it ran already, or it failed.
//!
//! `disposition` tells the three results apart; none carries a field of another. Invariant: every text in a result is
//! bounded by the call's output budget.

use super::NAME;
use super::diagnostics::Diagnostics;
use crate::lines::joined;
use crate::preview;
use crate::tool::command::{self, Files, cmd_preview, shown_tokens};
use holon_domain::command::{CommandFailure, CommandOutput, RunningCommand};
use holon_domain::intent::ExecCommand;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::task::{CommandSnapshot, TaskHandle, TaskRecord};
use holon_domain::text;
use holon_domain::time::Timestamp;
use holon_domain::tool::{ToolEnvelope, ToolErrorKind, ToolOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The result of a call, as it is stored and as its receipt is rendered from.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "disposition", rename_all = "snake_case")]
pub(crate) enum Disposition {
    Completed(Completed),
    PromotedToTask(Promoted),
    AlreadyRunning(AlreadyRunning),
}

/// A command that ran to its end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Completed {
    pub(crate) exit_status: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    pub(crate) duration_ms: u64,
    pub(crate) stdout_preview: String,
    pub(crate) stderr_preview: String,
    truncated: bool,
    #[serde(flatten)]
    pub(crate) files: Files,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) leftover_processes: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) surviving_processes: u32,
    command_diagnostics: Value,
}

/// A command that goes on as a task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Promoted {
    pub(crate) task_handle: TaskHandle,
    pub(crate) waited_ms: u64,
    pub(crate) accepts_input: bool,
    /// What was printed so far, on both pipes.
    pub(crate) initial_output_preview: String,
    /// The part of it that was printed on standard error, where that is kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initial_stderr_preview: Option<String>,
    initial_output_truncated: bool,
    /// Where to read on from.
    pub(crate) next_offset: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_stderr_offset: Option<u64>,
    command_diagnostics: Value,
}

/// An equal command that runs already.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AlreadyRunning {
    pub(crate) task_handle: TaskHandle,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<CommandSnapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    pub(crate) running_for_ms: u64,
    pub(crate) instructions: String,
    command_diagnostics: Value,
}

const fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn success(summary: String, result: &Disposition) -> ToolEnvelope {
    ToolEnvelope::success(NAME, summary, json!(result))
}

/// The envelope of a command that was run. A non-zero exit status is a success: the call did what it was asked.
#[must_use]
pub fn completed(command: &ExecCommand, output: &CommandOutput) -> ToolEnvelope {
    let previews = preview::streams(
        &output.stdout,
        &output.stderr,
        preview::budget(shown_tokens(command.max_output_tokens)),
    );
    let (exit_status, signal) = (output.end.exit_status(), output.end.signal());
    let survivors = match output.survivors {
        0 => String::new(),
        count => format!(", with processes that could not be stopped: {count}"),
    };
    let summary = format!(
        "exit {exit_status} after {} ms{survivors}: {}",
        output.duration_ms,
        cmd_preview(&command.cmd)
    );
    let result = Completed {
        exit_status,
        signal,
        duration_ms: output.duration_ms,
        truncated: previews.truncated(),
        files: Files::of(output, &previews),
        stdout_preview: previews.stdout.text,
        stderr_preview: previews.stderr.text,
        leftover_processes: output.leftovers,
        surviving_processes: output.survivors,
        command_diagnostics: json!(
            Diagnostics::of(command).printed(&output.stdout, &output.stderr)
        ),
    };
    success(summary, &Disposition::Completed(result))
}

/// The envelope of a command that could not be run, was stopped with its run, or was lost.
#[must_use]
pub fn failed(command: &ExecCommand, failure: &CommandFailure) -> ToolEnvelope {
    let error = command::explain(&command.cmd, command.workdir.as_deref(), failure);
    ToolEnvelope::failure(NAME, error)
}

/// The envelope of a command that goes on as a task.
#[must_use]
pub fn promoted(
    command: &ExecCommand,
    task_handle: &TaskHandle,
    running: &RunningCommand,
) -> ToolEnvelope {
    let previews = preview::streams(
        &running.stdout,
        &running.stderr,
        preview::budget(shown_tokens(command.max_output_tokens)),
    );
    let summary = format!(
        "goes on as {}: {}",
        task_handle.task_id,
        cmd_preview(&command.cmd)
    );
    // A terminal has one stream.
    let apart = !command.tty;
    let initial_output = text::preview(&previews.stdout.text, EVENT_PREVIEW_BYTES);
    let result = Promoted {
        task_handle: TaskHandle {
            initial_output: (!initial_output.is_empty()).then_some(initial_output),
            ..task_handle.clone()
        },
        waited_ms: command.yield_time_ms,
        accepts_input: command.accepts_input,
        initial_output_truncated: previews.truncated(),
        initial_output_preview: joined(&previews.stdout.text, &previews.stderr.text),
        initial_stderr_preview: apart.then_some(previews.stderr.text),
        next_offset: running.stdout.next_offset(),
        next_stderr_offset: apart.then_some(running.stderr.next_offset()),
        command_diagnostics: json!(
            Diagnostics::of(command).printed(&running.stdout, &running.stderr)
        ),
    };
    success(summary, &Disposition::PromotedToTask(result))
}

/// The envelope of a command that was not started because `task` runs an equal one.
#[must_use]
pub fn already_running(command: &ExecCommand, task: &TaskRecord, now: Timestamp) -> ToolEnvelope {
    let summary = format!(
        "nothing started, {} runs already: {}",
        task.id,
        cmd_preview(&command.cmd)
    );
    let id = &task.id;
    let instructions = format!(
        "its result arrives as a message by itself. TaskOutput with task_id={id} reads what it printed, TaskStatus \
         describes it, TaskStop ends it."
    );
    let result = AlreadyRunning {
        task_handle: task.handle(),
        command: task.status_snapshot().command,
        summary: task.summary.clone(),
        running_for_ms: now.millis_since(task.runs_since()),
        instructions,
        command_diagnostics: json!(Diagnostics::of(command)),
    };
    success(summary, &Disposition::AlreadyRunning(result))
}

/// How many commands the call ran: one, unless it was refused, could not be started, or an equal command ran already. One
/// that was begun and then lost has run.
#[must_use]
pub fn commands_run(envelope: &ToolEnvelope) -> u64 {
    if envelope.tool_name != NAME {
        return 0;
    }
    u64::from(match &envelope.outcome {
        ToolOutcome::Success { result } => result["disposition"] != "already_running",
        ToolOutcome::Error { error } => error.kind == ToolErrorKind::OutcomeUnknown,
    })
}
