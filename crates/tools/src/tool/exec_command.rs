//! `ExecCommand`: runs a shell command in the active workspace, to its end or until it becomes a task.
//!
//! Owns the arguments and their rules; `envelope` owns the result shapes and `text` their text form. Nothing is run and
//! no path is resolved here: the shell that performs the intent decides where a command may run.

mod diagnostics;
mod envelope;
mod text;

pub use envelope::{already_running, commands_run, completed, failed, promoted};
pub(crate) use text::{split_lost, text};

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
    /// Whether to start the shell as a login shell. The default is false: the environment is the user's login
    /// environment already.
    #[serde(default)]
    #[schemars(with = "bool")]
    login: Option<bool>,
    /// Whether to run it on a terminal, for programs that insist on one; standard output and standard error are then one
    /// transcript. The default is false.
    #[serde(default)]
    #[schemars(with = "bool")]
    tty: Option<bool>,
    /// Whether TaskInput can write to it. When false nobody can: its standard input is empty, or with tty a terminal at
    /// which nothing is typed and which never ends. The default is the value of tty.
    #[serde(default)]
    #[schemars(with = "bool")]
    accepts_input: Option<bool>,
    /// How long to wait for its end, in milliseconds: 10000 when left out, 600000 at most. After that it goes on as a
    /// task; 0 makes it one at once.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 0, max = YIELD_MAX_MS))]
    yield_time_ms: Option<u64>,
    /// How much of the output you read, in estimated tokens: 8000 when left out, never more than 64000. What does
    /// not fit is cut out of the middle, and the file that has all of it is named.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    max_output_tokens: Option<u64>,
    /// What to do when an equal command of yours (same text, directory, shell, login and tty) already runs as a task:
    /// `reuse_running` (the default) starts nothing and names that task, `start_new` starts another.
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
        description: "Run a shell command and read its exit status and output. A non-zero exit status is a result, not \
                      an error. A command that takes longer than yield_time_ms goes on as a task: its result arrives \
                      as a message by itself, so do not poll for it; do other work or end the turn. TaskOutput reads \
                      what a task prints, TaskInput writes to it, TaskStop ends it. Processes that a command leaves \
                      behind are stopped when it ends, so run servers in the foreground and let them become tasks. \
                      Inspect with rg, sed -n, head and tail rather than dumping whole files."
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
