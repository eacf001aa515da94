//! `TaskList`: lists the agent's tasks that have not ended. It has no arguments; the kernel answers.
//!
//! The text form has one short line per task, so that the largest possible list fits a receipt.

use crate::lines::line;
use crate::tool::task::status_name;
use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::task::TaskListEntry;
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "TaskList";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "List your tasks that have not ended, commands and child agents. An end reaches you \
                      as a message anyway."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let Args {} = input::parse(spec, input)?;
    Ok(Intent::TaskList)
}

/// The stored answer, in the current form and in that of the first builds.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum TaskListing {
    Bare(Vec<TaskListEntry>),
    Named { tasks: Vec<TaskListEntry> },
}

/// Renders the list for a model.
pub(crate) fn text(listing: &TaskListing) -> String {
    let (TaskListing::Bare(tasks) | TaskListing::Named { tasks }) = listing;
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
            status_name(task.status),
            task.created_at,
            text::preview(summary, EVENT_PREVIEW_BYTES / 2)
        );
        line(&mut text, &words);
    }
    text
}
