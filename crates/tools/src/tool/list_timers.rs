//! `ListTimers`: lists the agent's active timers. The shell answers from the store.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::page;
use holon_domain::intent::{Intent, WorkQuery};
use holon_domain::timer::TimerRecord;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAME: &str = "ListTimers";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Most timers to list, 1 to 100. Default 20.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = page::MOST))]
    limit: Option<u64>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "List your active timers with their ids, oldest first.".into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let limit = page::limit(Subject::call(NAME), args.limit)?;
    Ok(Intent::WorkQuery(WorkQuery::Timers { limit }))
}

/// Builds the answer with as many timers as fit a receipt; `total` is the number of active ones.
#[must_use]
pub fn envelope(timers: &[TimerRecord], total: u64) -> ToolEnvelope {
    let shown = page::take_fitting(timers.iter().map(|timer| json!(timer)));
    let summary = page::summary("active timers", shown.len(), total);
    let result = json!({
        "returned": shown.len(),
        "total": total,
        "timers": shown,
    });
    ToolEnvelope::success(NAME, summary, result)
}
