//! `TaskStatus`: shows the status of one task. The kernel answers; `TaskOutput` shows what a task printed.

use crate::schema;
use crate::tool::task::{self, Args};
use holon_domain::intent::Intent;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use serde_json::Value;

pub(crate) const NAME: &str = "TaskStatus";

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Show status, command and end of one task, not its output, which TaskOutput reads."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let task_id = task::parse_task_id(spec, input)?;
    Ok(Intent::TaskStatus { task_id })
}
