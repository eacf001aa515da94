//! Command line of work items, waits, timers and wakes.

use super::AgentArg;
use clap::builder::NonEmptyStringValueParser;
use clap::{Subcommand, ValueEnum};
use holon_domain::intent::WorkItemFilter;
use holon_domain::limits::{LIST_PAGE_MAX, TIMER_INTERVAL_MIN_MS, TIMER_MAX_MS};
use holon_domain::timer::MissedSlotPolicy;
use holon_domain::work_item::{PlanStatus, TodoItem, TodoState};

/// Subcommands of `holon work`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkCommand {
    /// List work items, most recently changed first.
    List {
        /// State of the items to list.
        #[arg(long, value_name = "FILTER", value_enum, default_value_t = ItemFilter::Open)]
        filter: ItemFilter,
        /// Largest number of items to list.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
        limit: u64,
        /// Cursor that an earlier page ended with; lists the items behind it.
        #[arg(long, value_name = "CURSOR", value_parser = NonEmptyStringValueParser::new())]
        after: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Show one work item with its plan and checklist.
    Show {
        /// Id of the work item.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        item: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Create a work item; an idle agent begins with it at once.
    Create {
        /// Goal of the work item; - reads it from standard input.
        objective: String,
        /// Entry of the checklist; repeat the option for more entries.
        #[arg(long, value_name = "TEXT", value_parser = todo)]
        todo: Vec<TodoItem>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Change an open work item.
    Update(UpdateArgs),
    /// Mark a work item as completed.
    Complete {
        /// Id of the work item.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        item: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Let an agent try a stalled work item again.
    Resume {
        /// Id of the work item.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        item: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// Options of `work update`.
#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    /// Id of the work item.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) item: String,
    /// New goal of the work item; - reads it from standard input.
    #[arg(long, value_name = "TEXT")]
    pub(crate) objective: Option<String>,
    /// New status of the work item's plan.
    #[arg(long, value_name = "STATUS", value_enum)]
    pub(crate) plan_status: Option<PlanWord>,
    /// Entry of the new checklist, which replaces the old one. Begin it with `[x]` and a space if it is completed, and
    /// with `[>]` and a space if it is in progress. Repeat the option for more entries.
    #[arg(long, value_name = "TEXT", value_parser = todo)]
    pub(crate) todo: Vec<TodoItem>,
    /// Clear the blocker that the agent reported, so that the item may go on.
    #[arg(long)]
    pub(crate) unblock: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Subcommands of `holon wait`.
#[derive(Debug, Subcommand)]
pub(crate) enum WaitCommand {
    /// List the active waits of an agent and its work items.
    List {
        /// Also list waits that have ended.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Cancel a wait, so that its work item may go on.
    Cancel {
        /// Id of the wait.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        wait: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// Subcommands of `holon timer`.
#[derive(Debug, Subcommand)]
pub(crate) enum TimerCommand {
    /// Create a timer that sends the agent a tick, once or repeatedly.
    Create(TimerArgs),
    /// List the timers of an agent.
    List {
        /// Also list timers that have fired or were cancelled.
        #[arg(long)]
        all: bool,
        /// Largest number of timers to list.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
        limit: u64,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Show one timer: its next slot, what became of its slots, and what its ticks use in a day.
    Show {
        /// Id of the timer.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        timer: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Cancel an active timer.
    Cancel {
        /// Id of the timer.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        timer: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// Options of `timer create`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "holon timer create [OPTIONS] <--after <DURATION>|--at <TIME>|--cron <EXPRESSION>>",
    group(clap::ArgGroup::new("when").args(["after", "at", "cron"]))
)]
pub(crate) struct TimerArgs {
    /// Time until the first tick: milliseconds, or a number with ms, s, m, h or d.
    #[arg(long, alias = "after-ms", value_name = "DURATION", value_parser = duration)]
    pub(crate) after: Option<u64>,
    /// Time of the first tick with its offset, for example 2026-03-29T09:30:00+02:00.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) at: Option<holon_domain::Timestamp>,
    /// Time between ticks after the one of --after or --at: milliseconds, or a number with ms, s, m, h or d [default: fire once].
    #[arg(long, alias = "every-ms", value_name = "DURATION", conflicts_with = "cron", value_parser = interval)]
    pub(crate) every: Option<u64>,
    /// Cron expression of five fields: minute, hour, day of the month, month, day of the week.
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) cron: Option<String>,
    /// IANA zone of the cron expression, for example Europe/Berlin [default: that of the host's operator].
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,
    /// Policy for ticks that fall due while the host is down or the agent is stopped.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = MissedWord::Once)]
    pub(crate) missed: MissedWord,
    /// Text of the tick that the agent reads.
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Options of the `wake` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct WakeArgs {
    /// Id of the agent to wake.
    pub(crate) agent: String,
    /// Reason for the wake; the agent reads it.
    pub(crate) reason: String,
    /// Name of the outside system that changed; waits for this system end.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
}

/// Work item states that the `list` subcommand can filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ItemFilter {
    All,
    Open,
    Completed,
    Current,
    Queued,
    Blocked,
    #[value(name = "waiting_for_operator")]
    WaitingForOperator,
    Runnable,
}

impl From<ItemFilter> for WorkItemFilter {
    fn from(filter: ItemFilter) -> Self {
        match filter {
            ItemFilter::All => Self::All,
            ItemFilter::Open => Self::Open,
            ItemFilter::Completed => Self::Completed,
            ItemFilter::Current => Self::Current,
            ItemFilter::Queued => Self::Queued,
            ItemFilter::Blocked => Self::Blocked,
            ItemFilter::WaitingForOperator => Self::WaitingForOperator,
            ItemFilter::Runnable => Self::Runnable,
        }
    }
}

/// The status of a plan on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanWord {
    Draft,
    Ready,
    #[value(name = "needs_input")]
    NeedsInput,
}

impl From<PlanWord> for PlanStatus {
    fn from(word: PlanWord) -> Self {
        match word {
            PlanWord::Draft => Self::Draft,
            PlanWord::Ready => Self::Ready,
            PlanWord::NeedsInput => Self::NeedsInput,
        }
    }
}

/// The policy for missed slots on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissedWord {
    /// Drop the missed ticks.
    Skip,
    /// Send one tick for all missed ones.
    Once,
    /// Send one tick per missed one, up to a limit.
    All,
}

impl From<MissedWord> for MissedSlotPolicy {
    fn from(word: MissedWord) -> Self {
        match word {
            MissedWord::Skip => Self::Skip,
            MissedWord::Once => Self::Once,
            MissedWord::All => Self::All,
        }
    }
}

/// Parses a duration to milliseconds.
fn duration(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        other => return Err(format!("{other:?} is no unit; use ms, s, m, h or d")),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "give a whole number with ms, s, m, h or d, for example 90s".to_owned())?;
    let millis = number.checked_mul(unit);
    millis
        .filter(|millis| *millis <= TIMER_MAX_MS)
        .ok_or_else(|| "that is longer than ten years".to_owned())
}

/// Parses the time between two ticks to milliseconds.
fn interval(text: &str) -> Result<u64, String> {
    match duration(text)? {
        millis if millis < TIMER_INTERVAL_MIN_MS => Err(
            "it must be at least 1s; leave the option out for a timer that fires once".to_owned(),
        ),
        millis => Ok(millis),
    }
}

fn time(text: &str) -> Result<holon_domain::Timestamp, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|_| {
        "give a time with its offset, for example 2026-03-29T09:30:00+02:00".to_owned()
    })
}

/// Parses an entry of a checklist; a Markdown-like mark in front states its progress.
fn todo(text: &str) -> Result<TodoItem, String> {
    let marks = [
        ("[x] ", TodoState::Completed),
        ("[>] ", TodoState::InProgress),
        ("[ ] ", TodoState::Pending),
    ];
    let marked = marks
        .into_iter()
        .find_map(|(mark, state)| text.strip_prefix(mark).map(|text| (text, state)));
    let (text, state) = marked.unwrap_or((text, TodoState::Pending));
    if text.trim().is_empty() {
        return Err("the entry is empty; say it in words".to_owned());
    }
    Ok(TodoItem {
        text: text.to_owned(),
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_or_are_milliseconds() {
        for (text, millis) in [
            ("300", 300),
            ("300ms", 300),
            ("45s", 45_000),
            ("2h", 7_200_000),
        ] {
            assert_eq!(duration(text), Ok(millis), "{text}");
        }
        for text in [
            "",
            "s",
            "1.5h",
            "-3s",
            "3 s",
            "5w",
            "99999999999999999999d",
            "9999999999999999d",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_interval_is_not_too_short_and_an_entry_is_not_empty() {
        assert_eq!(interval("1s"), Ok(1_000));
        for text in ["0s", "999ms", "1"] {
            assert!(interval(text).is_err(), "{text}");
        }
        for text in ["", " ", "[x] "] {
            assert!(todo(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_entry_of_a_checklist_may_say_its_state() {
        let state = |text: &str| todo(text).map(|todo| (todo.text, todo.state)).unwrap();
        assert_eq!(state("[x] a"), ("a".to_owned(), TodoState::Completed));
        assert_eq!(state("[>] a"), ("a".to_owned(), TodoState::InProgress));
        assert_eq!(state("a [x] b"), ("a [x] b".to_owned(), TodoState::Pending));
    }
}
