//! Renders work items, waits and timers.

use super::{LINE_BYTES, hang, join_lines, one_line};
use crate::addressing::hint;
use holon_client::Answer;
use holon_client::view::{Item, State, Timer, Wait, Work, WorkItem, WorkItemsPage};
use holon_domain::agent::ItemCounts;
use holon_domain::{AgentId, limits, text};
use std::fmt::Display;

const DAY_MS: u64 = 86_400_000;

/// Renders a page of items, one line each.
pub(crate) fn items(page: &WorkItemsPage, agent_id: &AgentId) -> String {
    if page.work_items.is_empty() {
        return hint(format!(
            "no such work items; make one with: holon work create --agent {agent_id} OBJECTIVE"
        ));
    }
    let mut lines: Vec<String> = page
        .work_items
        .iter()
        .map(|item| {
            let (id, state, focus) = (&item.id, &item.scheduling_state, &item.focus);
            let line = line(
                id,
                state,
                focus,
                &item.objective,
                item.blocked_by.as_deref(),
            );
            line + &plan_beginning(&item.plan_artifact.preview)
        })
        .collect();
    if let Some(next) = &page.next_cursor {
        let (shown, all) = (page.returned, page.total_matching);
        lines.push(format!(
            "{shown} of {all} are shown; see more with --after {next}"
        ));
    }
    join_lines(lines)
}

/// Renders the first line of a plan behind its item; nothing if the plan is empty.
fn plan_beginning(preview: &str) -> String {
    match preview.lines().find(|line| !line.trim().is_empty()) {
        Some(first) => format!(" (plan: {})", text::preview(first.trim(), LINE_BYTES / 4)),
        None => String::new(),
    }
}

/// Renders one item in one line.
pub(super) fn entry(item: &Item) -> String {
    let (id, state, focus) = (&item.id, &item.scheduling_state, &item.focus);
    line(
        id,
        state,
        focus,
        &item.objective,
        item.blocked_by.as_deref(),
    )
}

/// Builds the line of an item: id, state, objective, blocker.
fn line(
    id: &impl Display,
    state: &str,
    focus: &str,
    objective: &str,
    blocked_by: Option<&str>,
) -> String {
    let current = if focus == "current" { ", current" } else { "" };
    let objective = text::preview(objective, LINE_BYTES / 4);
    let blocker = blocked_by.map_or_else(String::new, |blocker| {
        let blocker = text::preview(blocker, limits::EVENT_PREVIEW_BYTES);
        format!(" (blocked by: {blocker})")
    });
    format!("{id}  {state}{current}: {objective}{blocker}")
}

/// Renders one item with all its facts.
pub(crate) fn item(item: &WorkItem) -> String {
    let mut lines = vec![
        format!("item       {} ({})", item.id, item.focus),
        format!("objective  {}", one_line(&item.objective)),
        format!("state      {}", item.scheduling_state),
    ];
    if let Some(blocker) = &item.blocked_by {
        lines.push(format!("blocked    {}", one_line(blocker)));
    }
    if let Some(at) = &item.recheck_at {
        lines.push(format!("reminder   {at}"));
    }
    let plan = &item.plan_artifact;
    let size = match plan.hash {
        Some(_) => format!("{} bytes", plan.bytes),
        None => "not written yet".to_owned(),
    };
    let status = &item.plan_status;
    lines.push(format!("plan       {status}, {size}: {}", plan.path));
    for todo in item.todo_list.iter().flatten() {
        let mark = match todo.state.as_str() {
            "completed" => "[x]".to_owned(),
            "in_progress" => "[>]".to_owned(),
            "pending" => "[ ]".to_owned(),
            other => format!("[{other}]"),
        };
        lines.push(format!("todo       {mark} {}", one_line(&todo.text)));
    }
    lines.push(format!(
        "changed    {} (revision {})",
        item.updated_at, item.revision
    ));
    if let Some(report) = &item.completion_report {
        lines.push(format!("report     {}", hang(&report.text, 11)));
    }
    if let Some(delivery) = &item.delivery_summary {
        let id = delivery.id.as_ref();
        let id = id.map_or_else(String::new, |id| format!(" as {id}"));
        let asked = delivery.message_id.as_ref();
        let asked = asked.map_or_else(String::new, |message| format!(", for {message}"));
        lines.push(format!(
            "delivered  {}{id} by {}{asked} ({})",
            delivery.created_at, delivery.brief_id, delivery.source
        ));
    }
    lines.join("\n")
}

