//! `GetWorkItem`: reads one work item. The shell answers from the store.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::work_item;
use holon_domain::WorkItemId;
use holon_domain::intent::{Intent, WorkQuery};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolFamily, ToolSpec};
use holon_domain::work_item::WorkItemView;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAME: &str = "GetWorkItem";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the item; ListWorkItems shows it.
    #[schemars(length(min = 1))]
    work_item_id: String,
    /// true adds its checklist. Default false.
    #[serde(default)]
    include_todo_list: bool,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Read one work item, open or completed: state, blocker, path and beginning of its \
                      plan file, report."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    Ok(Intent::WorkQuery(WorkQuery::Item {
        work_item_id: work_item::work_item_id(Subject::call(NAME), &args.work_item_id)?,
        include_todo_list: args.include_todo_list,
    }))
}

/// Builds the answer. `current` is the item that has the focus.
#[must_use]
pub fn envelope(current: Option<&WorkItemId>, item: &WorkItemView) -> ToolEnvelope {
    let result = json!({
        "context": { "current_work_item_id": current },
        "work_item": item,
    });
    let summary = format!("work item {}", item.id);
    ToolEnvelope::success(NAME, summary, result)
}

/// Builds the answer for an id that the agent does not have.
#[must_use]
pub fn unknown(id: &WorkItemId) -> ToolEnvelope {
    work_item::unknown(NAME, id)
}
