//! Renders results of tools about work items and waits: a line or two with what a model has to know next.
//!
//! The stored result keeps every field for clients. A result of another shape has no text here and is shown as JSON.
//! Invariant: objectives, blockers and checklists stay on their lines; what a file or a report says stands in a fence.

use crate::lines::{FenceKey, line, section};
use holon_domain::limits::{EVENT_PREVIEW_BYTES, FAILURE_SUMMARY_BYTES};
use holon_domain::marker;
use holon_domain::task::TaskStatusSnapshot;
use holon_domain::text;
use holon_domain::timer::TimerRecord;
use holon_domain::wait::{WaitRecord, WakeSource};
use holon_domain::work_item::{TodoItem, TodoState, WorkItemState, WorkItemView};
use holon_domain::{Timestamp, WorkItemId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of a blocker in the line of its item.
const BLOCKER_BYTES: usize = 120;
/// Bytes of the first line of a plan in the line of its item.
const PLAN_BYTES: usize = 120;

/// Result of a call that made or changed an item.
#[derive(Debug, Deserialize)]
pub(super) struct ChangedItem {
    work_item: WorkItemView,
    /// Absent in the result of a call that made an item.
    #[serde(default)]
    changed: Option<bool>,
    #[serde(default)]
    warnings: Vec<Value>,
    #[serde(default)]
    plan_warning: Option<Value>,
}

/// Result of a pick.
#[derive(Debug, Deserialize)]
pub(super) struct PickedItem {
    current_work_item: WorkItemView,
    #[serde(default)]
    previous_work_item: Option<WorkItemView>,
    warnings: Vec<Value>,
}

/// Result of a completion.
#[derive(Debug, Deserialize)]
pub(super) struct CompletedItem {
    warnings: Vec<Value>,
}

/// Result of a read of one item.
#[derive(Debug, Deserialize)]
pub(super) struct ReadItem {
    work_item: WorkItemView,
}

/// Result of a read of several items.
#[derive(Debug, Deserialize)]
pub(super) struct ListedItems {
    work_items: Vec<WorkItemView>,
    #[serde(default)]
    next_cursor: Option<String>,
}

/// Result of a call that declared or cancelled a wait.
#[derive(Debug, Deserialize)]
pub(super) struct OneWait {
    wait: WaitRecord,
}

/// Renders an item that was made.
pub(super) fn created(result: &ChangedItem) -> String {
    let item = &result.work_item;
    let mut text = format!(
        "made work item {}{}; its plan file {} exists and {}; PickWorkItem gives it the focus",
        item.id,
        facts(item),
        one_line(&item.plan_artifact.path),
        match item.plan_artifact.bytes {
            0 => "is empty: write it with ApplyPatch",
            _ => "holds your plan: change it with ApplyPatch",
        }
    );
    warn(
        &mut text,
        result.warnings.iter().chain(&result.plan_warning),
    );
    text
}

/// Renders an item that was updated.
pub(super) fn updated(result: &ChangedItem) -> String {
    let item = &result.work_item;
    let what = match result.changed {
        Some(false) => "was so before",
        Some(true) | None => "is updated",
    };
    let mut text = format!("work item {} {what}{}", item.id, facts(item));
    warn(
        &mut text,
        result.warnings.iter().chain(&result.plan_warning),
    );
    if result.plan_warning.is_some() {
        let path = one_line(&item.plan_artifact.path);
        line(&mut text, &format!("the plan file is {path}"));
    }
    text
}

/// Renders an item that got the focus.
pub(super) fn picked(result: &PickedItem) -> String {
    let item = &result.current_work_item;
    let before = result.previous_work_item.as_ref();
    let before = before.filter(|before| before.id != item.id);
    let before = before.map_or_else(String::new, |before| {
        format!("; {} had it before", before.id)
    });
    let mut text = format!(
        "work item {} has the focus{before}{}; its plan file is {}",
        item.id,
        facts(item),
        one_line(&item.plan_artifact.path)
    );
    warn(&mut text, &result.warnings);
    text
}

/// Renders a completion: what the summary says, and its warnings.
pub(super) fn completed(result: &CompletedItem, summary: &str) -> String {
    let mut text = summary.to_owned();
    warn(&mut text, &result.warnings);
    text
}

/// Renders a result of which a model needs no more than its summary.
pub(super) fn summarised(summary: &str) -> String {
    text::preview(&joined(summary), FAILURE_SUMMARY_BYTES)
}

/// Renders one item with its plan and its report.
pub(super) fn read(result: &ReadItem, key: FenceKey<'_>) -> String {
    let item = &result.work_item;
    let mut text = format!("{}{}", item.id, facts(item));
    line(
        &mut text,
        &format!("objective: {}", joined(&item.objective)),
    );
    if let Some(blocker) = &item.blocked_by {
        line(&mut text, &format!("blocked by: {}", joined(blocker)));
    }
    steps(&mut text, item);
    let plan = &item.plan_artifact;
    let extent = if !plan.exists {
        "there is no such file"
    } else if plan.bytes == 0 {
        "empty"
    } else if plan.preview_complete {
        "shown whole"
    } else {
        "its beginning is shown; read the file for the rest"
    };
    let path = one_line(&plan.path);
    line(&mut text, &format!("plan file: {path} ({extent})"));
    if let Some(at) = item.recheck_at {
        line(&mut text, &format!("reminder of the blocker: {at}"));
    }
    section(&mut text, key, "plan", &plan.preview);
    if let Some(report) = &item.completion_report {
        section(&mut text, key, "report", &report.text);
    }
    text
}

/// Renders a page of items, each with a line of its own.
pub(super) fn page(result: &ListedItems, summary: &str) -> String {
    let mut text = summary.to_owned();
    for item in &result.work_items {
        line(&mut text, &format!("- {}", listed(item)));
    }
    if let Some(cursor) = &result.next_cursor {
        let more = format!("more with after={}", one_line(cursor));
        line(&mut text, &more);
    }
    text
}

/// Result of a look at one task.
#[derive(Debug, Deserialize)]
pub(super) struct ReadTask {
    task: TaskStatusSnapshot,
}

/// Renders the state of a task. What a child or a command wrote stands in a fence.
pub(super) fn task(ReadTask { task }: &ReadTask, summary: &str, key: FenceKey<'_>) -> String {
    let mut text = format!(
        "{} is {}, since {}, begun {}",
        task.task_id,
        spelled(task.status),
        task.updated_at,
        task.created_at
    );
    if let Some(summary) = &task.summary {
        line(&mut text, &format!("about: {}", one_line(summary)));
    }
    if let Some((_, end)) = summary.split_once(": ") {
        section(&mut text, key, "end", &marker::without_markers(end));
    }
    if let Some(command) = &task.command {
        let command = serde_json::to_value(command).unwrap_or_default();
        section(&mut text, key, "command", &fields(&command));
    }
    if let Some(child) = &task.child_agent_id {
        line(&mut text, &format!("child agent: {child}"));
    }
    if let Some(seen) = &task.child_observability {
        let seen = serde_json::to_value(seen).unwrap_or_default();
        section(&mut text, key, "child", &fields(&seen));
    }
    if let Some(supervision) = &task.child_supervision {
        let supervision = serde_json::to_value(supervision).unwrap_or_default();
        section(&mut text, key, "supervision", &fields(&supervision));
    }
    text
}

/// Lists the members of an object, each with its name on a line of its own.
fn fields(object: &Value) -> String {
    let members = object.as_object().into_iter().flatten();
    let shown = members
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| {
            let value = match value {
                Value::String(words) => joined(words),
                other => other.to_string(),
            };
            format!("{name}: {}", marker::without_markers(&value))
        });
    let shown: Vec<String> = shown.collect();
    shown.join("\n")
}

