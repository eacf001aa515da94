//! `CompleteWorkItem`: closes a work item permanently. The kernel answers and promotes the report of the round.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::notify_operator::check_attachments;
use crate::tool::work_item;
use holon_domain::intent::{Intent, WorkIntent};
use holon_domain::limits::ATTACHMENTS_PER_NOTIFICATION;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CompleteWorkItem";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the item that is done.
    #[schemars(length(min = 1))]
    work_item_id: String,
    /// Up to 8 files for the report, as paths in your home.
    #[serde(default)]
    #[schemars(length(max = ATTACHMENTS_PER_NOTIFICATION))]
    attachments: Vec<String>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Close a work item for good that is achieved and checked. The text of this very \
                      answer is its report and is delivered to your operator: do not repeat it \
                      afterwards."
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
        attachments: check_attachments(NAME, args.attachments)?,
    }))
}
