//! Shared by the tools about tasks: the argument with the task's id, and the answer for an unknown task.

use crate::input::{self, Subject, shown};
use holon_domain::TaskId;
use holon_domain::task::TaskStatus;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Arguments of a tool whose only argument is a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Id of the task, `task_...`; TaskList shows it.
    #[schemars(length(min = 1))]
    task_id: String,
}

/// Reads the task id of a call.
pub(crate) fn parse_task_id(spec: &ToolSpec, input: &Value) -> Result<TaskId, ToolError> {
    let args: Args = input::parse(spec, input)?;
    task_id(Subject::call(&spec.name), &args.task_id)
}

/// Parses a task id that a model wrote. The kernel or shell checks that the task exists.
pub(crate) fn task_id(subject: Subject<'_>, asked: &str) -> Result<TaskId, ToolError> {
    let asked = asked.trim();
    if asked.is_empty() {
        return Err(subject
            .invalid(Some("task_id"), "the task id is empty")
            .hint("give the id of a task; TaskList lists those that run"));
    }
    Ok(TaskId::from_stored(asked))
}

/// Builds the answer of every tool about tasks for an id that the agent does not have.
#[must_use]
pub fn unknown(tool_name: &str, task_id: &TaskId) -> ToolEnvelope {
    let asked = shown(task_id.as_str());
    let error = ToolError::new(
        ToolErrorKind::UnknownTask,
        format!("this agent has no task {asked:?}"),
    )
    .details(json!({"tool_name": tool_name, "field": "task_id", "task_id": asked}))
    .hint(
        "TaskList shows the tasks that are not over; a task's id stands in the result of the call that started it",
    );
    ToolEnvelope::failure(tool_name, error)
}

/// Returns the published spelling of a status.
pub(crate) const fn status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "queued",
        TaskStatus::Running => "running",
        TaskStatus::Cancelling => "cancelling",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
        TaskStatus::Interrupted => "interrupted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_spelled_as_it_is_stored() {
        for status in [
            TaskStatus::Queued,
            TaskStatus::Running,
            TaskStatus::Cancelling,
            TaskStatus::Completed,
            TaskStatus::Failed,
            TaskStatus::Cancelled,
            TaskStatus::Interrupted,
        ] {
            assert_eq!(json!(status), json!(status_name(status)));
        }
    }
}
