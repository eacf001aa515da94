//! Renders the agent's work: the current item in full, a few candidates of each class, waits and timers.
//!
//! Decides which parts are shown when room is short: parts are dropped by weight and shown in a fixed order. The text
//! of one item is in `item`. Items were written by the agent or its operator, so unseen characters are escaped and long
//! texts are quoted line by line.

mod item;

use crate::visible;
use holon_domain::WorkItemId;
use holon_domain::agent::AgentRecord;
use holon_domain::text;
use holon_domain::timer::TimerRecord;
use holon_domain::wait::{WaitRecord, WakeSource};
use holon_domain::work_item::{PlanArtifact, WorkItemRecord, WorkOverview};

/// Bytes of a text in a line of a list.
const LINE_BYTES: usize = 240;

/// State of the current item's plan file, as the shell found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanFile {
    /// Same as in the item's row.
    Known,
    Changed(PlanArtifact),
    /// No readable file exists at the plan's path.
    Missing,
}

/// Source of the text about the agent's work.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// Current rows, for the first request of a turn.
    Rows(&'a WorkOverview, &'a PlanFile),
    /// The text that the first request showed; `None` if it showed none.
    Kept(Option<&'a str>),
}

/// The rendered text and the items it shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WorkText {
    pub(crate) text: Option<String>,
    pub(crate) shown: Vec<WorkItemId>,
}

/// One part of the text. Its index in the list is its position in the prompt.
struct Part {
    /// Parts with a smaller weight are dropped later.
    weight: u8,
    text: String,
    shown: Vec<WorkItemId>,
}

/// Renders the agent's work within `room_tokens`; empty if there is no work.
pub(crate) fn text(
    agent: &AgentRecord,
    work: &WorkOverview,
    plan: &PlanFile,
    room_tokens: usize,
) -> WorkText {
    if work.is_empty() {
        return WorkText::default();
    }
    let mut parts = parts(agent, work, plan);
    let mut left_out = 0;
    while tokens(&parts) > room_tokens {
        let heaviest =
            (0..parts.len()).max_by_key(|place| parts.get(*place).map(|part| part.weight));
        let Some(place) = heaviest else {
            return WorkText::default();
        };
        let part = parts.remove(place);
        left_out += 1;
        // The current item is never left out entirely.
        if let Some(current) = work.current.as_ref().filter(|_| part.weight == CURRENT) {
            let short = item::line(current, agent.work.wake_count);
            parts.insert(
                0,
                Part {
                    weight: CURRENT_SHORT,
                    text: format!("Current work item, shortened for lack of room:\n{short}"),
                    shown: part.shown,
                },
            );
        }
    }
    let shown = parts.iter().flat_map(|part| part.shown.clone()).collect();
    let mut texts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
    if texts.is_empty() {
        return WorkText::default();
    }
    texts.insert(0, "Your work when this turn started:".to_owned());
    if left_out > 0 {
        texts.push("More is left out for lack of room; ListWorkItems shows your items.".to_owned());
    }
    WorkText {
        text: Some(texts.join("\n\n")),
        shown,
    }
}

fn tokens(parts: &[Part]) -> usize {
    parts
        .iter()
        .map(|part| text::estimate_tokens(&part.text))
        .sum()
}

const CURRENT_SHORT: u8 = 0;
const CURRENT: u8 = 1;
const TRIGGERED: u8 = 2;
const RECHECKS: u8 = 3;
const QUEUED: u8 = 4;
const OPERATOR: u8 = 5;
const BLOCKED: u8 = 6;
const WAITS: u8 = 7;
const TIMERS: u8 = 8;
const COMPLETED: u8 = 9;

