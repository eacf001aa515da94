//! `ListWorkItems`: lists work items, newest change first. The shell answers from the store.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::page;
use holon_domain::WorkItemId;
use holon_domain::intent::{Intent, WorkItemFilter, WorkQuery};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolFamily, ToolSpec};
use holon_domain::work_item::WorkItemView;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAME: &str = "ListWorkItems";

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum FilterArg {
    All,
    Open,
    Completed,
    Current,
    Queued,
    Blocked,
    WaitingForOperator,
    Runnable,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Default all. queued: open, without focus, not blocked; blocked: by a blocker or a wait.
    #[serde(default)]
    #[schemars(with = "FilterArg")]
    filter: Option<FilterArg>,
    /// Default 20, at most 100.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = page::MOST))]
    limit: Option<u64>,
    #[serde(default)]
    include_todo_list: bool,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "List your items without plans, last changed first. Those that matter now are in your prompt."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let filter = match args.filter {
        None | Some(FilterArg::All) => WorkItemFilter::All,
        Some(FilterArg::Open) => WorkItemFilter::Open,
        Some(FilterArg::Completed) => WorkItemFilter::Completed,
        Some(FilterArg::Current) => WorkItemFilter::Current,
        Some(FilterArg::Queued) => WorkItemFilter::Queued,
        Some(FilterArg::Blocked) => WorkItemFilter::Blocked,
        Some(FilterArg::WaitingForOperator) => WorkItemFilter::WaitingForOperator,
        Some(FilterArg::Runnable) => WorkItemFilter::Runnable,
    };
    Ok(Intent::WorkQuery(WorkQuery::Items {
        filter,
        limit: page::limit(Subject::call(NAME), args.limit)?,
        include_todo_list: args.include_todo_list,
    }))
}

/// Builds the answer with as many items as fit a receipt. `current` is the item that has the focus, `total` the number
/// of matches.
#[must_use]
pub fn envelope(
    current: Option<&WorkItemId>,
    filter: WorkItemFilter,
    limit: u32,
    items: &[WorkItemView],
    total: u64,
) -> ToolEnvelope {
    let shown = page::take_fitting(items.iter().map(without_preview));
    let summary = page::summary("work items", shown.len(), total);
    let result = json!({
        "context": { "current_work_item_id": current },
        "filter": filter,
        "returned": shown.len(),
        "total_matching": total,
        "limit": limit,
        "work_items": shown,
    });
    ToolEnvelope::success(NAME, summary, result)
}

/// Removes the preview of the plan, which would fill a list of many items.
fn without_preview(item: &WorkItemView) -> Value {
    let mut item = json!(item);
    if let Some(Value::Object(plan)) = item.get_mut("plan_artifact") {
        plan.remove("preview");
        plan.remove("preview_complete");
    }
    item
}
