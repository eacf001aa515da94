//! `Enqueue`: adds a follow-up message to the agent's own queue.
//!
//! The kernel copies the authority of the turn to the follow-up; nothing here can raise it.

use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::limits::MESSAGE_BODY_BYTES;
use holon_domain::message::Priority;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "Enqueue";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The message, complete in itself.
    #[schemars(length(min = 1))]
    text: String,
    /// next (default), normal, interject: after this turn; background: when nothing else waits.
    #[serde(default)]
    #[schemars(with = "PriorityArg")]
    priority: Option<PriorityArg>,
}

// The published spelling of `Priority`; variants carry no documentation so that the schema is a plain `enum`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum PriorityArg {
    #[serde(alias = "interrupt")]
    Interject,
    Next,
    Normal,
    Background,
}

impl From<PriorityArg> for Priority {
    fn from(priority: PriorityArg) -> Self {
        match priority {
            PriorityArg::Interject => Self::Interject,
            PriorityArg::Next => Self::Next,
            PriorityArg::Normal => Self::Normal,
            PriorityArg::Background => Self::Background,
        }
    }
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Queue a message to yourself that begins a later turn with this turn's authority: \
                      for work that must not be lost and does not belong here, not to keep busy. Your \
                      current work item goes on by itself."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    if args.text.trim().is_empty() {
        return Err(input::invalid(NAME, Some("text"), "the text is empty")
            .hint("say what is to be done later"));
    }
    if args.text.len() > MESSAGE_BODY_BYTES {
        let problem = format!(
            "the text has {} bytes, over the limit of {MESSAGE_BODY_BYTES}",
            args.text.len()
        );
        let error = input::invalid(NAME, Some("text"), &problem);
        return Err(error.hint("write the material to a file and enqueue its path"));
    }
    let priority = args.priority.map_or(Priority::Next, Priority::from);
    Ok(Intent::Enqueue {
        text: args.text,
        priority,
    })
}
