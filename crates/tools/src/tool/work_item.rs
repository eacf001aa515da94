//! Shared by the tools about work items: the argument with the item's id, objectives, checklists, and the published
//! shapes of items.

use crate::input::{Subject, shown};
use holon_domain::WorkItemId;
use holon_domain::limits::{OBJECTIVE_CHARACTERS, TODO_ITEMS, TODO_TEXT_CHARACTERS};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::work_item::{PlanStatus, TodoItem, TodoState};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

// The published spelling of `PlanStatus`. It has no documentation, because that would be in every schema.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum PlanStatusArg {
    Draft,
    Ready,
    NeedsInput,
}

impl From<PlanStatusArg> for PlanStatus {
    fn from(status: PlanStatusArg) -> Self {
        match status {
            PlanStatusArg::Draft => Self::Draft,
            PlanStatusArg::Ready => Self::Ready,
            PlanStatusArg::NeedsInput => Self::NeedsInput,
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum TodoStateArg {
    Pending,
    InProgress,
    Completed,
}

// An entry of a checklist; without documentation of its own, which would stand in every schema.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct TodoArg {
    /// The step, in one line.
    #[schemars(length(min = 1))]
    text: String,
    /// How far this step is.
    state: TodoStateArg,
}

/// Parses an item id that a model wrote. The kernel or shell checks that the item exists.
pub(crate) fn work_item_id(subject: Subject<'_>, asked: &str) -> Result<WorkItemId, ToolError> {
    let asked = asked.trim();
    if asked.is_empty() {
        return Err(subject
            .invalid(Some("work_item_id"), "the work item id is empty")
            .hint("give the id of an item; ListWorkItems shows them"));
    }
    Ok(WorkItemId::from_stored(asked))
}

/// Checks an objective against its limits.
pub(crate) fn objective(subject: Subject<'_>, asked: &str) -> Result<String, ToolError> {
    let asked = asked.trim();
    let hint =
        "say in one or two sentences what is to be achieved; the details belong into the plan";
    if asked.is_empty() {
        let error = subject.invalid(Some("objective"), "the objective is empty");
        return Err(error.hint(hint));
    }
    within_characters(subject, "objective", asked, OBJECTIVE_CHARACTERS)
        .map_err(|error| error.hint(hint))?;
    Ok(asked.to_owned())
}

/// Checks a checklist against its limits.
pub(crate) fn todo_list(
    subject: Subject<'_>,
    asked: Vec<TodoArg>,
) -> Result<Vec<TodoItem>, ToolError> {
    if asked.len() > TODO_ITEMS {
        let problem = format!("{} entries, over the limit of {TODO_ITEMS}", asked.len());
        return Err(subject
            .invalid(Some("todo_list"), &problem)
            .hint("keep the list short: larger steps here, details in the plan"));
    }
    let entry = |todo: TodoArg| {
        let text = todo.text.trim();
        if text.is_empty() {
            return Err(subject
                .invalid(Some("todo_list"), "an entry has no text")
                .hint("give each entry a text, or leave the entry out"));
        }
        within_characters(subject, "todo_list", text, TODO_TEXT_CHARACTERS)
            .map_err(|error| error.hint("one line for each entry; details belong into the plan"))?;
        Ok(TodoItem {
            text: text.to_owned(),
            state: match todo.state {
                TodoStateArg::Pending => TodoState::Pending,
                TodoStateArg::InProgress => TodoState::InProgress,
                TodoStateArg::Completed => TodoState::Completed,
            },
        })
    };
    asked.into_iter().map(entry).collect()
}

/// Refuses a text of more characters than its limit.
pub(crate) fn within_characters(
    subject: Subject<'_>,
    field: &str,
    text: &str,
    limit: usize,
) -> Result<(), ToolError> {
    let characters = text.chars().count();
    if characters <= limit {
        return Ok(());
    }
    let problem = format!("{characters} characters, over the limit of {limit}");
    Err(subject.invalid(Some(field), &problem))
}

/// Refuses a text of more bytes than its limit.
pub(crate) fn within(
    subject: Subject<'_>,
    field: &str,
    text: &str,
    limit: usize,
) -> Result<(), ToolError> {
    if text.len() <= limit {
        return Ok(());
    }
    let problem = format!("{} bytes, over the limit of {limit}", text.len());
    Err(subject.invalid(Some(field), &problem))
}

/// Builds the answer for an id that the agent does not have.
pub(crate) fn unknown(tool_name: &str, id: &WorkItemId) -> ToolEnvelope {
    let asked = shown(id.as_str());
    let error = ToolError::new(
        ToolErrorKind::UnknownWorkItem,
        format!("this agent has no work item {asked:?}"),
    )
    .details(json!({"tool_name": tool_name, "field": "work_item_id", "work_item_id": asked}))
    .hint("ListWorkItems shows the items of this agent with their ids");
    ToolEnvelope::failure(tool_name, error)
}
