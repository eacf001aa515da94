//! Renders work items, waits and timers.

use super::LINE_BYTES;
use holon_client::Answer;
use holon_client::view::{Item, State, Timer, Wait, Work, WorkItem, WorkItemsPage};
use holon_domain::agent::ItemCounts;
use holon_domain::{limits, text};
use std::fmt::Display;

/// Renders a page of items, one line each.
pub(crate) fn items(page: &WorkItemsPage) -> String {
    if page.work_items.is_empty() {
        return "no such work items; make one with: holon work create OBJECTIVE".to_owned();
    }
    let mut lines: Vec<String> = page
        .work_items
        .iter()
        .map(|item| {
            let (id, state, focus) = (&item.id, &item.scheduling_state, &item.focus);
            line(
                id,
                state,
                focus,
                &item.objective,
                item.blocked_by.as_deref(),
            )
        })
        .collect();
    if page.returned < page.total_matching {
        let (shown, all) = (page.returned, page.total_matching);
        lines.push(format!(
            "{shown} of {all} are shown; see more with --limit N"
        ));
    }
    lines.join("\n")
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
        format!("objective  {}", item.objective),
        format!("state      {}", item.scheduling_state),
    ];
    if let Some(blocker) = &item.blocked_by {
        lines.push(format!("blocked    {blocker}"));
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
        lines.push(format!("todo       {mark} {}", todo.text));
    }
    lines.push(format!(
        "changed    {} (revision {})",
        item.updated_at, item.revision
    ));
    if let Some(report) = &item.completion_report {
        lines.push(format!("report     {}", report.text.trim_end()));
    }
    lines.join("\n")
}

/// Renders waits, one line each.
pub(crate) fn waits(waits: &[Answer<Wait>]) -> String {
    if waits.is_empty() {
        return "no waits".to_owned();
    }
    let lines: Vec<String> = waits.iter().map(|shown| wait(shown)).collect();
    lines.join("\n")
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
    let waiting_for = text::preview(&wait.waiting_for, LINE_BYTES / 4);
    format!("{}  {state}{item}: {waiting_for}{until}", wait.id)
}

/// Renders timers, the next to fire first.
pub(crate) fn timers(timers: &[Answer<Timer>]) -> String {
    if timers.is_empty() {
        return "no timers; set one with: holon timer create --after 10m".to_owned();
    }
    let mut sorted: Vec<&Timer> = timers.iter().map(|timer| &**timer).collect();
    // Times of a host are spelled alike, so their texts sort as they do.
    sorted.sort_by_key(|timer| (timer.next_fire_at.is_none(), timer.next_fire_at.as_ref()));
    let lines: Vec<String> = sorted.into_iter().map(timer).collect();
    lines.join("\n")
}

fn timer(timer: &Timer) -> String {
    let next = match &timer.next_fire_at {
        Some(at) => format!("fires at {at}"),
        None => timer.status.clone(),
    };
    let again = match (&timer.cron, timer.interval_ms) {
        (Some(cron), _) => {
            let zone = timer.time_zone.as_deref().unwrap_or("UTC");
            format!(", by \"{cron}\" in {zone}")
        }
        (None, Some(interval)) => format!(", then every {interval} ms"),
        (None, None) => String::new(),
    };
    let fired = match timer.fire_count {
        0 => String::new(),
        count => format!(", fired {count} times"),
    };
    let summary = timer.summary.as_deref().unwrap_or("no summary");
    let summary = text::preview(summary, LINE_BYTES / 4);
    format!("{}  {next}{again}{fired}: {summary}", timer.id)
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
