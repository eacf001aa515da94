//! The stored result of a command: it completed, became a task, was already running, or failed.
//!
//! `disposition` distinguishes the three results; none carries a field of another. Invariant: every text in a result is
//! bounded by the call's output budget.

use super::NAME;
use super::diagnostics::Diagnostics;
use crate::lines::join_streams;
use crate::preview;
use crate::tool::command::{self, Files, cmd_preview, shown_tokens};
use holon_domain::command::{CommandFailure, CommandOutput, FoundRunning, RunningCommand};
use holon_domain::intent::ExecCommand;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::task::{CommandSnapshot, TaskHandle, TaskRecord};
use holon_domain::text;
use holon_domain::time::Timestamp;
use holon_domain::tool::{ToolEnvelope, ToolErrorKind, ToolOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The result of a call as it is stored; its receipt is rendered from it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "disposition", rename_all = "snake_case")]
pub(crate) enum Disposition {
    Completed(CompletedCommand),
    PromotedToTask(PromotedCommand),
    AlreadyRunning(RunningDuplicate),
}

/// A command that ran to its end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CompletedCommand {
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

/// A command that continues as a task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PromotedCommand {
    pub(crate) task_handle: TaskHandle,
    pub(crate) waited_ms: u64,
    /// True if a host that was started again found the command, whatever its call has waited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) found_after_restart: bool,
    pub(crate) accepts_input: bool,
    /// Output so far, of both pipes.
    pub(crate) initial_output_preview: String,
    /// The part of it from standard error; absent on a terminal, which has one stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initial_stderr_preview: Option<String>,
    initial_output_truncated: bool,
    /// Offset at which `TaskOutput` continues.
    pub(crate) next_offset: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_stderr_offset: Option<u64>,
    command_diagnostics: Value,
}

/// An equal command that is already running.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunningDuplicate {
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

/// Builds the envelope of a command that ran. A non-zero exit status is a success, because the call did what was
/// requested.
#[must_use]
pub fn completed(command: &ExecCommand, output: &CommandOutput) -> ToolEnvelope {
    let previews = preview::cut_streams(
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
    let result = CompletedCommand {
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

/// Builds the envelope of a command that could not be run, was stopped with its run, or was lost.
#[must_use]
pub fn failed(command: &ExecCommand, failure: &CommandFailure) -> ToolEnvelope {
    let error = command::explain(&command.cmd, command.workdir.as_deref(), failure);
    ToolEnvelope::failure(NAME, error)
}

/// Builds the envelope of a command that continues as a task.
#[must_use]
pub fn promoted(
    command: &ExecCommand,
    task_handle: &TaskHandle,
    running: &RunningCommand,
) -> ToolEnvelope {
    let previews = preview::cut_streams(
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
    let result = PromotedCommand {
        task_handle: TaskHandle {
            initial_output: (!initial_output.is_empty()).then_some(initial_output),
            ..task_handle.clone()
        },
        waited_ms: match running.found {
            FoundRunning::AfterWait => command.yield_time_ms,
            FoundRunning::AfterRestart => 0,
        },
        found_after_restart: running.found == FoundRunning::AfterRestart,
        accepts_input: command.accepts_input,
        initial_output_truncated: previews.truncated(),
        initial_output_preview: join_streams(&previews.stdout.text, &previews.stderr.text),
        initial_stderr_preview: apart.then_some(previews.stderr.text),
        next_offset: running.stdout.next_offset(),
        next_stderr_offset: apart.then_some(running.stderr.next_offset()),
        command_diagnostics: json!(
            Diagnostics::of(command).printed(&running.stdout, &running.stderr)
        ),
    };
    success(summary, &Disposition::PromotedToTask(result))
}

/// Builds the envelope of a command that was not started because `task` runs an equal one.
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
    let result = RunningDuplicate {
        task_handle: task.handle(),
        command: task.status_snapshot().command,
        summary: task.summary.clone(),
        running_for_ms: now.millis_since(task.runs_since()),
        instructions,
        command_diagnostics: json!(Diagnostics::of(command)),
    };
    success(summary, &Disposition::AlreadyRunning(result))
}

/// Returns the number of commands the call ran: one, unless it was refused, could not be started, or an equal command
/// was running. A command that started and was lost counts.
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
