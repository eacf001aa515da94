//! `ExecCommandBatch`: runs several commands in sequence in one call; none of them becomes a task.
//!
//! Owns the arguments and their rules; `envelope` owns the result shape and `text` its text form.

mod envelope;
mod text;

pub use envelope::{ItemOutcome, commands_run, completed};
pub(crate) use text::text;

use crate::input::{Subject, members, parse_typed};
use crate::tool::command;
use crate::{input, schema};
use holon_domain::intent::{
    BatchItem, DuplicatePolicy, ExecCommand, ExecCommandBatch, HostAction, Intent, RejectedItem,
};
use holon_domain::limits::{BATCH_COMMAND_MS, BATCH_COMMANDS, EVENT_PREVIEW_BYTES, YIELD_MAX_MS};
use holon_domain::tool::{ToolError, ToolErrorKind, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

pub const NAME: &str = "ExecCommandBatch";
/// Arguments that are refused because a batch command has no interactive input.
const INTERACTIVE: [&str; 2] = ["tty", "accepts_input"];
/// Time limit of an item; an earlier name is accepted too.
const TIMEOUT: &str = "timeout_ms";
const OLDER_TIMEOUT: &str = "yield_time_ms";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// 1 to 12 commands: [{"cmd": "git status --short"}, {"cmd": "ls src"}].
    #[schemars(with = "Vec<Item>", length(min = 1, max = BATCH_COMMANDS))]
    items: Vec<Value>,
    /// true skips the rest after a failure or a non-zero status. Default false.
    #[serde(default)]
    #[schemars(with = "bool")]
    stop_on_error: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Item {
    /// Command line for the shell.
    #[schemars(length(min = 1))]
    cmd: String,
    /// As in ExecCommand. Default cwd.
    #[serde(default)]
    #[schemars(with = "String")]
    workdir: Option<String>,
    /// Shell, as in ExecCommand. Rarely needed.
    #[serde(default)]
    #[schemars(with = "String")]
    shell: Option<String>,
    /// true runs a login shell. Default false.
    #[serde(default)]
    #[schemars(with = "bool")]
    login: Option<bool>,
    /// Milliseconds until it is killed. Default 120000.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = YIELD_MAX_MS))]
    timeout_ms: Option<u64>,
    /// As in ExecCommand; the batch shows twice the largest.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    max_output_tokens: Option<u64>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Run short commands in order: the cheap way to look around. None becomes a task or \
                      takes input; what takes long belongs in ExecCommand."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::LocalEnvironment,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    if !(1..=BATCH_COMMANDS).contains(&args.items.len()) {
        let problem = format!(
            "{} commands are not between 1 and {BATCH_COMMANDS}",
            args.items.len()
        );
        return Err(input::invalid(NAME, Some("items"), &problem)
            .hint("give at least one command, and what is over the limit in a further call"));
    }
    let schema = spec.input_schema.pointer("/properties/items/items");
    let items = args.items.iter().enumerate().map(|(place, item)| {
        let subject = Subject::item(NAME, place + 1);
        item_of(subject, schema.unwrap_or(&Value::Null), item)
    });
    let batch = ExecCommandBatch {
        items: items.collect(),
        stop_on_error: args.stop_on_error.unwrap_or(false),
    };
    if let (None, Some(BatchItem::Rejected(first))) = (batch.first_command(), batch.items.first()) {
        // Every item was rejected, so there is nothing to run.
        return Err(first.error.clone());
    }
    Ok(Intent::Host(HostAction::ExecCommandBatch(batch)))
}

fn item_of(subject: Subject<'_>, schema: &Value, item: &Value) -> BatchItem {
    match command_of(subject, schema, item) {
        Ok(command) => BatchItem::Command(command),
        Err(error) => {
            let written = match item.get("cmd").unwrap_or(item) {
                Value::String(cmd) => holon_domain::text::preview(cmd, EVENT_PREVIEW_BYTES),
                other => holon_domain::text::preview(&other.to_string(), EVENT_PREVIEW_BYTES),
            };
            BatchItem::Rejected(RejectedItem { written, error })
        }
    }
}

fn command_of(
    subject: Subject<'_>,
    schema: &Value,
    item: &Value,
) -> Result<ExecCommand, ToolError> {
    // Models often give the bare command.
    let as_object = r#"give each item as a JSON object, like {"cmd": "ls"}"#;
    let mut members = members(subject, item).map_err(|error| error.hint(as_object))?;
    // For arguments of an item, null means absent.
    members.retain(|_, value| !value.is_null());
    refuse_interactive(subject, &members)?;
    rename_timeout(subject, &mut members)?;
    let item: Item = parse_typed(subject, schema, &Value::Object(members))?;
    Ok(ExecCommand {
        cmd: command::cmd(subject, item.cmd)?,
        workdir: command::optional_text(subject, "workdir", item.workdir)?,
        shell: command::optional_text(subject, "shell", item.shell)?,
        login: item.login.unwrap_or(false),
        tty: false,
        accepts_input: false,
        duplicate_policy: DuplicatePolicy::default(),
        yield_time_ms: timeout(subject, item.timeout_ms)?,
        max_output_tokens: command::output_tokens(subject, item.max_output_tokens)?,
    })
}

fn refuse_interactive(subject: Subject<'_>, members: &Map<String, Value>) -> Result<(), ToolError> {
    let Some(field) = INTERACTIVE
        .into_iter()
        .find(|name| members.contains_key(*name))
    else {
        return Ok(());
    };
    let message = format!("{subject} has `{field}`, which a command of a batch does not take");
    let error = ToolError::new(ToolErrorKind::UnsupportedBatchCommandField, message)
        .details(Value::Object(subject.details(Some(field))));
    Err(error.hint(format!(
        "leave {field} out, or run that command with ExecCommand"
    )))
}

fn rename_timeout(subject: Subject<'_>, members: &mut Map<String, Value>) -> Result<(), ToolError> {
    let Some(millis) = members.remove(OLDER_TIMEOUT) else {
        return Ok(());
    };
    if members.contains_key(TIMEOUT) {
        let problem = format!("it is the older name of `{TIMEOUT}`, and both are given");
        return Err(subject
            .invalid(Some(OLDER_TIMEOUT), &problem)
            .hint(format!("give {TIMEOUT} only")));
    }
    members.insert(TIMEOUT.into(), millis);
    Ok(())
}

fn timeout(subject: Subject<'_>, asked: Option<u64>) -> Result<u64, ToolError> {
    let millis = asked.unwrap_or(BATCH_COMMAND_MS);
    if (1..=YIELD_MAX_MS).contains(&millis) {
        return Ok(millis);
    }
    let problem = format!("{millis} is not between 1 and {YIELD_MAX_MS}");
    let hint = "leave timeout_ms out for the usual time, or run what takes longer with ExecCommand: it goes on as a task";
    Err(subject.invalid(Some(TIMEOUT), &problem).hint(hint))
}
