//! `AgentGet`: the agent looks at itself. No arguments; the kernel answers with the agent's summary.

use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The tool's name.
pub(crate) const NAME: &str = "AgentGet";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}

/// The tool as a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Describe yourself: identity, status, what is queued, the model you run on, your tokens so far, \
                      and the workspace your commands run in. Changes nothing."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// What a call asks for.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let Args {} = input::parse(spec, input)?;
    Ok(Intent::AgentGet)
}