/// Result of a read of the timers.
#[derive(Debug, Deserialize)]
pub(super) struct ListedTimers {
    timers: Vec<TimerRecord>,
}

/// Renders the active timers, each with a line of its own.
pub(super) fn timers(result: &ListedTimers, summary: &str) -> String {
    let mut text = summary.to_owned();
    for timer in &result.timers {
        let next = timer.next_fire_at.map_or_else(
            || "has no later time".to_owned(),
            |at| format!("next at {at}"),
        );
        let about = timer.summary.as_deref().unwrap_or("(no summary)");
        line(
            &mut text,
            &format!(
                "- {} {next} ({}, fired {}): {}",
                timer.id,
                timer.maker_words(),
                text::pluralize(timer.fire_count, "time"),
                one_line(about)
            ),
        );
    }
    text
}

/// Renders a wait that was declared.
pub(super) fn waiting(OneWait { wait }: &OneWait) -> String {
    let ends = wait.wake_sources.iter().map(|source| wake(wait, source));
    let ends: Vec<String> = ends.collect();
    let due = wait.due_at.filter(|due| !names(&wait.wake_sources, *due));
    let due = due.map_or_else(String::new, |due| format!(", at the latest at {due}"));
    format!(
        "{}{} ends with {}{due}; the turn ends",
        wait.id,
        of_item(wait.work_item_id.as_ref()),
        ends.join(", or "),
    )
}

