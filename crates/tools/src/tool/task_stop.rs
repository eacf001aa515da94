//! `TaskStop`: asks a task to end. Its processes are killed after a grace period, or at once on a second call; the kernel
//! decides which of the two applies.

use crate::schema;
use crate::tool::task::{self, Args};
use holon_domain::intent::Intent;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use serde_json::Value;

pub(crate) const NAME: &str = "TaskStop";

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "End a task with all its processes: killed after seconds, or at once on a second \
                      call. Does not wait; TaskStatus tells the end."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let task_id = task::parse_task_id(spec, input)?;
    Ok(Intent::TaskStop { task_id })
}
