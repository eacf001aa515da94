//! Refusals of calls about work items, each with its next step.

use holon_domain::block::ToolCall;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::{WorkItemId, limits, text};
use serde_json::json;

/// Builds the failed result of a call.
pub(crate) fn refuse(call: &ToolCall, error: ToolError) -> ToolEnvelope {
    ToolEnvelope::failure(&call.name, error)
}

/// Builds the refusal of an id that this agent has no item for.
pub(super) fn unknown(id: &WorkItemId) -> ToolError {
    let id = text::preview(id.as_str(), limits::EVENT_PREVIEW_BYTES);
    ToolError::new(
        ToolErrorKind::UnknownWorkItem,
        format!("this agent has no work item {id:?}"),
    )
    .details(json!({ "work_item_id": id }))
    .hint("ListWorkItems shows the items of this agent with their ids")
}

/// Builds the refusal of an item that is completed.
pub(super) fn completed(id: &WorkItemId) -> ToolError {
    ToolError::new(
        ToolErrorKind::WorkItemCompleted,
        format!("work item {id} is completed and does not change any more"),
    )
    .details(json!({ "work_item_id": id }))
    .hint("make a new item with CreateWorkItem if there is more to do")
}
