//! `ListWorkItems`: lists work items, newest change first. The shell answers from the store.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::page;
use holon_domain::WorkItemId;
use holon_domain::intent::{Intent, WorkItemFilter, WorkQuery};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolFamily, ToolSpec};
use holon_domain::work_item::{WorkItemCursor, WorkItemCursorError, WorkItemView};
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
    /// all (default), open, completed, current, queued (no focus, no blocker; also while it waits), blocked (by
    /// blocked_by alone), waiting_for_operator, runnable.
    #[serde(default)]
    #[schemars(with = "FilterArg")]
    filter: Option<FilterArg>,
    /// Most items of a page, 1 to 100. Default 20.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = page::MOST))]
    limit: Option<u64>,
    /// true adds the checklists. Default false.
    #[serde(default)]
    include_todo_list: bool,
    /// next_cursor of the last result, for more.
    #[serde(default)]
    #[schemars(with = "String")]
    after: Option<String>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "List your work items, last changed first. Your prompt has those that matter now."
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
    let after = args.after.map(|text| parse_cursor(&text)).transpose()?;
    Ok(Intent::WorkQuery(WorkQuery::Items {
        filter,
        limit: page::limit(Subject::call(NAME), args.limit)?,
        include_todo_list: args.include_todo_list,
        after,
    }))
}

fn parse_cursor(text: &str) -> Result<WorkItemCursor, ToolError> {
    text.parse().map_err(|error: WorkItemCursorError| {
        Subject::call(NAME)
            .invalid(Some("after"), &error.to_string())
            .hint("pass the next_cursor of an earlier answer, or leave it out for the first page")
    })
}

/// A page of items for the answer.
#[derive(Debug, Clone)]
pub struct ItemPage {
    pub filter: WorkItemFilter,
    pub limit: u32,
    /// Items with their positions, newest change first.
    pub items: Vec<(WorkItemCursor, WorkItemView)>,
    /// Number of matches, on any page.
    pub total: u64,
    /// Position behind which the next page begins; absent on the last one.
    pub next: Option<WorkItemCursor>,
}

/// Builds the answer with as many items as fit a receipt. `current` is the item that has the focus. What does not fit is
/// on the next page.
#[must_use]
pub fn envelope(current: Option<&WorkItemId>, page: &ItemPage) -> ToolEnvelope {
    let shown = page::take_fitting(page.items.iter().map(|(_, item)| json!(item)));
    let next = match shown.len().checked_sub(1) {
        Some(last) if shown.len() < page.items.len() => page.items.get(last).map(|(at, _)| *at),
        Some(_) | None => page.next,
    };
    let summary = page::summary("work items", shown.len(), page.total);
    let mut result = json!({
        "context": { "current_work_item_id": current },
        "filter": page.filter,
        "returned": shown.len(),
        "total_matching": page.total,
        "limit": page.limit,
        "work_items": shown,
    });
    if let (Some(next), Some(result)) = (next, result.as_object_mut()) {
        result.insert("next_cursor".to_owned(), json!(next));
    }
    ToolEnvelope::success(NAME, summary, result)
}
