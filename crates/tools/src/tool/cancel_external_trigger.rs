//! `CancelExternalTrigger`: revokes a capability of the agent. The kernel answers.

use crate::{input, schema};
use holon_domain::TriggerId;
use holon_domain::intent::{Intent, TriggerIntent};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CancelExternalTrigger";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id that CreateExternalTrigger returned, `trig_...`.
    #[schemars(length(min = 1))]
    external_trigger_id: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Revoke one of your external trigger URLs, for example because it leaked."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::ExternalTrigger,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let id = args.external_trigger_id.trim();
    if id.is_empty() {
        let field = Some("external_trigger_id");
        return Err(input::invalid(NAME, field, "the trigger id is empty")
            .hint("give the id that CreateExternalTrigger returned"));
    }
    Ok(Intent::Trigger(TriggerIntent::Cancel {
        external_trigger_id: TriggerId::from_stored(id),
    }))
}
