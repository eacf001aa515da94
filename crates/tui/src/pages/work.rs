//! Tasks, work items, timers and waits.

use super::{Facts, nothing, plain, word};
use crate::overlay::{Entry, Tone};
use holon_client::Answer;
use holon_client::view::{ListedTask, Timer, Wait, WorkItem};

/// Prefix of the ids of waits in the list of timers and waits.
pub(crate) const WAIT: &str = "wait:";

/// Lists tasks, newest first.
pub(crate) fn tasks(list: &[Answer<ListedTask>]) -> Vec<Entry> {
    if list.is_empty() {
        return nothing("no tasks");
    }
    let entry = |task: &Answer<ListedTask>| {
        let what = task.summary.as_deref().unwrap_or_default();
        let mut facts = Facts::default();
        facts.add("task", &task.id);
        facts.add("kind", plain(&task.kind));
        facts.add("status", plain(&task.status));
        facts.add("since", &task.created_at);
        facts.add("child", word(task.raw(), "/child_agent_id"));
        facts.add("what", what);
        Entry {
            id: task.id.clone(),
            label: format!("{:<11} {what}  ({})", plain(&task.status), task.id),
            tone: match task.status.as_str() {
                "running" | "queued" | "cancelling" => Tone::Good,
                "failed" | "unknown" | "interrupted" => Tone::Bad,
                _ => Tone::Faint,
            },
            detail: facts.text(),
            ..Entry::default()
        }
    };
    list.iter().map(entry).collect()
}

/// Lists work items as the host orders them.
pub(crate) fn work_items(list: &[WorkItem]) -> Vec<Entry> {
    if list.is_empty() {
        return nothing("no work items; n makes one");
    }
    list.iter().map(work_item).collect()
}

/// Shows a work item with its plan and its todo list.
pub(crate) fn work_item(item: &WorkItem) -> Entry {
    let todo = item.todo_list.as_deref().unwrap_or_default();
    let done = todo.iter().filter(|one| one.state == "completed").count();
    let progress = match todo.len() {
        0 => String::new(),
        all => format!(" {done}/{all}"),
    };
    let focus = if item.focus == "current" { "▸" } else { " " };
    Entry {
        id: item.id.as_str().to_owned(),
        label: format!(
            "{focus} {:<12}{progress} {}",
            plain(&item.scheduling_state),
            item.objective
        ),
        tone: match (item.state.as_str(), item.blocked_by.is_some()) {
            ("completed", _) => Tone::Faint,
            (_, true) => Tone::Bad,
            (_, false) if item.focus == "current" => Tone::Good,
            (_, false) => Tone::Plain,
        },
        detail: work_item_detail(item),
        markdown_of: Some(format!("holon work show {} --json", item.id.as_str())),
        ..Entry::default()
    }
}

fn work_item_detail(item: &WorkItem) -> String {
    let mut parts = vec![
        format!("## {}", item.objective),
        format!(
            "`{}` · {} · plan {} · changed {}",
            item.id.as_str(),
            plain(&item.scheduling_state),
            plain(&item.plan_status),
            item.updated_at
        ),
    ];
    if let Some(blocker) = &item.blocked_by {
        parts.push(format!("**Blocked by** {blocker}"));
    }
    if let Some(at) = &item.recheck_at {
        parts.push(format!("Looked at again at {at}"));
    }
    let todo = item.todo_list.as_deref().unwrap_or_default();
    if !todo.is_empty() {
        let lines = todo.iter().map(|one| {
            let mark = if one.state == "completed" { "x" } else { " " };
            let running = if one.state == "in_progress" {
                " *(in progress)*"
            } else {
                ""
            };
            format!("- [{mark}] {}{running}", one.text)
        });
        parts.push(lines.collect::<Vec<_>>().join("\n"));
    }
    if let Some(report) = &item.completion_report {
        parts.push(format!("### Report\n\n{}", report.text));
    }
    if !item.plan_artifact.preview.is_empty() {
        parts.push(format!("### Plan\n\n{}", item.plan_artifact.preview));
        parts.push(format!("*{}*", item.plan_artifact.path));
    }
    parts.join("\n\n")
}

/// Lists timers, then waits.
pub(crate) fn timers(timers: &[Answer<Timer>], waits: &[Answer<Wait>]) -> Vec<Entry> {
    let timers = timers.iter().map(|timer| timer_entry(timer));
    let waits = waits.iter().map(|wait| wait_entry(wait));
    let entries: Vec<Entry> = timers.chain(waits).collect();
    if entries.is_empty() {
        return nothing("no timers and no waits");
    }
    entries
}

fn timer_entry(timer: &Timer) -> Entry {
    let rhythm = match (&timer.cron, timer.interval_ms) {
        (Some(cron), _) => format!("cron {cron}"),
        (None, Some(interval)) => format!("every {}", crate::text::length(interval)),
        (None, None) => "once".to_owned(),
    };
    let next = timer.next_fire_at.as_deref().unwrap_or("never again");
    let what = timer.summary.as_deref().unwrap_or_default();
    let mut facts = Facts::default();
    facts.add("timer", timer.id.as_str());
    facts.add("status", plain(&timer.status));
    facts.add("rhythm", &rhythm);
    facts.add_some("zone", timer.time_zone.as_deref());
    facts.add("next", next);
    facts.add("fired", timer.fire_count.to_string());
    facts.add("says", what);
    Entry {
        id: timer.id.as_str().to_owned(),
        label: format!("timer  {rhythm}  next {next}  {what}"),
        tone: Tone::Plain,
        detail: facts.text(),
        ..Entry::default()
    }
}

fn wait_entry(wait: &Wait) -> Entry {
    let mut facts = Facts::default();
    facts.add("wait", wait.id.as_str());
    facts.add("kind", plain(&wait.kind));
    facts.add("status", plain(&wait.status));
    facts.add("for", &wait.waiting_for);
    facts.add_some("until", wait.due_at.as_deref());
    facts.add_some("work item", wait.work_item_id.as_deref());
    Entry {
        id: format!("{WAIT}{}", wait.id.as_str()),
        label: format!("wait   {}: {}", plain(&wait.kind), wait.waiting_for),
        tone: Tone::Plain,
        detail: facts.text(),
        ..Entry::default()
    }
}