/// Renders waits, one line each.
pub(crate) fn waits(waits: &[Answer<Wait>]) -> String {
    if waits.is_empty() {
        return "no waits".to_owned();
    }
    join_lines(waits.iter().map(|shown| wait(shown)))
}

/// Renders one wait: id, kind or end, purpose.
pub(super) fn wait(wait: &Wait) -> String {
    let is_active = wait.status == "active";
    let state = if is_active { &wait.kind } else { &wait.status };
    let item = wait
        .work_item_id
        .as_ref()
        .map_or_else(String::new, |item| format!(" ({item})"));
    let until = match &wait.due_at {
        Some(at) if is_active => format!(", until {at} at the latest"),
        Some(_) | None => String::new(),
    };
    let asked = wait.question.as_ref().map(|question| &question.text);
    let waiting_for = text::preview(asked.unwrap_or(&wait.waiting_for), LINE_BYTES / 4);
    format!("{}  {state}{item}: {waiting_for}{until}", wait.id)
}

/// Facts beside a list of timers that its lines need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimerContext<'a> {
    pub(crate) agent_id: &'a AgentId,
    /// True if the agent is stopped, so that its timers are held.
    pub(crate) is_stopped: bool,
    /// True if the agent is archived, so that it takes no timer.
    pub(crate) is_archived: bool,
    /// Number of all timers that match; `None` if the host does not tell and the list may be cut.
    pub(crate) total: Option<u64>,
}

/// Renders timers, the next to fire first, and a note if the list is cut.
pub(crate) fn timers(timers: &[Answer<Timer>], context: TimerContext<'_>) -> String {
    if timers.is_empty() {
        let agent_id = context.agent_id;
        if context.is_archived {
            return format!("no timers; agent {agent_id} is archived");
        }
        return hint(format!(
            "no timers; set one with: holon timer create --agent {agent_id} --after 10m"
        ));
    }
    let mut sorted: Vec<&Timer> = timers.iter().map(|timer| &**timer).collect();
    // Times of a host are spelled alike, so their texts sort as they do.
    sorted.sort_by_key(|timer| (timer.next_fire_at.is_none(), timer.next_fire_at.as_ref()));
    let lines = sorted
        .into_iter()
        .map(|shown| timer(shown, context.is_stopped));
    let shown = timers.len() as u64;
    let most = limits::LIST_PAGE_MAX;
    let note = match context.total {
        Some(all) if shown < all => Some(format!(
            "{shown} of {all} are shown; see more with --limit N, at most {most}"
        )),
        None => Some(format!(
            "{shown} are shown, and there may be more; see more with --limit N, at most {most}"
        )),
        Some(_) => None,
    };
    join_lines(lines.chain(note))
}

/// Renders one timer with what its ticks use.
pub(crate) fn timer_details(shown: &Answer<Timer>) -> String {
    let mut lines = vec![timer(shown, false)];
    lines.push(format!(
        "slots      {} told, {} passed over",
        shown.fire_count, shown.missed_count
    ));
    if let Some(ticks) = shown.ticks_a_day {
        lines.push(format!("a day      {}", text::pluralize(ticks, "tick")));
    }
    match (shown.ticks_a_day, shown.tokens_a_day) {
        (Some(_), Some(tokens)) => {
            lines.push(format!(
                "           about {tokens} tokens, by the last ticks"
            ));
        }
        (Some(_), None) => {
            lines.push("           tokens are known after the first tick".to_owned())
        }
        (None, _) => {}
    }
    lines.join("\n")
}

