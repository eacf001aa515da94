//! `TaskStatus`: where one task stands. The kernel answers; what a task printed is `TaskOutput`'s.

use crate::schema;
use crate::tool::task::{self, Args};
use holon_domain::intent::Intent;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use serde_json::Value;

/// The tool's name.
pub(crate) const NAME: &str = "TaskStatus";

/// The tool as a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Describe one task: its status, its command, whether it takes input, how it ended. Without its \
                      output: for that there is TaskOutput."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// What a call asks for.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let task_id = task::named(spec, input)?;
    Ok(Intent::TaskStatus { task_id })
}
