//! `TaskStop`: ask a task to end, then make it. The kernel decides which of the two a call is.

use crate::schema;
use crate::tool::task::{self, Args};
use holon_domain::intent::Intent;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use serde_json::Value;

/// The tool's name.
pub(crate) const NAME: &str = "TaskStop";

/// The tool as a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Ask a task to end, with every process it started; those that do not are killed a few seconds \
                      later, or at once when you ask a second time. Answers without waiting for the end; what it has \
                      printed stays readable."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// What a call asks for.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let task_id = task::named(spec, input)?;
    Ok(Intent::TaskStop { task_id })
}
