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
    /// What to do later, complete in itself: when it comes up, this turn's details may no longer be in view.
    #[schemars(length(min = 1))]
    text: String,
    /// How soon: `next` (the default) right after this turn, and so `interject`, which is for operators, `normal` in line
    /// with other work, `background` when nothing else waits.
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
        description: "Put a follow-up into your own queue. It becomes a turn of its own later, with no more authority \
                      than this turn has. Use it to split off work that should not be lost, not to keep yourself busy."
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