fn parts(agent: &AgentRecord, work: &WorkOverview, plan: &PlanFile) -> Vec<Part> {
    let counts = agent.work.items;
    let wake_count = agent.work.wake_count;
    let list = |weight, title: String, items: &[WorkItemRecord]| -> Option<Part> {
        let lines: Vec<String> = items
            .iter()
            .map(|item| item::line(item, wake_count))
            .collect();
        (!lines.is_empty()).then(|| Part {
            weight,
            text: format!("{title}\n{}", lines.join("\n")),
            shown: ids(items),
        })
    };
    let current = work.current.as_ref().map(|item| Part {
        weight: CURRENT,
        text: item::full(agent, item, work.current_wait.as_ref(), plan),
        shown: vec![item.id.clone()],
    });
    let blocked =
        counts.blocked + counts.waiting_task + counts.waiting_external + counts.waiting_timer;
    let runnable = counts.runnable + counts.stalled;
    [
        current,
        list(
            TRIGGERED,
            "Items whose wait has ended (look at them; PickWorkItem to go on with one):".to_owned(),
            &work.triggered,
        ),
        list(
            RECHECKS,
            "Reminders that have come: look at the blocker of each, then clear it or set it anew:"
                .to_owned(),
            &work.due_rechecks,
        ),
        list(
            QUEUED,
            title_with_count(
                "Other items that can go on, longest untouched first",
                &work.queued,
                runnable,
            ),
            &work.queued,
        ),
        list(
            OPERATOR,
            title_with_count(
                "Items that wait for the operator",
                &work.waiting_operator,
                counts.waiting_operator,
            ),
            &work.waiting_operator,
        ),
        list(
            BLOCKED,
            title_with_count("Items that are blocked or wait", &work.blocked, blocked),
            &work.blocked,
        ),
        waits(&work.waits, agent.work.active_waits),
        timers(&work.timers, agent.work.active_timers),
        completed(&work.completed),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn ids(items: &[WorkItemRecord]) -> Vec<WorkItemId> {
    items.iter().map(|item| item.id.clone()).collect()
}

/// Renders a title, with the total number if not all entries are shown.
fn title_with_count<T>(title: &str, shown: &[T], count: u32) -> String {
    match usize::try_from(count) {
        Ok(count) if count > shown.len() => format!("{title} ({} of {count}):", shown.len()),
        Ok(_) | Err(_) => format!("{title}:"),
    }
}

fn waits(waits: &[WaitRecord], count: u32) -> Option<Part> {
    let line = |wait: &WaitRecord| {
        let item = wait.work_item_id.as_ref();
        let whose = item.map_or_else(|| "you".to_owned(), WorkItemId::to_string);
        format!("- {} of {whose}: {}", wait.id, describe_wait(wait))
    };
    let lines: Vec<String> = waits.iter().map(line).collect();
    (!lines.is_empty()).then(|| Part {
        weight: WAITS,
        text: format!(
            "{}\n{}",
            title_with_count("Active waits", waits, count),
            lines.join("\n")
        ),
        shown: Vec::new(),
    })
}

/// Describes a wait and what ends it.
fn describe_wait(wait: &WaitRecord) -> String {
    let ends: Vec<String> = wait.wake_sources.iter().map(source).collect();
    let due = wait.due_at.map(|at| format!(", at {at} at the latest"));
    format!(
        "{} (ends by {}{})",
        short(&wait.waiting_for),
        ends.join(" or "),
        due.unwrap_or_default()
    )
}

fn source(source: &WakeSource) -> String {
    match source {
        WakeSource::TaskResult { task_id } => format!("the end of {task_id}"),
        WakeSource::ExternalIngress {
            source: Some(name), ..
        } => format!("an event from {}", visible::name(name)),
        WakeSource::ExternalIngress { source: None, .. } => "an event from outside".to_owned(),
        WakeSource::Timer { wake_at } => format!("the time {wake_at}"),
        WakeSource::OperatorInput => "a message of the operator".to_owned(),
        WakeSource::SystemTick => "a tick of the runtime".to_owned(),
    }
}

fn timers(timers: &[TimerRecord], count: u32) -> Option<Part> {
    let line = |timer: &TimerRecord| {
        let next = timer
            .next_fire_at
            .map(|at| at.to_string())
            .unwrap_or_default();
        let summary = timer.summary.as_deref().unwrap_or("(no summary)");
        format!("- {} fires next at {next}: {}", timer.id, short(summary))
    };
    let lines: Vec<String> = timers.iter().map(line).collect();
    (!lines.is_empty()).then(|| Part {
        weight: TIMERS,
        text: format!(
            "{}\n{}",
            title_with_count("Active timers", timers, count),
            lines.join("\n")
        ),
        shown: Vec::new(),
    })
}

fn completed(items: &[WorkItemRecord]) -> Option<Part> {
    let lines: Vec<String> = items.iter().map(item::completed).collect();
    (!lines.is_empty()).then(|| Part {
        weight: COMPLETED,
        text: format!(
            "Completed last (done; do not do it again):\n{}",
            lines.join("\n")
        ),
        shown: ids(items),
    })
}

/// Shortens a text to one line.
fn short(words: &str) -> String {
    text::preview(&visible::line(words), LINE_BYTES)
}
