//! `UpdateWorkItem`: changes an open work item. The kernel answers.
//!
//! `blocked_by` has three cases: absent leaves the blocker, `null` and `""` clear it, and a text sets it.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::work_item::{self, PlanStatusArg, TodoArg, within};
use holon_domain::intent::{BlockerChange, Intent, WorkIntent, WorkItemChange};
use holon_domain::limits::{BLOCKED_BY_BYTES, RECHECK_MS, TIMER_MAX_MS};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use holon_domain::work_item::PlanStatus;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "UpdateWorkItem";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Id of the item to change.
    #[schemars(length(min = 1))]
    work_item_id: String,
    /// The new aim, in a sentence or two.
    #[serde(default)]
    #[schemars(with = "String")]
    objective: Option<String>,
    /// draft, ready or needs_input: see CreateWorkItem.
    #[serde(default)]
    #[schemars(with = "PlanStatusArg")]
    plan_status: Option<PlanStatusArg>,
    /// The whole new list; normally one in_progress.
    #[serde(default)]
    #[schemars(with = "Vec<TodoArg>")]
    todo_list: Option<Vec<TodoArg>>,
    /// What keeps all work on it from going on; "" clears.
    #[serde(default)]
    blocked_by: Option<String>,
    /// Milliseconds to a reminder of blocked_by. Default 3600000.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TIMER_MAX_MS))]
    recheck_after: Option<u64>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Change an open work item after material progress; what you leave out stays. The \
                      plan's text is a file: edit that. If an event will wake you, use WaitFor instead \
                      of blocked_by."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let subject = Subject::call(NAME);
    let cleared = input::is_null(subject, input, "blocked_by")?;
    let args: Args = input::parse(spec, input)?;
    let work_item_id = work_item::work_item_id(subject, &args.work_item_id)?;
    let blocker = blocker(subject, args.blocked_by, cleared, args.recheck_after)?;
    let objective = args
        .objective
        .map(|objective| work_item::objective(subject, &objective));
    let todo_list = args
        .todo_list
        .map(|todos| work_item::todo_list(subject, todos));
    let change = WorkItemChange {
        objective: objective.transpose()?,
        plan_status: args.plan_status.map(PlanStatus::from),
        todo_list: todo_list.transpose()?,
        blocker,
    };
    if change == WorkItemChange::default() {
        return Err(subject
            .invalid(None, "nothing is to be changed")
            .hint("give objective, plan_status, todo_list or blocked_by"));
    }
    Ok(Intent::Work(WorkIntent::Update {
        work_item_id,
        change,
    }))
}

fn blocker(
    subject: Subject<'_>,
    text: Option<String>,
    cleared: bool,
    recheck_after: Option<u64>,
) -> Result<Option<BlockerChange>, ToolError> {
    let change = match text {
        None if cleared => Some(BlockerChange::Clear),
        None => None,
        Some(text) if text.is_empty() => Some(BlockerChange::Clear),
        Some(text) if text.trim().is_empty() => {
            return Err(subject
                .invalid(Some("blocked_by"), "the blocker is only whitespace")
                .hint("say what blocks the objective, or give null to clear the blocker"));
        }
        Some(text) => {
            let text = text.trim();
            within(subject, "blocked_by", text, BLOCKED_BY_BYTES)
                .map_err(|error| error.hint("a sentence or two; the rest belongs into the plan"))?;
            Some(BlockerChange::Set {
                text: text.to_owned(),
                recheck_after_ms: recheck(subject, recheck_after)?,
            })
        }
    };
    if recheck_after.is_some() && !matches!(change, Some(BlockerChange::Set { .. })) {
        return Err(subject
            .invalid(
                Some("recheck_after"),
                "there is no blocker to look at again",
            )
            .hint("give blocked_by with it, or leave recheck_after out"));
    }
    Ok(change)
}

fn recheck(subject: Subject<'_>, asked: Option<u64>) -> Result<u64, ToolError> {
    match asked {
        None => Ok(RECHECK_MS),
        Some(millis) if (1..=TIMER_MAX_MS).contains(&millis) => Ok(millis),
        Some(millis) => {
            let problem = format!("{millis} is not between 1 and {TIMER_MAX_MS}");
            Err(subject
                .invalid(Some("recheck_after"), &problem)
                .hint("leave it out to be reminded after one hour"))
        }
    }
}
