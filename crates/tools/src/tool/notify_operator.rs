//! `NotifyOperator`: asks for the operator's attention without waiting for an answer.

use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::limits::{ATTACHMENTS_PER_NOTIFICATION, NOTIFICATION_BYTES};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "NotifyOperator";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The message, complete in itself, at most 4096 bytes.
    #[schemars(length(min = 1))]
    message: String,
    /// Up to 8 files, as paths in your home.
    #[serde(default)]
    #[schemars(length(max = ATTACHMENTS_PER_NOTIFICATION))]
    attachments: Vec<String>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Tell your operator something at once; no reply comes back. The answer to a prompt \
                      is delivered anyway; the last text of a turn that a timer, a tick or an event \
                      began is not. A question belongs in WaitFor."
                .into(),
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
        attachments: check_attachments(NAME, args.attachments)?,
    })
}

/// Checks the number of files that one call attaches.
pub(crate) fn check_attachments(
    tool: &str,
    attachments: Vec<String>,
) -> Result<Vec<String>, ToolError> {
    if attachments.len() <= ATTACHMENTS_PER_NOTIFICATION {
        return Ok(attachments);
    }
    let problem = format!(
        "there are {} attachments, over the limit of {ATTACHMENTS_PER_NOTIFICATION}",
        attachments.len()
    );
    let error = input::invalid(tool, Some("attachments"), &problem);
    Err(error.hint("put them into one archive, or name the folder that holds them"))
}
