//! `CreateTimer`: wakes the agent once, at an interval, or by a cron expression. The kernel creates the timer and
//! checks that its schedule has a slot, because the kernel knows the time.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::time::{moment, span};
use crate::tool::work_item::within;
use holon_domain::intent::{Intent, NewTimer, WorkIntent};
use holon_domain::limits::{TIMER_MAX_MS, TIMER_SUMMARY_BYTES};
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CreateTimer";
/// Default time zone of a cron expression.
const UTC: &str = "UTC";
/// Longest cron expression or time zone name, in bytes.
const SCHEDULE_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum MissedArg {
    Skip,
    Once,
    All,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TIMER_MAX_MS))]
    after_ms: Option<u64>,
    /// RFC 3339 with offset.
    #[serde(default)]
    #[schemars(with = "String")]
    at: Option<String>,
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TIMER_MAX_MS))]
    every_ms: Option<u64>,
    /// Of every_ms, like at.
    #[serde(default)]
    #[schemars(with = "String")]
    first: Option<String>,
    #[schemars(description = "Five fields.")]
    #[serde(default)]
    #[schemars(with = "String")]
    cron: Option<String>,
    /// For cron; default UTC.
    #[serde(default)]
    #[schemars(with = "String")]
    time_zone: Option<String>,
    /// Times while stopped: once (default) for all, or all up to a bound.
    #[serde(default)]
    #[schemars(with = "MissedArg")]
    missed: Option<MissedArg>,
    #[serde(default)]
    #[schemars(with = "String")]
    summary: Option<String>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Get the summary as a message later: exactly one of after_ms, at, every_ms, cron. To pause, use \
                      WaitFor."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::Core,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    check_combination(&args)?;
    let subject = Subject::call(NAME);
    let summary = args.summary.filter(|summary| !summary.trim().is_empty());
    within(
        subject,
        "summary",
        summary.as_deref().unwrap_or_default(),
        TIMER_SUMMARY_BYTES,
    )
    .map_err(|error| error.hint("say in a few words what is to be done when the timer fires"))?;
    let missed = match args.missed {
        Some(MissedArg::Skip) => MissedSlotPolicy::Skip,
        Some(MissedArg::Once) | None => MissedSlotPolicy::Once,
        Some(MissedArg::All) => MissedSlotPolicy::All,
    };
    let schedule = match (args.after_ms, args.at, args.every_ms, args.cron) {
        (Some(delay), ..) => {
            let delay_ms = span(subject, "after_ms", delay)?;
            return Ok(after(delay_ms, None, missed, summary));
        }
        (None, Some(at), ..) => TimerSchedule::Once {
            at: moment(subject, "at", &at)?,
        },
        (None, None, Some(every), _) => {
            let interval_ms = span(subject, "every_ms", every)?;
            match args.first {
                None => return Ok(after(interval_ms, Some(interval_ms), missed, summary)),
                Some(first) => TimerSchedule::Every {
                    first_at: moment(subject, "first", &first)?,
                    interval_ms,
                },
            }
        }
        (None, None, None, cron) => TimerSchedule::Cron {
            expression: named(subject, "cron", &cron.unwrap_or_default())?,
            time_zone: named(
                subject,
                "time_zone",
                args.time_zone.as_deref().unwrap_or(UTC),
            )?,
        },
    };
    Ok(Intent::Work(WorkIntent::CreateTimer(NewTimer {
        schedule,
        missed,
        summary,
    })))
}

/// Refuses a call with none or several of the four kinds, or with a detail of another kind.
fn check_combination(args: &Args) -> Result<(), ToolError> {
    let kinds = [
        ("after_ms", args.after_ms.is_some()),
        ("at", args.at.is_some()),
        ("every_ms", args.every_ms.is_some()),
        ("cron", args.cron.is_some()),
    ];
    let given: Vec<&str> = kinds
        .iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| *name)
        .collect();
    let problem = match given.as_slice() {
        [_] => None,
        [] => Some((None, "it does not say when the timer fires".to_owned())),
        [_, second, ..] => Some((
            Some(*second),
            format!("{} are given together", given.join(" and ")),
        )),
    };
    let stray = [
        (
            "first",
            args.first.is_some() && args.every_ms.is_none(),
            "every_ms",
        ),
        (
            "time_zone",
            args.time_zone.is_some() && args.cron.is_none(),
            "cron",
        ),
    ];
    let stray = stray.iter().find(|(_, stray, _)| *stray);
    let stray = stray.map(|(name, _, of)| (Some(*name), format!("it is only used with {of}")));
    match problem.or(stray) {
        None => Ok(()),
        Some((field, problem)) => Err(input::invalid(NAME, field, &problem).hint(
            "give exactly one of after_ms, at, every_ms (with first) and cron (with time_zone)",
        )),
    }
}

fn after(
    delay_ms: u64,
    interval_ms: Option<u64>,
    missed: MissedSlotPolicy,
    summary: Option<String>,
) -> Intent {
    Intent::Work(WorkIntent::CreateTimerAfter {
        delay_ms,
        interval_ms,
        missed,
        summary,
    })
}

fn named(subject: Subject<'_>, field: &str, asked: &str) -> Result<String, ToolError> {
    let asked = asked.trim();
    if asked.is_empty() {
        return Err(subject
            .invalid(Some(field), "it is empty")
            .hint("for example cron \"30 9 * * MON-FRI\" with time_zone \"Europe/Berlin\""));
    }
    within(subject, field, asked, SCHEDULE_BYTES)?;
    Ok(asked.to_owned())
}
