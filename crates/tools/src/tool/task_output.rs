//! `TaskOutput`: reads a task's output: its two ends, its last lines, or only what is new.
//!
//! Owns the arguments and their rules; `part` decides how much is shown, `envelope` owns the result shape and `text`
//! its text form. Files are read by the shell.

mod envelope;
mod part;
mod text;

pub use envelope::{cut_short, envelope, shown_bytes};
pub(crate) use text::text;

use crate::input::Subject;
use crate::tool::{command, task};
use crate::{input, schema};
use holon_domain::intent::{Intent, TaskOutput};
use holon_domain::limits::{TASK_WAIT_MAX_MS, TASK_WAIT_MS};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub const NAME: &str = "TaskOutput";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the task, `task_...`; TaskList shows it.
    #[schemars(length(min = 1))]
    task_id: String,
    /// true waits for its end. Default true, but false with offsets or tail_lines.
    #[serde(default)]
    #[schemars(with = "bool")]
    block: Option<bool>,
    /// Longest wait in milliseconds. Default 30000, max 600000.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 0, max = TASK_WAIT_MAX_MS))]
    timeout_ms: Option<u64>,
    /// Show output, or a terminal, from this byte on.
    #[serde(default)]
    #[schemars(with = "u64")]
    after_byte: Option<u64>,
    /// Show standard error from this byte on.
    #[serde(default)]
    #[schemars(with = "u64")]
    stderr_after_byte: Option<u64>,
    /// Last lines of each stream; not with offsets.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    tail_lines: Option<u64>,
    /// Tokens of output to show. Default 8000, max 64000.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    max_output_tokens: Option<u64>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Read status and output of a task, by default after its end. The offsets of the \
                      last result show what is new. To wait for long, use WaitFor."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let subject = Subject::call(NAME);
    let wait_ms = wait(&args)?;
    Ok(Intent::TaskOutput(TaskOutput {
        tail_lines: tail_lines(&args)?,
        task_id: task::task_id(subject, &args.task_id)?,
        wait_ms,
        after_byte: args.after_byte,
        stderr_after_byte: args.stderr_after_byte,
        max_output_tokens: command::output_tokens(subject, args.max_output_tokens)?,
    }))
}

/// Returns the time to wait. A request for a part does not wait, unless it names a time.
fn wait(args: &Args) -> Result<Option<u64>, ToolError> {
    let millis = args.timeout_ms.unwrap_or(TASK_WAIT_MS);
    if millis > TASK_WAIT_MAX_MS {
        let problem = format!("{millis} is not between 0 and {TASK_WAIT_MAX_MS}");
        let hint = "wait less, or not at all: the end of a task arrives as a message by itself";
        return Err(input::invalid(NAME, Some("timeout_ms"), &problem).hint(hint));
    }
    let part_only =
        args.after_byte.is_some() || args.stderr_after_byte.is_some() || args.tail_lines.is_some();
    let block = args
        .block
        .unwrap_or_else(|| args.timeout_ms.is_some() || !part_only);
    Ok(Some(millis).filter(|millis| block && *millis > 0))
}

fn tail_lines(args: &Args) -> Result<Option<u32>, ToolError> {
    let Some(lines) = args.tail_lines else {
        return Ok(None);
    };
    if lines == 0 {
        return Err(
            input::invalid(NAME, Some("tail_lines"), "it must be at least 1")
                .hint("leave tail_lines out to see the beginning and the end"),
        );
    }
    let offset = [
        ("after_byte", args.after_byte),
        ("stderr_after_byte", args.stderr_after_byte),
    ];
    if let Some((name, _)) = offset.into_iter().find(|(_, offset)| offset.is_some()) {
        let problem = format!("`{name}` is given too");
        let hint = "give offsets to read on, or tail_lines to see the last lines, not both";
        return Err(input::invalid(NAME, Some("tail_lines"), &problem).hint(hint));
    }
    Ok(Some(u32::try_from(lines).unwrap_or(u32::MAX)))
}
