//! `NotifyOperator`: asks for the operator's attention without waiting for an answer.

use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::limits::NOTIFICATION_BYTES;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "NotifyOperator";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    #[schemars(length(min = 1))]
    message: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Notify your operator now; no reply comes back.".into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    if args.message.trim().is_empty() {
        let error = input::invalid(NAME, Some("message"), "the message is empty");
        return Err(error.hint("say what the operator should know"));
    }
    if args.message.len() > NOTIFICATION_BYTES {
        let problem = format!(
            "the message has {} bytes, over the limit of {NOTIFICATION_BYTES}",
            args.message.len()
        );
        let error = input::invalid(NAME, Some("message"), &problem);
        return Err(error.hint("say the main point and name the file that holds the rest"));
    }
    Ok(Intent::NotifyOperator {
        message: args.message,
    })
}
