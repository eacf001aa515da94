//! `CompleteWorkItem`: closes a work item permanently. The kernel answers and promotes the report of the round.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::work_item;
use holon_domain::intent::{Intent, WorkIntent};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CompleteWorkItem";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    #[schemars(length(min = 1))]
    work_item_id: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Complete, for good, one item that is achieved and checked. The text of this very \
                      message is its report to the operator."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    Ok(Intent::Work(WorkIntent::Complete {
        work_item_id: work_item::work_item_id(Subject::call(NAME), &args.work_item_id)?,
    }))
}
