//! Renders one work item: the current one in full, any other in one line.

use super::{PlanFile, describe_wait, ordered, short};
use crate::candidate::{Candidate, count};
use crate::provenance::spelled;
use crate::visible;
use holon_domain::agent::AgentRecord;
use holon_domain::prompt_plan::BlockSource;
use holon_domain::text;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{PlanArtifact, TodoItem, TodoState, WorkItemRecord};
use std::collections::BTreeMap;

/// Bytes of the checklist of the current item.
const TODO_BYTES: usize = 8_000;
/// Bytes of a completion report in a list.
const REPORT_BYTES: usize = 600;

/// Bytes of plan and checklist in the shorter forms of the current item, longest first.
const SHORTER: [(usize, usize); 4] = [(4_000, TODO_BYTES), (1_000, 4_000), (0, 1_000), (0, 0)];

/// Renders the current item, a pin: in full, with a shorter plan and checklist, or in one line.
pub(super) fn candidate<'a>(
    agent: &'a AgentRecord,
    item: &'a WorkItemRecord,
    wait: Option<&'a WaitRecord>,
    plan: &'a PlanFile,
) -> Candidate<'a> {
    let whole = full(agent, item, wait, plan, (usize::MAX, TODO_BYTES));
    let shorter = move |tokens: usize| {
        let forms = SHORTER
            .iter()
            .map(|bytes| full(agent, item, wait, plan, *bytes));
        let mut fitting = forms.filter(|form| count(form) <= tokens);
        fitting.next().unwrap_or_else(|| {
            let short = line(item, agent.work.wake_count);
            format!("Current work item, shortened for lack of room; GetWorkItem shows it whole:\n{short}")
        })
    };
    let listed: usize = item.todo_list.iter().map(|entry| todo(entry).len()).sum();
    Candidate::pin(BlockSource::CurrentItem, whole)
        .or_shorter(shorter)
        .leaving_out(listed.saturating_sub(TODO_BYTES))
        .showing(vec![item.id.clone()])
}

/// Renders the current item with at most so many bytes of its plan and of its checklist.
fn full(
    agent: &AgentRecord,
    item: &WorkItemRecord,
    wait: Option<&WaitRecord>,
    plan: &PlanFile,
    (plan_bytes, todo_bytes): (usize, usize),
) -> String {
    let state = item.scheduling_state(agent.work.wake_count);
    let mut lines = vec![
        format!(
            "Current work item {} ({}, revision {}, made under {}):",
            item.id,
            spelled(state),
            item.revision,
            spelled(item.provenance.authority),
        ),
        format!("objective: {}", visible::line(&item.objective)),
        format!("plan_status: {}", spelled(item.plan_status)),
    ];
    if let Some(words) = &item.order {
        lines.push(format!(
            "your operator had asked: {}",
            visible::quoted(words)
        ));
    }
    if let Some(blocker) = &item.blocked_by {
        lines.push(format!("blocked_by: {}", visible::line(blocker)));
    }
    if let Some(recheck) = &item.recheck {
        lines.push(format!("recheck_at: {}", recheck.at));
    }
    if let Some(wait) = wait {
        lines.push(format!("waits: {} {}", wait.id, describe_wait(wait)));
    }
    let path = format!(
        "{}/{}",
        agent.agent_home,
        WorkItemRecord::plan_path(&item.id)
    );
    lines.push(describe_plan(
        &visible::line(&path),
        item.plan.as_ref(),
        plan,
        plan_bytes,
    ));
    lines.extend(todos(&item.todo_list, todo_bytes));
    lines.join("\n")
}

