//! `TaskInput`: writes to a task.
//!
//! A task that accepts no input gives a normal answer and not an error, because the call found its task.

use crate::input::Subject;
use crate::lines::line;
use crate::tool::task;
use crate::{input, schema};
use holon_domain::intent::{Intent, TaskInput};
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, TASK_INPUT_BYTES};
use holon_domain::task::{CommandTaskSpec, InputTarget, TaskRecord, TaskStatusSnapshot};
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub const NAME: &str = "TaskInput";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the task, `task_...`; TaskList shows it.
    #[schemars(length(min = 1))]
    task_id: String,
    /// Text, sent as it is, max 65536 bytes: end lines yourself. On a tty \u0003 is Ctrl-C, \u0004 Ctrl-D.
    input: String,
    /// true ends the input of a command after this text. Default false.
    #[serde(default)]
    #[schemars(with = "bool")]
    close_input: Option<bool>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Write to a task: to a child agent as a message, or to a command that was started \
                      with accepts_input or tty. TaskOutput reads what a command answers."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let close_input = args.close_input.unwrap_or(false);
    if args.input.is_empty() && !close_input {
        return Err(
            input::invalid(NAME, Some("input"), "there is nothing to write")
                .hint("give the text to write, or close_input=true to end the input"),
        );
    }
    if args.input.len() > TASK_INPUT_BYTES {
        let problem = format!(
            "the input has {} bytes, over the limit of {TASK_INPUT_BYTES}",
            args.input.len()
        );
        return Err(input::invalid(NAME, Some("input"), &problem)
            .hint("write it in several calls, or to a file that the program reads"));
    }
    Ok(Intent::TaskInput {
        task_id: task::task_id(Subject::call(NAME), &args.task_id)?,
        input: args.input,
        close_input,
    })
}

/// The result of a call as it is stored; its receipt is rendered from it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InputResult {
    task: TaskStatusSnapshot,
    accepted_input: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_target: Option<InputTarget>,
    bytes_written: u64,
    summary_text: String,
}

/// Builds the envelope of input of which the task accepted `bytes`.
#[must_use]
pub fn accepted(task: &TaskRecord, input: &TaskInput, bytes: u64) -> ToolEnvelope {
    let closed = if input.close_input {
        ", which is closed now"
    } else {
        ""
    };
    let summary = format!("{}{closed}", describe_write(task, bytes));
    envelope(task, Some(bytes), summary)
}

/// Builds the envelope of input that was written but could not be closed; the model must not send it again.
#[must_use]
pub fn not_closed(task: &TaskRecord, bytes: u64, reason: &str) -> ToolEnvelope {
    let summary = format!(
        "{}; it was not closed: {}",
        describe_write(task, bytes),
        text::preview(reason, FAILURE_SUMMARY_BYTES / 2)
    );
    envelope(task, Some(bytes), summary)
}

fn describe_write(task: &TaskRecord, bytes: u64) -> String {
    let place = match target(task) {
        Some(InputTarget::Stdin) => "the standard input",
        Some(InputTarget::Tty) => "the terminal",
        Some(InputTarget::ChildFollowup) | None => "the input",
    };
    format!("wrote {bytes} bytes to {place} of task {}", task.id)
}

/// Builds the envelope of input that the task did not accept.
#[must_use]
pub fn refused(task: &TaskRecord, reason: &str) -> ToolEnvelope {
    let summary = format!(
        "task {} ({}) took no input: {}",
        task.id,
        task::status_name(task.status),
        text::preview(reason, FAILURE_SUMMARY_BYTES / 2)
    );
    envelope(task, None, summary)
}

fn envelope(task: &TaskRecord, written: Option<u64>, summary_text: String) -> ToolEnvelope {
    let result = InputResult {
        task: task.status_snapshot(),
        accepted_input: written.is_some(),
        input_target: target(task),
        bytes_written: written.unwrap_or_default(),
        summary_text: summary_text.clone(),
    };
    ToolEnvelope::success(NAME, summary_text, json!(result))
}

fn target(task: &TaskRecord) -> Option<InputTarget> {
    task.command().and_then(CommandTaskSpec::input_target)
}

/// Renders the receipt. It does not describe the task, which the model named itself.
pub(crate) fn receipt(result: &InputResult) -> String {
    let mut text = result.summary_text.clone();
    if result.accepted_input && result.input_target != Some(InputTarget::ChildFollowup) {
        line(&mut text, "TaskOutput reads what it answers.");
    }
    text
}
