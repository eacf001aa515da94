//! `TaskList`: the agent's tasks that are not over. No arguments; the kernel answers.
//!
//! What a model reads of the answer is one short line for each task, so that as many as an agent may have fit a receipt.

use crate::lines::line;
use crate::tool::task::spelled;
use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::task::TaskListEntry;
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The tool's name.
pub(crate) const NAME: &str = "TaskList";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}

/// The tool as a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "List your tasks that are not over: id, status, what each is for and since when it runs. Not \
                      needed to learn of an end: that arrives as a message."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// What a call asks for.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let Args {} = input::parse(spec, input)?;
    Ok(Intent::TaskList)
}

/// The answer, as the kernel writes it, and as it was written at first.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Listed {
    Bare(Vec<TaskListEntry>),
    Named { tasks: Vec<TaskListEntry> },
}

/// What a model reads of it.
pub(crate) fn text(listed: &Listed) -> String {
    let (Listed::Bare(tasks) | Listed::Named { tasks }) = listed;
    let mut text = match tasks.len() {
        0 => "no task runs".to_owned(),
        1 => "1 task is not over".to_owned(),
        count => format!("{count} tasks are not over"),
    };
    for task in tasks {
        let summary = task.summary.as_deref().unwrap_or_default();
        let words = format!(
            "{} {} since {}: {}",
            task.id,
            spelled(task.status),
            task.created_at,
            text::preview(summary, EVENT_PREVIEW_BYTES / 2)
        );
        line(&mut text, &words);
    }
    text
}
