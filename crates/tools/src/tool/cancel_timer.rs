//! `CancelTimer`: ends a timer. The kernel answers.

use crate::{input, schema};
use holon_domain::TimerId;
use holon_domain::intent::{Intent, WorkIntent};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CancelTimer";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the timer; ListTimers shows it.
    #[schemars(length(min = 1))]
    timer_id: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "End a timer, so that it does not wake you again.".into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let timer_id = args.timer_id.trim();
    if timer_id.is_empty() {
        return Err(
            input::invalid(NAME, Some("timer_id"), "the timer id is empty")
                .hint("give the id of a timer; ListTimers shows them"),
        );
    }
    Ok(Intent::Work(WorkIntent::CancelTimer {
        timer_id: TimerId::from_stored(timer_id),
    }))
}
