//! `CreateWorkItem`: creates a work item with its plan file. The shell writes the file, then the kernel creates the
//! item.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::work_item::{self, PlanStatusArg, TodoArg, within};
use holon_domain::block::ToolCall;
use holon_domain::intent::{Intent, NewWorkItem};
use holon_domain::limits::PLAN_BYTES;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind, ToolFamily, ToolSpec};
use holon_domain::work_item::PlanStatus;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAME: &str = "CreateWorkItem";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The aim in a sentence or two, not the way.
    #[schemars(length(min = 1))]
    objective: String,
    /// draft (default), ready, or needs_input if only the operator can settle a point.
    #[serde(default)]
    #[schemars(with = "PlanStatusArg")]
    plan_status: Option<PlanStatusArg>,
    /// First text of the plan file, Markdown. Default empty.
    #[serde(default)]
    #[schemars(with = "String")]
    plan: Option<String>,
    /// Checklist of the steps. Default empty.
    #[serde(default)]
    todo_list: Vec<TodoArg>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Make a work item for work of more than a few steps. Returns its id and the path of \
                      its plan file. PickWorkItem then gives it the focus."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let subject = Subject::call(NAME);
    let limit = usize::try_from(PLAN_BYTES).unwrap_or(usize::MAX);
    within(
        subject,
        "plan",
        args.plan.as_deref().unwrap_or_default(),
        limit,
    )
    .map_err(|error| {
        error.hint("give a shorter plan; it should be short enough to be read at a glance")
    })?;
    Ok(Intent::CreateWorkItem(NewWorkItem {
        objective: work_item::objective(subject, &args.objective)?,
        plan_status: args.plan_status.map_or(PlanStatus::Draft, PlanStatus::from),
        todo_list: work_item::todo_list(subject, args.todo_list)?,
    }))
}

/// Reads the plan from a call; empty if the call has none.
#[must_use]
pub fn plan_of(call: &ToolCall) -> String {
    let members = input::members(Subject::call(NAME), &call.input).unwrap_or_default();
    let plan = members.get("plan").and_then(Value::as_str);
    plan.unwrap_or_default().to_owned()
}

/// Builds the answer for a plan file that could not be written; no item was created.
#[must_use]
pub fn not_written(reason: &str) -> ToolEnvelope {
    let error = ToolError::new(
        ToolErrorKind::ToolExecutionFailed,
        format!("not made: the plan file could not be written: {reason}"),
    )
    .details(json!({ "tool_name": NAME }))
    .hint(
        "look at the folder work-items in your agent home; what stands in the way has to be moved",
    )
    .retryable();
    ToolEnvelope::failure(NAME, error)
}