fn describe_plan(
    path: &str,
    known: Option<&PlanArtifact>,
    look: &PlanFile,
    most_bytes: usize,
) -> String {
    let plan = match (look, known) {
        (PlanFile::Missing, _) => return format!("plan file: {path} (there is no such file)"),
        (PlanFile::Known, None) => return format!("plan file: {path} (not written yet)"),
        (PlanFile::Known, Some(plan)) => plan,
        (PlanFile::Changed(plan), _) => plan,
    };
    let bytes = plan.bytes;
    if plan.is_too_large() {
        return format!("plan file: {path} ({bytes} bytes, too large to be shown; shorten it)");
    }
    if plan.preview.is_empty() && bytes > 0 {
        return format!("plan file: {path} ({bytes} bytes, no text)");
    }
    if bytes == 0 {
        return format!("plan file: {path} (empty)");
    }
    let hash = text::prefix(&plan.hash, 12);
    let shown = text::prefix(&plan.preview, most_bytes);
    let extent = if plan.preview_complete && shown.len() == plan.preview.len() {
        "shown whole"
    } else if shown.is_empty() {
        "not shown for lack of room; read the file"
    } else {
        "only its beginning is shown; read the file for the rest"
    };
    let head = format!("plan file: {path} ({bytes} bytes, sha256 {hash}, {extent})");
    if shown.is_empty() {
        return head;
    }
    format!("{head}\n{}", quote(shown))
}

/// Renders the checklist in its order. What is open comes before what is done when the room is short.
fn todos(list: &[TodoItem], most_bytes: usize) -> Vec<String> {
    let mut left = most_bytes;
    let mut kept: BTreeMap<usize, String> = BTreeMap::new();
    let mut by_urgency: Vec<(usize, &TodoItem)> = list.iter().enumerate().collect();
    by_urgency.sort_by_key(|(place, todo)| (urgency(todo.state), *place));
    for (place, entry) in by_urgency {
        let line = todo(entry);
        if line.len() > left {
            break;
        }
        left -= line.len();
        kept.insert(place, line);
    }
    let hidden = list.len() - kept.len();
    let done = list
        .iter()
        .enumerate()
        .filter(|(place, entry)| entry.state == TodoState::Completed && !kept.contains_key(place));
    let done = done.count();
    let mut lines: Vec<String> = kept.into_values().collect();
    if hidden > 0 {
        lines.push(format!(
            "- and {hidden} more, {done} of them done; GetWorkItem shows all"
        ));
    }
    if !lines.is_empty() {
        lines.insert(0, "checklist:".to_owned());
    }
    lines
}

fn urgency(state: TodoState) -> u8 {
    match state {
        TodoState::InProgress => 0,
        TodoState::Pending => 1,
        TodoState::Completed => 2,
    }
}

fn todo(todo: &TodoItem) -> String {
    let mark = match todo.state {
        TodoState::Pending => "[ ]",
        TodoState::InProgress => "[in progress]",
        TodoState::Completed => "[done]",
    };
    format!("- {mark} {}", visible::line(&todo.text))
}

/// Renders an item as one line of a list, with the authority that made it.
pub(super) fn line(item: &WorkItemRecord, wake_count: u64) -> String {
    let state = spelled(item.scheduling_state(wake_count));
    let authority = spelled(item.provenance.authority);
    let mut line = format!(
        "- {} [{state}, {authority}] {}",
        item.id,
        short(&item.objective)
    );
    if let Some(blocker) = &item.blocked_by {
        line.push_str(&format!(" | blocked by: {}", short(blocker)));
    }
    if let Some(todo) = item.current_todo() {
        line.push_str(&format!(" | next: {}", short(&todo.text)));
    }
    let plan = item.plan.as_ref().map(|plan| plan.preview.trim_start());
    if let Some(first) = plan.and_then(|plan| plan.lines().next()) {
        line.push_str(&format!(" | plan: {}", short(first)));
    }
    line.push_str(&ordered(item.order.as_deref()));
    line
}

/// Renders a completed item with its report.
pub(super) fn completed(item: &WorkItemRecord, report: &str) -> String {
    let line = format!("- {} {}", item.id, short(&item.objective));
    format!("{line}\n{}", quote(&text::preview(report, REPORT_BYTES)))
}

/// Marks each line as quoted, so that no text is mistaken for a line of the runtime.
fn quote(words: &str) -> String {
    let shown = visible::body(words);
    let lines: Vec<String> = shown.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}
