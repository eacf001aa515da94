//! The words about an agent's work: items, waits, timers and wakes.

use super::AgentArg;
use clap::{Subcommand, ValueEnum};
use holon_domain::intent::WorkItemFilter;
use holon_domain::limits::LIST_PAGE_MAX;
use holon_domain::timer::MissedSlotPolicy;
use holon_domain::work_item::{PlanStatus, TodoItem, TodoState};

/// What to do with work items.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkCommand {
    /// Show work items, newest change first.
    List {
        /// Which of them.
        #[arg(long, value_name = "WHICH", value_enum, default_value_t = ItemFilter::Open)]
        filter: ItemFilter,
        /// How many.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
        limit: u64,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Show one work item with its plan and checklist.
    Show {
        /// Its id.
        item: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Give an agent something to reach; an agent at rest takes it up by itself.
    Create {
        /// What is to be reached; - reads it from standard input.
        objective: String,
        /// An entry of its checklist; may be given several times.
        #[arg(long, value_name = "TEXT", value_parser = todo)]
        todo: Vec<TodoItem>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Change a work item.
    Update(UpdateArgs),
    /// Declare a work item done.
    Complete {
        /// Its id.
        item: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Have an agent try a stalled work item again.
    Resume {
        /// Its id.
        item: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// Options of `work update`.
#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    /// Its id.
    pub(crate) item: String,
    /// What is to be reached instead.
    #[arg(long, value_name = "TEXT")]
    pub(crate) objective: Option<String>,
    /// Whether its plan is ready.
    #[arg(long, value_name = "STATUS", value_enum)]
    pub(crate) plan_status: Option<PlanWord>,
    /// An entry of the checklist, which is replaced as a whole; begin it with `[x]` when it is done and with `[>]`
    /// when it is in progress; may be given several times.
    #[arg(long, value_name = "TEXT", value_parser = todo)]
    pub(crate) todo: Vec<TodoItem>,
    /// Nothing keeps it from going on any more; what the agent named as its blocker is gone.
    #[arg(long)]
    pub(crate) unblock: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// What to do with waits.
#[derive(Debug, Subcommand)]
pub(crate) enum WaitCommand {
    /// Show what an agent and its work items wait for.
    List {
        /// Show those that are over, too.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// End a wait, so that its work item may go on.
    Cancel {
        /// Its id.
        wait: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// What to do with timers.
#[derive(Debug, Subcommand)]
pub(crate) enum TimerCommand {
    /// Set a timer that sends the agent a tick, once or again and again.
    Create(TimerArgs),
    /// Show timers.
    List {
        /// Show those that are over, too.
        #[arg(long)]
        all: bool,
        /// How many.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
        limit: u64,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Cancel a timer.
    Cancel {
        /// Its id.
        timer: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// Options of `timer create`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("when").required(true).args(["after", "at", "cron"])))]
pub(crate) struct TimerArgs {
    /// Fire after this time: milliseconds, or a number with ms, s, m, h or d.
    #[arg(long, alias = "after-ms", value_name = "DURATION", value_parser = duration)]
    pub(crate) after: Option<u64>,
    /// Fire at this time, as 2026-03-29T09:30:00+02:00.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) at: Option<holon_domain::Timestamp>,
    /// Then again and again with this time between.
    #[arg(long, alias = "every-ms", value_name = "DURATION", conflicts_with = "cron", value_parser = duration)]
    pub(crate) every: Option<u64>,
    /// Fire by this cron expression: minute, hour, day, month, weekday.
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) cron: Option<String>,
    /// The zone its times are meant in, as Europe/Berlin [default: UTC].
    #[arg(long, value_name = "ZONE", requires = "cron")]
    pub(crate) time_zone: Option<String>,
    /// What becomes of times that pass while the host is down or the agent is stopped.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = MissedWord::Once)]
    pub(crate) missed: MissedWord,
    /// What the tick says to the agent.
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Options of `wake`.
#[derive(Debug, clap::Args)]
pub(crate) struct WakeArgs {
    /// Which agent.
    pub(crate) agent: String,
    /// Why it should look; the agent reads it.
    pub(crate) reason: String,
    /// The outside system that changed; waits for it end.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
}

/// Which work items are shown.
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
    /// Nothing fires for them.
    Skip,
    /// One tick stands for all of them.
    Once,
    /// One tick for each, up to a bound.
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

/// A length of time in milliseconds.
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
    number
        .checked_mul(unit)
        .ok_or_else(|| "that is too long".to_owned())
}

fn time(text: &str) -> Result<holon_domain::Timestamp, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|_| {
        "give a time with its offset, for example 2026-03-29T09:30:00+02:00".to_owned()
    })
}

/// An entry of a checklist, with its state in front as Markdown writes it.
#[allow(clippy::unnecessary_wraps, reason = "the shape of a value parser")]
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
    fn an_entry_of_a_checklist_may_say_its_state() {
        let state = |text: &str| todo(text).map(|todo| (todo.text, todo.state)).unwrap();
        assert_eq!(state("[x] a"), ("a".to_owned(), TodoState::Completed));
        assert_eq!(state("[>] a"), ("a".to_owned(), TodoState::InProgress));
        assert_eq!(state("a [x] b"), ("a [x] b".to_owned(), TodoState::Pending));
    }
}
