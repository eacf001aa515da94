//! `AgentGet`: shows the agent its own summary. It has no arguments; the kernel answers.

use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "AgentGet";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Show your own state: status, queue, waits, timers, child agents, model, tokens, \
                      workspace. Call it only for a fact that your requests do not name."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let Args {} = input::parse(spec, input)?;
    Ok(Intent::AgentGet)
}
