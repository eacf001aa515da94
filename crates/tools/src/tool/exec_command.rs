//! `ExecCommand`: run a shell command to its end in the active workspace, and the envelope of what came of it.
//!
//! Owns the arguments, their rules and the result shape. Does not run anything and does not resolve paths: where a
//! command may run is settled by the shell that performs the intent.
//! Only arguments that are honoured are published: commands are not interactive and do not outlive their call yet.

use crate::preview::{self, Previews};
use crate::{input, schema};
use holon_domain::command::{CommandEnd, CommandFailure, CommandOutput};
use holon_domain::intent::{ExecCommand, HostAction, Intent};
use holon_domain::limits::{
    COMMAND_TIMEOUT_MAX_MS, COMMAND_TIMEOUT_MS, EVENT_PREVIEW_BYTES, FAILURE_SUMMARY_BYTES,
};
use holon_domain::text;
use holon_domain::tool::{
    ToolEnvelope, ToolError, ToolErrorKind, ToolFamily, ToolOutputBudget, ToolSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The tool's name.
pub const NAME: &str = "ExecCommand";

/// Arguments of the full contract that this form of the tool does not honour, and therefore refuses.
const NOT_YET: [&str; 3] = ["tty", "accepts_input", "duplicate_policy"];
/// Shells report a death by signal as this plus the signal's number.
const SIGNAL_BASE: i32 = 128;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The command, as you would type it into a shell.
    #[schemars(length(min = 1))]
    cmd: String,
    /// The directory to run in, relative to the current directory of the active workspace. It must lie inside the
    /// execution root. Leave it out to run in the current directory.
    #[serde(default)]
    #[schemars(with = "String")]
    workdir: Option<String>,
    /// The shell to run it with, by path or by name. Leave it out for the user's own shell.
    #[serde(default)]
    #[schemars(with = "String")]
    shell: Option<String>,
    /// Whether to start the shell as a login shell. The default is false.
    #[serde(default)]
    #[schemars(with = "bool")]
    login: Option<bool>,
    /// How long you are ready to wait for the command, in milliseconds, 600000 at most. It is stopped when its time is
    /// up: after 120000 or after this, whichever is longer.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = COMMAND_TIMEOUT_MAX_MS))]
    yield_time_ms: Option<u64>,
    /// How much of the output you read, in estimated tokens: 8000 when left out, never more than 64000. What does
    /// not fit is cut out of the middle.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    max_output_tokens: Option<u64>,
}

/// The tool as a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Run a shell command to its end and read its exit status and output. It has no terminal and an \
                      empty standard input; when the call ends, whatever it left running is stopped. A non-zero exit \
                      status is a result, not an error. Inspect with rg, sed -n, head and tail rather than dumping \
                      whole files."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::LocalEnvironment,
    }
}

/// What a call asks for.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input).map_err(explain_unavailable)?;
    if args.cmd.trim().is_empty() {
        return Err(input::invalid(NAME, Some("cmd"), "the command is empty")
            .hint("give the command to run"));
    }
    let command = ExecCommand {
        cmd: without_nul("cmd", args.cmd)?,
        workdir: given("workdir", args.workdir)?,
        shell: given("shell", args.shell)?,
        login: args.login.unwrap_or(false),
        timeout_ms: timeout(args.yield_time_ms)?,
        max_output_tokens: output_tokens(args.max_output_tokens)?,
    };
    Ok(Intent::Host(HostAction::ExecCommand(command)))
}

fn explain_unavailable(error: ToolError) -> ToolError {
    let field = error
        .details
        .as_ref()
        .and_then(|details| details.get("field"))
        .and_then(Value::as_str);
    if !field.is_some_and(|field| NOT_YET.contains(&field)) {
        return error;
    }
    error.hint("interactive and background commands are not available yet: leave this argument out, and run the command to its end")
}

/// An optional text; models write an empty one for "none".
fn given(field: &str, value: Option<String>) -> Result<Option<String>, ToolError> {
    value
        .filter(|value| !value.trim().is_empty())
        .map(|value| without_nul(field, value))
        .transpose()
}

/// No operating system takes a NUL inside an argument or a path; said here, the model learns which one it was.
fn without_nul(field: &str, value: String) -> Result<String, ToolError> {
    if value.contains('\0') {
        return Err(
            input::invalid(NAME, Some(field), "it contains a NUL character")
                .hint("remove the NUL character"),
        );
    }
    Ok(value)
}

fn timeout(asked: Option<u64>) -> Result<u64, ToolError> {
    match asked {
        None => Ok(COMMAND_TIMEOUT_MS),
        // Elsewhere this is when a command goes on in the background; cutting it off so early would break work in two.
        Some(millis) if (1..=COMMAND_TIMEOUT_MAX_MS).contains(&millis) => {
            Ok(millis.max(COMMAND_TIMEOUT_MS))
        }
        Some(millis) => {
            let problem = format!("{millis} is not between 1 and {COMMAND_TIMEOUT_MAX_MS}");
            let hint =
                "leave yield_time_ms out for the usual time, or run the work in shorter steps";
            Err(input::invalid(NAME, Some("yield_time_ms"), &problem).hint(hint))
        }
    }
}

fn output_tokens(asked: Option<u64>) -> Result<Option<u32>, ToolError> {
    match asked {
        Some(0) => {
            let hint = "leave max_output_tokens out for the usual amount, or redirect the output to a file";
            Err(input::invalid(NAME, Some("max_output_tokens"), "it must be at least 1").hint(hint))
        }
        // The host has the last word on how much that is.
        Some(tokens) => Ok(Some(u32::try_from(tokens).unwrap_or(u32::MAX))),
        None => Ok(None),
    }
}

