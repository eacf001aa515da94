//! `CancelWait`: gives up a wait. The kernel answers.

use crate::{input, schema};
use holon_domain::WaitId;
use holon_domain::intent::{Intent, WorkIntent};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CancelWait";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the wait; AgentGet lists the active ones.
    #[schemars(length(min = 1))]
    wait_id: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Give up a wait, so that its work item may go on unless it is blocked. A new \
                      WaitFor for the item replaces it anyway."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let wait_id = args.wait_id.trim();
    if wait_id.is_empty() {
        return Err(
            input::invalid(NAME, Some("wait_id"), "the wait id is empty")
                .hint("give the id of an active wait; your prompt lists them"),
        );
    }
    Ok(Intent::Work(WorkIntent::CancelWait {
        wait_id: WaitId::from_stored(wait_id),
    }))
}
