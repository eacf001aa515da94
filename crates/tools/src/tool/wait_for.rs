//! `WaitFor`: ends the turn and declares what will wake the agent. The kernel creates the wait.
//!
//! The kernel checks that the call stands alone in its round and that a named task still runs.

use crate::input::{self, Subject, shown};
use crate::schema;
use crate::tool::time::{moment, span, span_of};
use crate::tool::work_item::{self, within, within_characters};
use holon_domain::intent::{Intent, NewWait, WakeCondition};
use holon_domain::limits::{
    ORIGIN_NAME_CHARACTERS, TIMER_MAX_MS, WAIT_CHOICE_BYTES, WAIT_CHOICES, WAIT_QUESTION_BYTES,
    WAIT_REASON_BYTES, WAKE_SOURCES,
};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use holon_domain::wait::WaitQuestion;
use holon_domain::{TaskId, TriggerId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) const NAME: &str = "WaitFor";

const FORMS: &str = "each entry of wake_on is \"operator\", \"external\", \"external:github\", \"trig_..\", \"task_..\", \
                     \"2026-03-01T09:00:00Z\" or \"after_ms:60000\"";

/// A wake by any message of an operator, also beside a question.
const ANY_OPERATOR: &str = "operator:any";
const QUESTION_FORM: &str =
    "question is {\"text\": \"Go on?\", \"choices\": [\"yes\", \"no\"]}, choices optional";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What you wait for, and what you will do then.
    #[schemars(length(min = 1))]
    reason: String,
    /// 1 to 16 of: operator, external (any outside event), external:SOURCE, a trigger id, a task id (its end),
    /// after_ms:N, a time in RFC 3339 with offset.
    #[schemars(with = "Vec<WakeArg>", length(min = 1, max = WAKE_SOURCES))]
    wake_on: Vec<Value>,
    /// Item that waits. Default: the one with the focus.
    #[serde(default)]
    #[schemars(with = "String")]
    work_item_id: Option<String>,
    /// Subject of the event, such as a PR number.
    #[serde(default)]
    #[schemars(with = "String")]
    external_ref: Option<String>,
    /// For the operator, complete in itself; wake_on then holds operator, and only the answer ends the wait
    /// (operator:any: any message).
    #[serde(default)]
    #[schemars(with = "QuestionArg")]
    question: Option<Value>,
    /// Milliseconds until you look anyway. Default never.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TIMER_MAX_MS))]
    recheck_after: Option<u64>,
}

/// A question to the operator. A plain string is understood too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct QuestionArg {
    /// What is to be decided, and what you would do.
    #[schemars(length(min = 1))]
    text: String,
    /// Up to 8 answers, your recommendation first.
    #[serde(default)]
    #[schemars(with = "Vec<String>", length(max = WAIT_CHOICES))]
    choices: Option<Vec<String>>,
}

// Only for the schema: entries are parsed one by one, so that an error names the entry. A string takes far fewer tokens
// than an object for each kind; objects of one member, which were published before, are still understood.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes the schema and is never made")]
struct WakeArg(
    #[schemars(regex(
        pattern = r"^(operator(:any)?|external(:.+)?|trig_.+|task_.+|after_ms:[1-9][0-9]*|[0-9]{4}-.+)$"
    ))]
    String,
);

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "End the turn with open work until the first of wake_on. The wait survives \
                      restarts; only its item rests. Text beside the call is delivered. It is the last \
                      call of an answer: if a call before it failed or looked something up, you read \
                      that result first. Example: {\"reason\": \"review of PR 12, then merge\", \
                      \"wake_on\": [\"external:github\", \"after_ms:3600000\"]}."
            .into(),
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
    let question = match &args.question {
        Some(asked) if !asked.is_null() => Some(question(subject, asked, &args.wake_on)?),
        Some(_) | None => None,
    };
    Ok(Intent::WaitFor(NewWait {
        reason: reason.to_owned(),
        question,
        wake_on: wake_on(subject, &args.wake_on)?,
        work_item_id: work_item_id.transpose()?,
        external_ref: name(subject, "external_ref", args.external_ref.as_deref())?,
        recheck_after_ms: recheck.transpose()?,
    }))
}

/// Reads a question. It needs an operator among the wakes, or its answer would end nothing.
fn question(
    subject: Subject<'_>,
    asked: &Value,
    wake_on: &[Value],
) -> Result<WaitQuestion, ToolError> {
    let wrong = |problem: &str| subject.invalid(Some("question"), problem);
    let asked = match asked {
        Value::String(text) => QuestionArg {
            text: text.clone(),
            choices: None,
        },
        other => serde_json::from_value(other.clone())
            .map_err(|error| wrong(&error.to_string()).hint(QUESTION_FORM))?,
    };
    let text = asked.text.trim();
    if text.is_empty() {
        return Err(wrong("the question is empty").hint(QUESTION_FORM));
    }
    within(subject, "question", text, WAIT_QUESTION_BYTES)?;
    let choices = asked.choices.unwrap_or_default();
    if choices.len() > WAIT_CHOICES {
        let problem = format!(
            "{} choices, over the limit of {WAIT_CHOICES}",
            choices.len()
        );
        return Err(
            wrong(&problem).hint("offer the few that matter; the operator may write others")
        );
    }
    let choices = choices.iter().map(|choice| choice.trim());
    let choices: Vec<&str> = choices.filter(|choice| !choice.is_empty()).collect();
    for choice in &choices {
        within(subject, "question", choice, WAIT_CHOICE_BYTES)?;
    }
    let is = |word: &str| {
        wake_on
            .iter()
            .any(|entry| entry.as_str().map(str::trim) == Some(word))
    };
    let as_object = |entry: &Value| entry.get("operator").is_some_and(|value| !value.is_null());
    let any_message = is(ANY_OPERATOR);
    if !any_message && !is("operator") && !wake_on.iter().any(as_object) {
        return Err(wrong("no answer would end the wait").hint("add \"operator\" to wake_on"));
    }
    Ok(WaitQuestion {
        text: text.to_owned(),
        choices: choices.into_iter().map(str::to_owned).collect(),
        any_message,
    })
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
        ("operator" | ANY_OPERATOR, _) => Ok(WakeCondition::Operator),
        (trigger, _) if trigger.starts_with("trig_") => Ok(WakeCondition::Trigger {
            external_trigger_id: TriggerId::from_stored(trigger),
        }),
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
        within_characters(subject, field, asked, ORIGIN_NAME_CHARACTERS)?;
    }
    Ok(asked.map(str::to_owned))
}

fn wrong(subject: Subject<'_>, problem: &str) -> ToolError {
    subject.invalid(Some("wake_on"), problem).hint(FORMS)
}
