//! `WaitFor`: ends the turn and declares what will wake the agent. The kernel creates the wait.
//!
//! The kernel checks that the call stands alone in its round and that a named task still runs.

use crate::input::{self, Subject, shown};
use crate::schema;
use crate::tool::time::{moment, span, span_of};
use crate::tool::work_item::{self, within};
use holon_domain::TaskId;
use holon_domain::intent::{Intent, NewWait, WakeCondition};
use holon_domain::limits::{ORIGIN_NAME_BYTES, TIMER_MAX_MS, WAIT_REASON_BYTES, WAKE_SOURCES};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) const NAME: &str = "WaitFor";

const FORMS: &str = "each entry of wake_on is \"operator\", \"external\", \"external:github\", \"task_..\", \
                     \"2026-03-01T09:00:00Z\" or \"after_ms:60000\"";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What you wait for and will do then.
    #[schemars(length(min = 1))]
    reason: String,
    /// operator, external (any) or external:SOURCE, a task id (its end), after_ms:N, RFC 3339 with offset.
    #[schemars(with = "Vec<WakeArg>", length(min = 1, max = WAKE_SOURCES))]
    wake_on: Vec<Value>,
    #[schemars(description = "Default the current.")]
    #[serde(default)]
    #[schemars(with = "String")]
    work_item_id: Option<String>,
    #[schemars(description = "Such as a PR number.")]
    #[serde(default)]
    #[schemars(with = "String")]
    external_ref: Option<String>,
    /// Ms until you look anyway, if the event may be missed.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TIMER_MAX_MS))]
    recheck_after: Option<u64>,
}

// Only for the schema: entries are parsed one by one, so that an error names the entry. A string takes far fewer tokens
// than an object for each kind; objects of one member, which were published before, are still understood.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes the schema and is never made")]
struct WakeArg(
    #[schemars(regex(
        pattern = r"^(operator|external(:.+)?|task_.+|after_ms:[1-9][0-9]*|[0-9]{4}-.+)$"
    ))]
    String,
);

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "End the turn with open work until the first of wake_on. Survives restarts; only its item rests. Call it \
                      alone.".into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let subject = Subject::call(NAME);
    let reason = args.reason.trim();
    if reason.is_empty() {
        return Err(subject
            .invalid(Some("reason"), "the reason is empty")
            .hint("say what you wait for"));
    }
    within(subject, "reason", reason, WAIT_REASON_BYTES)
        .map_err(|error| error.hint("a sentence or two; the rest belongs into the plan"))?;
    let work_item_id = args
        .work_item_id
        .map(|id| work_item::work_item_id(subject, &id));
    let recheck = args
        .recheck_after
        .map(|millis| span(subject, "recheck_after", millis));
    Ok(Intent::WaitFor(NewWait {
        reason: reason.to_owned(),
        wake_on: wake_on(subject, &args.wake_on)?,
        work_item_id: work_item_id.transpose()?,
        external_ref: name(subject, "external_ref", args.external_ref.as_deref())?,
        recheck_after_ms: recheck.transpose()?,
    }))
}

fn wake_on(subject: Subject<'_>, entries: &[Value]) -> Result<Vec<WakeCondition>, ToolError> {
    if entries.is_empty() {
        return Err(wrong(subject, "nothing would end the wait"));
    }
    if entries.len() > WAKE_SOURCES {
        let problem = format!(
            "{} entries, over the limit of {WAKE_SOURCES}",
            entries.len()
        );
        return Err(subject
            .invalid(Some("wake_on"), &problem)
            .hint("name the few things that really matter"));
    }
    entries.iter().map(|entry| one(subject, entry)).collect()
}

fn one(subject: Subject<'_>, entry: &Value) -> Result<WakeCondition, ToolError> {
    match entry {
        Value::String(word) => spelled(subject, word.trim()),
        Value::Object(members) => object(subject, members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            let problem = format!("{} is not known", shown(&entry.to_string()));
            Err(wrong(subject, &problem))
        }
    }
}

fn spelled(subject: Subject<'_>, word: &str) -> Result<WakeCondition, ToolError> {
    match (word, word.split_once(':')) {
        ("operator", _) => Ok(WakeCondition::Operator),
        ("external", _) => Ok(WakeCondition::External { source: None }),
        (task, _) if task.starts_with("task_") => Ok(WakeCondition::Task {
            task_id: TaskId::from_stored(task),
        }),
        (_, Some(("external", source))) => Ok(WakeCondition::External {
            source: name(subject, "wake_on", Some(source))?,
        }),
        (_, Some(("after_ms", millis))) => {
            let millis = millis
                .trim()
                .parse::<u64>()
                .map_or_else(|_| Value::from(millis), Value::from);
            let delay_ms = span_of(subject, "wake_on", &millis)?;
            Ok(WakeCondition::After { delay_ms })
        }
        (time, _) if time.starts_with(|first: char| first.is_ascii_digit()) => {
            let at = moment(subject, "wake_on", time)?;
            Ok(WakeCondition::Time { at })
        }
        (other, _) => Err(wrong(subject, &format!("{:?} is not known", shown(other)))),
    }
}

fn object(subject: Subject<'_>, members: &Map<String, Value>) -> Result<WakeCondition, ToolError> {
    // Strict emission fills what a model leaves out with null.
    let given: Vec<(&str, &Value)> = members
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    let [(kind, value)] = given.as_slice() else {
        let problem = format!("an entry holds {} things instead of one", given.len());
        return Err(wrong(subject, &problem));
    };
    let text = value.as_str().map(str::trim);
    match (*kind, text) {
        ("task", Some(task)) if !task.is_empty() => Ok(WakeCondition::Task {
            task_id: TaskId::from_stored(task),
        }),
        ("external", Some(source)) => Ok(WakeCondition::External {
            source: name(subject, "wake_on", Some(source))?,
        }),
        ("external", None) if value.as_bool() == Some(true) => {
            Ok(WakeCondition::External { source: None })
        }
        ("operator", _) if value.as_bool() != Some(false) => Ok(WakeCondition::Operator),
        ("time", Some(time)) => Ok(WakeCondition::Time {
            at: moment(subject, "wake_on", time)?,
        }),
        ("after_ms", _) => Ok(WakeCondition::After {
            delay_ms: span_of(subject, "wake_on", value)?,
        }),
        (other, _) => {
            let problem = format!("the entry {:?} is not understood", shown(other));
            Err(wrong(subject, &problem))
        }
    }
}

/// Checks a name in an outside system; `None` if it is empty.
fn name(
    subject: Subject<'_>,
    field: &str,
    asked: Option<&str>,
) -> Result<Option<String>, ToolError> {
    let asked = asked.map(str::trim).filter(|asked| !asked.is_empty());
    if let Some(asked) = asked {
        within(subject, field, asked, ORIGIN_NAME_BYTES)?;
    }
    Ok(asked.map(str::to_owned))
}

fn wrong(subject: Subject<'_>, problem: &str) -> ToolError {
    subject.invalid(Some("wake_on"), problem).hint(FORMS)
}
