//! `ExecCommand`: runs a shell command in the active workspace, to its end or until it becomes a task.
//!
//! Owns the arguments and their rules; `envelope` owns the result shapes and `text` their text form. Nothing is run and
//! no path is resolved here: the shell that performs the intent decides where a command may run.

mod diagnostics;
mod envelope;
mod text;

pub use envelope::{already_running, commands_run, completed, failed, promoted};
pub(crate) use text::text;

use crate::input::Subject;
use crate::tool::command;
use crate::{input, schema};
use holon_domain::intent::{DuplicatePolicy, ExecCommand, HostAction, Intent};
use holon_domain::limits::{YIELD_MAX_MS, YIELD_MS};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub const NAME: &str = "ExecCommand";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Command line for the shell.
    #[schemars(length(min = 1))]
    cmd: String,
    /// Directory to run in, from cwd. Default cwd.
    #[serde(default)]
    #[schemars(with = "String")]
    workdir: Option<String>,
    /// Shell to use instead of the default.
    #[serde(default)]
    #[schemars(with = "String")]
    shell: Option<String>,
    /// true runs a login shell; rarely needed. Default false.
    #[serde(default)]
    #[schemars(with = "bool")]
    login: Option<bool>,
    /// true gives it a terminal. Default false.
    #[serde(default)]
    #[schemars(with = "bool")]
    tty: Option<bool>,
    /// true lets TaskInput write to it. Default: value of tty.
    #[serde(default)]
    #[schemars(with = "bool")]
    accepts_input: Option<bool>,
    /// Milliseconds to wait for its end. Default 10000, max 600000; 0: task at once.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 0, max = YIELD_MAX_MS))]
    yield_time_ms: Option<u64>,
    /// Tokens of output to show; all of it stays in a file. Default 8000, max 64000.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    max_output_tokens: Option<u64>,
    /// reuse_running (default) starts nothing if an equal command runs as a task; start_new does.
    #[serde(default)]
    #[schemars(with = "DuplicateArg")]
    duplicate_policy: Option<DuplicateArg>,
}

// The published spelling of `DuplicatePolicy`; variants carry no documentation so that the schema is a plain `enum`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum DuplicateArg {
    ReuseRunning,
    StartNew,
}

impl From<DuplicateArg> for DuplicatePolicy {
    fn from(policy: DuplicateArg) -> Self {
        match policy {
            DuplicateArg::ReuseRunning => Self::ReuseRunning,
            DuplicateArg::StartNew => Self::StartNew,
        }
    }
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Run a shell command; judge it by exit status and output. If it still runs after \
                      yield_time_ms, it becomes a task, whose end reaches you as a message, also in a \
                      later turn: do not poll. What it leaves behind is killed: run servers in the \
                      foreground with a small yield_time_ms."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::LocalEnvironment,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let subject = Subject::call(NAME);
    let tty = args.tty.unwrap_or(false);
    let command = ExecCommand {
        cmd: command::cmd(subject, args.cmd)?,
        workdir: command::optional_text(subject, "workdir", args.workdir)?,
        shell: command::optional_text(subject, "shell", args.shell)?,
        login: args.login.unwrap_or(false),
        tty,
        accepts_input: args.accepts_input.unwrap_or(tty),
        duplicate_policy: args
            .duplicate_policy
            .map(DuplicatePolicy::from)
            .unwrap_or_default(),
        yield_time_ms: yield_time(args.yield_time_ms)?,
        max_output_tokens: command::output_tokens(subject, args.max_output_tokens)?,
    };
    Ok(Intent::Host(HostAction::ExecCommand(command)))
}

fn yield_time(asked: Option<u64>) -> Result<u64, ToolError> {
    let millis = asked.unwrap_or(YIELD_MS);
    if millis <= YIELD_MAX_MS {
        return Ok(millis);
    }
    let problem = format!("{millis} is not between 0 and {YIELD_MAX_MS}");
    let hint = "leave yield_time_ms out: a command that takes longer goes on as a task and reports its end by itself";
    Err(input::invalid(NAME, Some("yield_time_ms"), &problem).hint(hint))
}
