//! Renders the agent's work: the current item in full with its latest steps, a few candidates of each class, waits and
//! timers.
//!
//! Each part is a candidate of its own; the current item and the waits are pins. The text of one item is in `item`, the
//! steps in `trace`. Items were written by the agent or its operator, so unseen characters are escaped and long texts are
//! quoted line by line.

mod item;
mod trace;

use crate::candidate::{Candidate, Priority};
use crate::visible;
use holon_domain::agent::AgentRecord;
use holon_domain::prompt_plan::BlockSource;
use holon_domain::text;
use holon_domain::timer::{TimerRecord, TimerSchedule};
use holon_domain::wait::{WaitRecord, WakeSource};
use holon_domain::work_item::{
    PlanArtifact, WorkItemRecord, WorkItemSchedulingState, WorkOverview,
};
use holon_domain::{Timestamp, WorkItemId};

/// Stands before the first part.
pub(crate) const HEADING: &str = "Your work when this turn started:";
/// Stands after the last part if some were left out.
pub(crate) const LEFT_OUT: &str =
    "More is left out for lack of room; ListWorkItems shows your items.";

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

/// Renders the current item as it is now, for a turn that changed it after its frame was built.
pub(crate) fn current_item<'a>(
    agent: &'a AgentRecord,
    item: &'a WorkItemRecord,
    plan: &'a PlanFile,
) -> Candidate<'a> {
    item::candidate(agent, item, None, plan)
}

/// Lists the candidates about the agent's work, in the order of the prompt.
pub(crate) fn candidates<'a>(
    agent: &'a AgentRecord,
    work: &'a WorkOverview,
    plan: &'a PlanFile,
) -> Vec<Candidate<'a>> {
    let counts = agent.work.items;
    let blocked =
        counts.blocked + counts.waiting_task + counts.waiting_external + counts.waiting_timer;
    let runnable = counts.runnable + counts.stalled;
    // The current item is shown by itself and in no list.
    let state = work.current.as_ref();
    let state = state.map(|item| item.scheduling_state(agent.work.wake_count));
    let is = |states: &[WorkItemSchedulingState]| {
        u32::from(state.is_some_and(|state| states.contains(&state)))
    };
    let blocked = blocked.saturating_sub(is(&[
        WorkItemSchedulingState::Blocked,
        WorkItemSchedulingState::WaitingTask,
        WorkItemSchedulingState::WaitingExternal,
        WorkItemSchedulingState::WaitingTimer,
    ]));
    let runnable = runnable.saturating_sub(is(&[
        WorkItemSchedulingState::Runnable,
        WorkItemSchedulingState::Stalled,
    ]));
    let for_operator = counts
        .waiting_operator
        .saturating_sub(is(&[WorkItemSchedulingState::WaitingOperator]));
    let list =
        |source, priority, title: String, items| list(agent, source, priority, &title, items);
    [
        work.current
            .as_ref()
            .map(|item| item::candidate(agent, item, work.current_wait.as_ref(), plan)),
        trace::candidate(&work.trace),
        list(
            BlockSource::TriggeredItems,
            Priority::TriggeredItems,
            "Items whose wait has ended (look at them; PickWorkItem to go on with one):".to_owned(),
            &work.triggered,
        ),
        list(
            BlockSource::DueReminders,
            Priority::DueReminders,
            "Reminders that have come: look at the blocker of each, then clear the blocker or set it again with a new reminder:"
                .to_owned(),
            &work.due_rechecks,
        ),
        list(
            BlockSource::QueuedItems,
            Priority::QueuedItems,
            title_with_count(
                "Other items that can go on, longest untouched first",
                &work.queued,
                runnable,
            ),
            &work.queued,
        ),
        list(
            BlockSource::ItemsForOperator,
            Priority::ItemsForOperator,
            title_with_count(
                "Items that wait for the operator",
                &work.waiting_operator,
                for_operator,
            ),
            &work.waiting_operator,
        ),
        list(
            BlockSource::BlockedItems,
            Priority::BlockedItems,
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

/// Renders a class of items; `None` if it has none.
fn list<'a>(
    agent: &AgentRecord,
    source: BlockSource,
    priority: Priority,
    title: &str,
    items: &[WorkItemRecord],
) -> Option<Candidate<'a>> {
    let lines: Vec<String> = items
        .iter()
        .map(|item| item::line(item, agent.work.wake_count))
        .collect();
    (!lines.is_empty()).then(|| {
        Candidate::optional(source, priority, format!("{title}\n{}", lines.join("\n")))
            .showing(ids(items))
    })
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

/// Renders the active waits, a pin: a model that does not see them waits for the same thing again.
fn waits(waits: &[WaitRecord], count: u32) -> Option<Candidate<'_>> {
    let line = |wait: &WaitRecord| {
        let item = wait.work_item_id.as_ref();
        let whose = item.map_or_else(|| "no item".to_owned(), WorkItemId::to_string);
        let order = ordered(wait.order.as_deref());
        format!("- {} of {whose}: {}{order}", wait.id, describe_wait(wait))
    };
    let lines: Vec<String> = waits.iter().map(line).collect();
    (!lines.is_empty()).then(|| {
        let title = title_with_count("Active waits", waits, count);
        let text = format!("{title}\n{}", lines.join("\n"));
        let names: Vec<String> = waits.iter().map(|wait| wait.id.to_string()).collect();
        Candidate::pin(BlockSource::Waits, text)
            .or_shorter(move |_| format!("{title} {}", names.join(", ")))
    })
}

