//! `CreateTimer`: wakes the agent once, at an interval, or by a cron expression. The kernel creates the timer and
//! checks that its schedule has a slot, because the kernel knows the time.

use crate::input::{self, Subject};
use crate::schema;
use crate::tool::time::{moment, span};
use crate::tool::work_item::{within, within_characters};
use holon_domain::intent::{Intent, NewTimer, WorkIntent};
use holon_domain::limits::{TIMER_MAX_MS, TIMER_SUMMARY_CHARACTERS};
use holon_domain::timer::{MissedSlotPolicy, NO_ZONE, TimerSchedule};
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "CreateTimer";
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
    /// Milliseconds from now to the only tick.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TIMER_MAX_MS))]
    after_ms: Option<u64>,
    /// Time of the only tick, in RFC 3339 with offset.
    #[serde(default)]
    #[schemars(with = "String")]
    at: Option<String>,
    /// Milliseconds between ticks, at least 1000.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = TIMER_MAX_MS))]
    every_ms: Option<u64>,
    /// First tick of every_ms, written like at. Default: after one interval.
    #[serde(default)]
    #[schemars(with = "String")]
    first: Option<String>,
    /// minute hour day month weekday: `30 9 * * 1-5` is 9:30 on workdays.
    #[serde(default)]
    #[schemars(with = "String")]
    cron: Option<String>,
    /// IANA name for cron, such as Europe/Berlin. Default: your operator's zone.
    #[serde(default)]
    #[schemars(with = "String")]
    time_zone: Option<String>,
    /// Ticks that were due while you were stopped: once (default) for all of them, all up to a bound, or skip.
    #[serde(default)]
    #[schemars(with = "MissedArg")]
    missed: Option<MissedArg>,
    /// The message that you will get, complete in itself.
    #[schemars(length(min = 1))]
    summary: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Get a message from yourself later: its summary, and exactly one of after_ms, at, \
                      every_ms, cron. Every tick costs a turn. To pause, use WaitFor; to go on after \
                      this turn, Enqueue."
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
    let summary = Some(summary(subject, &args.summary)?);
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
            time_zone: match args.time_zone {
                Some(zone) => named(subject, "time_zone", &zone)?,
                None => NO_ZONE.to_owned(),
            },
        },
    };
    Ok(Intent::Work(WorkIntent::CreateTimer(NewTimer {
        schedule,
        missed,
        summary,
    })))
}

/// Checks the text of the ticks. A tick without one would cost a turn that does not know why it runs.
fn summary(subject: Subject<'_>, asked: &str) -> Result<String, ToolError> {
    let hint =
        "say what is to be done when the timer fires: the summary is the message that you get then";
    let asked = asked.trim();
    if asked.is_empty() {
        let error = subject.invalid(Some("summary"), "the summary is empty");
        return Err(error.hint(hint));
    }
    within_characters(subject, "summary", asked, TIMER_SUMMARY_CHARACTERS)
        .map_err(|error| error.hint(hint))?;
    Ok(asked.to_owned())
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