/// How much of the output is shown: what the host allowed, or the usual amount.
fn shown_tokens(command: &ExecCommand) -> u32 {
    ToolOutputBudget::default().allow(command.max_output_tokens)
}

/// The result of a command that ran to its end; what the receipt is rendered from.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Completed {
    disposition: Disposition,
    pub(crate) exit_status: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    pub(crate) duration_ms: u64,
    pub(crate) stdout_preview: String,
    pub(crate) stderr_preview: String,
    truncated: bool,
    artifacts: Vec<Value>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) leftover_processes: u32,
    command_diagnostics: Value,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Disposition {
    Completed,
}

const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The envelope of a command that was run. A non-zero exit status is a success: the call did what it was asked.
#[must_use]
pub fn completed(command: &ExecCommand, output: &CommandOutput) -> ToolEnvelope {
    let previews = preview::streams(
        &output.stdout,
        &output.stderr,
        preview::budget(shown_tokens(command)),
    );
    match output.end {
        CommandEnd::Exited { status } => success(command, output, previews, status, None),
        CommandEnd::Signalled { signal } => success(
            command,
            output,
            previews,
            SIGNAL_BASE.saturating_add(signal),
            Some(signal),
        ),
        CommandEnd::TimedOut => timed_out(command, output, &previews),
    }
}

fn success(
    command: &ExecCommand,
    output: &CommandOutput,
    previews: Previews,
    exit_status: i32,
    signal: Option<i32>,
) -> ToolEnvelope {
    let result = Completed {
        disposition: Disposition::Completed,
        exit_status,
        signal,
        duration_ms: output.duration_ms,
        stdout_preview: previews.stdout,
        stderr_preview: previews.stderr,
        truncated: previews.truncated,
        artifacts: Vec::new(),
        leftover_processes: output.leftovers,
        command_diagnostics: diagnostics(command, output),
    };
    let summary = format!(
        "exit {exit_status} after {} ms: {}",
        output.duration_ms,
        cmd_preview(command)
    );
    ToolEnvelope::success(NAME, summary, json!(result))
}

fn timed_out(command: &ExecCommand, output: &CommandOutput, previews: &Previews) -> ToolEnvelope {
    let message = format!(
        "the command was stopped after {} ms, its time limit",
        command.timeout_ms
    );
    let details = json!({
        "timeout_ms": command.timeout_ms,
        "duration_ms": output.duration_ms,
        "stdout_preview": previews.stdout,
        "stderr_preview": previews.stderr,
        "truncated": previews.truncated,
        "command_diagnostics": diagnostics(command, output),
    });
    let hint = format!(
        "it may have done part of its work: look before you repeat it. Then run it in smaller steps, or give \
         yield_time_ms up to {COMMAND_TIMEOUT_MAX_MS}; a command that waits for input never ends by itself"
    );
    let error = ToolError::new(ToolErrorKind::CommandTimedOut, message)
        .details(details)
        .hint(hint);
    ToolEnvelope::failure(NAME, error)
}

/// Facts for whoever reads the record later; the receipt does not repeat them.
fn diagnostics(command: &ExecCommand, output: &CommandOutput) -> Value {
    json!({
        "cmd_preview": cmd_preview(command),
        "cmd_char_count": command.cmd.chars().count(),
        "effective_max_output_tokens": shown_tokens(command),
        "output_char_budget": preview::budget(shown_tokens(command)),
        "stdout_bytes": output.stdout.total_bytes,
        "stderr_bytes": output.stderr.total_bytes,
    })
}

/// The envelope of a command that could not be run, or was stopped with its run.
#[must_use]
pub fn failed(command: &ExecCommand, failure: &CommandFailure) -> ToolEnvelope {
    let (kind, details, hint) = match failure {
        CommandFailure::OutsideRoot {
            workdir,
            execution_root,
        } => (
            ToolErrorKind::ExecutionRootViolation,
            json!({"field": "workdir", "workdir": brief(workdir), "execution_root": brief(execution_root)}),
            "omit workdir or give a path inside the execution root",
        ),
        CommandFailure::MissingWorkdir { workdir } => (
            ToolErrorKind::CommandSpawnFailed,
            json!({"field": "workdir", "workdir": brief(workdir)}),
            "omit workdir, give a directory that exists, or make it first",
        ),
        CommandFailure::Spawn { reason } => (
            ToolErrorKind::CommandSpawnFailed,
            json!({"reason": brief(reason), "cmd_preview": cmd_preview(command)}),
            "nothing was run; omit shell to use the user's own, or check that the one you named exists",
        ),
        CommandFailure::Cancelled => (
            ToolErrorKind::RunAborted,
            json!({"cmd_preview": cmd_preview(command)}),
            "it may have done part of its work: look before you repeat it",
        ),
    };
    let message = text::preview(&failure.to_string(), FAILURE_SUMMARY_BYTES);
    ToolEnvelope::failure(
        NAME,
        ToolError::new(kind, message).details(details).hint(hint),
    )
}

fn brief(text: &str) -> String {
    text::preview(text, EVENT_PREVIEW_BYTES)
}

/// The command on one line, short.
fn cmd_preview(command: &ExecCommand) -> String {
    let line: Vec<&str> = command.cmd.split_whitespace().collect();
    text::preview(&line.join(" "), EVENT_PREVIEW_BYTES / 2)
}