/// Shortens rendered waits to their ids and items. The text before the first colon of a line names both.
pub(crate) fn shorten_waits(text: &str) -> String {
    let mut lines = text.lines();
    let title = lines.next().unwrap_or_default();
    let names = lines.map(|line| line.split_once(':').map_or(line, |(name, _)| name));
    let lines: Vec<&str> = std::iter::once(title).chain(names).collect();
    lines.join("\n")
}

/// Describes a wait and what ends it.
fn describe_wait(wait: &WaitRecord) -> String {
    let ends: Vec<String> = wait
        .wake_sources
        .iter()
        .map(|named| source(wait, named))
        .collect();
    let is_named = |due: &Timestamp| {
        let mut sources = wait.wake_sources.iter();
        sources.any(|source| matches!(source, WakeSource::Timer { wake_at } if wake_at == due))
    };
    let due = wait
        .due_at
        .filter(|due| !is_named(due))
        .map(|at| format!(", at {at} at the latest"));
    format!(
        "{} (ends by {}{})",
        short(&wait.waiting_for),
        ends.join(" or "),
        due.unwrap_or_default()
    )
}

fn source(wait: &WaitRecord, source: &WakeSource) -> String {
    match source {
        WakeSource::TaskResult { task_id } => format!("the end of {task_id}"),
        WakeSource::ExternalIngress {
            source: Some(name), ..
        } => format!("an event from {}", visible::name(name)),
        WakeSource::ExternalIngress { source: None, .. } => "an event from outside".to_owned(),
        WakeSource::Timer { wake_at } => format!("the time {wake_at}"),
        WakeSource::OperatorInput => short(&wait.answer_words()),
        WakeSource::SystemTick => "a tick of the runtime".to_owned(),
    }
}

/// Says when a timer fires. One with a fixed interval is told without its next time, which changes with every tick.
fn fires(timer: &TimerRecord) -> String {
    if let TimerSchedule::Every { interval_ms, .. } = timer.schedule {
        return format!("fires every {} s", interval_ms.div_ceil(1_000));
    }
    let next = timer.next_fire_at.map(|at| at.to_string());
    format!("fires next at {}", next.unwrap_or_default())
}

fn timers(timers: &[TimerRecord], count: u32) -> Option<Candidate<'_>> {
    let line = |timer: &TimerRecord| {
        let summary = timer.summary.as_deref().unwrap_or("(no summary)");
        let order = ordered(timer.order.as_deref());
        format!("- {} {}: {}{order}", timer.id, fires(timer), short(summary))
    };
    let lines: Vec<String> = timers.iter().map(line).collect();
    (!lines.is_empty()).then(|| {
        let title = title_with_count("Active timers", timers, count);
        let text = format!("{title}\n{}", lines.join("\n"));
        Candidate::optional(BlockSource::Timers, Priority::Timers, text)
    })
}

/// Renders the items that were completed last, by the report that each completion promoted. An item without one is not
/// shown: nothing tells the turn what came of it.
fn completed(items: &[WorkItemRecord]) -> Option<Candidate<'_>> {
    let reported = items
        .iter()
        .filter_map(|item| Some((item, item.result_summary.as_deref()?)));
    let reported: Vec<(&WorkItemRecord, &str)> = reported.collect();
    let lines = reported
        .iter()
        .map(|(item, report)| item::completed(item, report));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| {
        let text = format!(
            "Completed last (done; do not do it again):\n{}",
            lines.join("\n")
        );
        let shown = reported.iter().map(|(item, _)| item.id.clone()).collect();
        Candidate::optional(BlockSource::CompletedItems, Priority::CompletedItems, text)
            .showing(shown)
    })
}

/// Quotes the operator's words that something was made for, to stand behind its line.
fn ordered(order: Option<&str>) -> String {
    order.map_or_else(String::new, |words| {
        format!(" | your operator had asked: {}", visible::quoted(words))
    })
}

/// Shortens a text to one line.
fn short(words: &str) -> String {
    text::preview(&visible::line(words), LINE_BYTES)
}
