//! `Sleep`: ends the turn and rests until something arrives or for a bounded time.
//!
//! The kernel sees the whole round and enforces that this call stands alone in it.

use crate::{input, schema};
use holon_domain::intent::Intent;
use holon_domain::limits::SLEEP_MAX_MS;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "Sleep";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Why you rest, in a few words.
    #[serde(default)]
    #[schemars(with = "String")]
    reason: Option<String>,
    /// Milliseconds until the clock wakes you, at most one day. Default: it does not.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = SLEEP_MAX_MS))]
    duration_ms: Option<u64>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "End the turn and rest until something arrives; if open work waits for something, \
                      use WaitFor. A message that awaits an answer gets one instead. It is the last call \
                      of an answer, like WaitFor."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    // Models often write 0 for "no particular time", although the schema asks them to leave it out.
    let duration_ms = args.duration_ms.filter(|millis| *millis > 0);
    if let Some(millis) = duration_ms.filter(|millis| *millis > SLEEP_MAX_MS) {
        let error = input::invalid(
            NAME,
            Some("duration_ms"),
            &format!("{millis} is over the limit of {SLEEP_MAX_MS}"),
        );
        return Err(error.hint(
            "rest for at most one day, or leave duration_ms out to rest until something arrives",
        ));
    }
    let reason = args.reason.filter(|reason| !reason.trim().is_empty());
    Ok(Intent::Sleep {
        reason,
        duration_ms,
    })
}
