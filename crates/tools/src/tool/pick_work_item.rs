//! `PickWorkItem`: gives a work item the focus. The kernel answers.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::work_item;
use holon_domain::intent::{Intent, WorkIntent};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "PickWorkItem";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the item to work on.
    #[schemars(length(min = 1))]
    work_item_id: String,
    /// Why you leave an item that could go on.
    #[serde(default)]
    #[schemars(with = "String")]
    reason: Option<String>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Give an open item the focus, also a blocked one; only you move it. Holon calls you \
                      again for this item."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let reason = args.reason.filter(|reason| !reason.trim().is_empty());
    Ok(Intent::Work(WorkIntent::Pick {
        work_item_id: work_item::work_item_id(Subject::call(NAME), &args.work_item_id)?,
        reason,
    }))
}
