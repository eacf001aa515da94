//! `CreateExternalTrigger`: returns the URL by which an outside system wakes the agent. The kernel answers.

use crate::{input, schema};
use holon_domain::intent::{Intent, TriggerIntent};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use holon_domain::trigger::DeliveryMode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CreateExternalTrigger";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// wake_hint: a POST only wakes you, several at once wake you once; then look at the source yourself.
    /// enqueue_message: each POST is a message with its content, if an operator allowed it.
    delivery_mode: Mode,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    WakeHint,
    EnqueueMessage,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Get the secret URL at which another system can wake you by an HTTP POST. Each mode \
                      has one; a repeated call returns it again."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::ExternalTrigger,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let delivery_mode = match args.delivery_mode {
        Mode::WakeHint => DeliveryMode::WakeHint,
        Mode::EnqueueMessage => DeliveryMode::EnqueueMessage,
    };
    Ok(Intent::Trigger(TriggerIntent::Create { delivery_mode }))
}