/// Renders a wait that was given up.
pub(super) fn cancelled(OneWait { wait }: &OneWait) -> String {
    let item = of_item(wait.work_item_id.as_ref());
    format!("{}{item} is cancelled", wait.id)
}

fn of_item(item: Option<&WorkItemId>) -> String {
    item.map_or_else(String::new, |item| format!(" of {item}"))
}

fn names(sources: &[WakeSource], due: Timestamp) -> bool {
    let is_due =
        |source: &WakeSource| matches!(source, WakeSource::Timer { wake_at } if *wake_at == due);
    sources.iter().any(is_due)
}

fn wake(wait: &WaitRecord, source: &WakeSource) -> String {
    match source {
        WakeSource::TaskResult { task_id } => format!("the end of {task_id}"),
        WakeSource::ExternalIngress {
            external_trigger_id: Some(trigger),
            ..
        } => format!("a call of {trigger}"),
        WakeSource::ExternalIngress {
            source: Some(source),
            ..
        } => format!("an event from {}", one_line(source)),
        WakeSource::ExternalIngress { .. } => "an event from outside".to_owned(),
        WakeSource::Timer { wake_at } => wake_at.to_string(),
        WakeSource::OperatorInput => one_line(&wait.answer_words()),
        WakeSource::SystemTick => "a tick of the runtime".to_owned(),
    }
}

/// Renders the id, the objective and the state of an item.
fn listed(item: &WorkItemView) -> String {
    let mut text = format!("{}{}: {}", item.id, facts(item), one_line(&item.objective));
    let lines = || item.plan_artifact.preview.lines().map(str::trim);
    let mut filled = lines().filter(|line| !line.is_empty());
    let mut body = lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    if let Some(first) = body.next().or_else(|| filled.next()) {
        let first = text::preview(&joined(first), PLAN_BYTES);
        text.push_str(&format!(" | plan: {first}"));
    }
    steps(&mut text, item);
    text
}

fn steps(text: &mut String, item: &WorkItemView) {
    for todo in item.todo_list.iter().flatten() {
        line(text, &format!("  {}", step(todo)));
    }
}

fn step(todo: &TodoItem) -> String {
    let mark = match todo.state {
        TodoState::Pending => "[ ]",
        TodoState::InProgress => "[in progress]",
        TodoState::Completed => "[done]",
    };
    format!("{mark} {}", one_line(&todo.text))
}

/// Renders the state of an item in brackets: scheduling, plan, checklist and blocker.
fn facts(item: &WorkItemView) -> String {
    let mut facts = Vec::new();
    if item.is_current {
        facts.push("current".to_owned());
    }
    facts.push(spelled(item.scheduling_state));
    if item.state == WorkItemState::Open {
        facts.push(format!("plan {}", spelled(item.plan_status)));
    }
    if let Some(todos) = item.todo_list.as_ref().filter(|todos| !todos.is_empty()) {
        let done = todos
            .iter()
            .filter(|todo| todo.state == TodoState::Completed);
        facts.push(format!("{} of {} steps done", done.count(), todos.len()));
    }
    if let Some(blocker) = &item.blocked_by {
        let beginning = text::preview(&joined(blocker), BLOCKER_BYTES);
        facts.push(format!("blocked by: {beginning}"));
    }
    format!(" ({})", facts.join(", "))
}

fn spelled(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn warn<'a>(text: &mut String, warnings: impl IntoIterator<Item = &'a Value>) {
    for warning in warnings {
        let message = warning.get("message").unwrap_or(warning);
        let message = one_line(message.as_str().unwrap_or_default());
        line(text, &format!("warning: {message}"));
    }
}

fn one_line(words: &str) -> String {
    text::preview(&joined(words), EVENT_PREVIEW_BYTES)
}

/// Joins the lines of a text to one.
fn joined(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ")
}