fn timer(timer: &Timer, is_stopped: bool) -> String {
    let next = match &timer.next_fire_at {
        Some(at) if is_stopped => format!("held while the agent is stopped, next slot {at}"),
        Some(at) => format!("fires at {at}"),
        None => timer.status.clone(),
    };
    let again = match (&timer.cron, timer.interval_ms) {
        (Some(cron), _) => {
            let zone = timer.time_zone.as_deref().unwrap_or("UTC");
            format!(", by \"{cron}\" in {zone}")
        }
        (None, Some(interval)) => {
            let every = format!(", then every {}", interval_words(interval));
            match paced_interval(interval, timer.ticks_a_day) {
                Some(paced) => format!(
                    "{every} with a tick at most every {}",
                    interval_words(paced)
                ),
                None => every,
            }
        }
        (None, None) => String::new(),
    };
    let fired = match timer.fire_count {
        0 => String::new(),
        1 => ", fired once".to_owned(),
        count => format!(", fired {count} times"),
    };
    let cost = match (timer.ticks_a_day, timer.tokens_a_day) {
        (Some(ticks), Some(tokens)) => format!(
            ", {} a day with about {tokens} tokens",
            text::pluralize(ticks, "tick")
        ),
        (Some(ticks), None) => format!(", {} a day", text::pluralize(ticks, "tick")),
        (None, _) => String::new(),
    };
    let summary = timer.summary.as_deref().unwrap_or("no summary");
    let summary = text::preview(summary, LINE_BYTES / 4);
    format!("{}  {next}{again}{fired}{cost}: {summary}", timer.id)
}

/// Returns the time between two ticks in milliseconds, if the host lets slots pass between them.
fn paced_interval(interval: u64, ticks_a_day: Option<u64>) -> Option<u64> {
    let between = DAY_MS.checked_div(ticks_a_day?)?;
    let slots = between.checked_div(interval)?;
    (slots > 1).then(|| slots * interval)
}

/// Spells an interval in the largest unit that it is a whole number of, as `--every` takes it.
fn interval_words(millis: u64) -> String {
    let units = [(DAY_MS, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = |(unit, _): &(u64, &str)| millis > 0 && millis.is_multiple_of(*unit);
    match units.into_iter().find(whole) {
        Some((unit, name)) => format!("{}{name}", millis / unit),
        None => format!("{millis}ms"),
    }
}

/// Renders the work of a status in a few lines.
pub(super) fn lines(state: &State, work: &Work) -> Vec<String> {
    let mut lines = Vec::new();
    let counts = &work.work_item_counts;
    if counts.open() > 0 {
        lines.push(format!("work       {}", item_counts(counts)));
    }
    let items = work.work_items.iter();
    let current = items.filter(|item| Some(&item.id) == state.current_work_item_id.as_ref());
    lines.extend(current.map(|item| {
        let blocker = item.blocked_by.as_ref();
        let blocker = blocker.map_or_else(String::new, |why| format!(" (blocked by: {why})"));
        let objective = text::preview(&item.objective, LINE_BYTES / 4);
        let state = &item.scheduling_state;
        format!("current    {}  {state}: {objective}{blocker}", item.id)
    }));
    lines.extend(work.waiting_intents.iter().map(|wait| {
        let until = wait.due_at.as_ref();
        let until = until.map_or_else(String::new, |at| format!(", until {at} at the latest"));
        let what = text::preview(&wait.waiting_for, LINE_BYTES / 4);
        format!("waits for  {} ({}): {what}{until}", wait.id, wait.kind)
    }));
    if work.active_timer_count > 0 {
        let count = text::pluralize(u64::from(work.active_timer_count), "timer");
        let slots = work
            .timers
            .iter()
            .filter_map(|timer| timer.next_fire_at.as_ref());
        let next = slots.min();
        let next = next.map_or_else(String::new, |at| format!(", next at {at}"));
        lines.push(format!("timers     {count} set{next}"));
    }
    if let Some(hint) = &state.pending_wake_hint {
        let why = hint.reason.as_deref().unwrap_or("something changed");
        lines.push(format!("woken      through {}: {why}", hint.key));
    }
    lines
}

/// Spells the scheduling state of an item. A state that this program does not know stays as the host spelled it.
pub(super) fn state_words(state: &str) -> &str {
    match state {
        "waiting_operator" => "waiting for an operator",
        "waiting_task" => "waiting for a task",
        "waiting_external" => "waiting for something outside",
        "waiting_timer" => "waiting for a time",
        other => other,
    }
}

/// Renders the number of open items per state, without zeros.
fn item_counts(counts: &ItemCounts) -> String {
    let states = [
        (counts.runnable, "runnable"),
        (counts.stalled, "stalled"),
        (counts.waiting_operator, "waiting for an operator"),
        (counts.waiting_task, "waiting for a task"),
        (counts.waiting_external, "waiting for something outside"),
        (counts.waiting_timer, "waiting for a time"),
        (counts.blocked, "blocked"),
    ];
    let there: Vec<String> = states
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    let open = text::pluralize(u64::from(counts.open()), "open item");
    format!("{open}: {}", there.join(", "))
}
