//! Renders the turn-scoped part of the prompt: recent messages, the current input, and messages that enter a running
//! turn.
//!
//! Decides which messages are shown, how much of each, and their labels. Fences are in `fence`, provenance lines in
//! `provenance`. Invariant: the current input is the last thing a model reads.

use crate::fence::{self, Extent};
use crate::{provenance, visible};
use holon_domain::limits::{RECENT_MESSAGE_BYTES, RECENT_MESSAGES};
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::task::TaskListEntry;
use holon_domain::text;
use holon_domain::time::Timestamp;

/// Largest number of tasks in a prompt.
const TASKS_SHOWN: usize = 16;
/// Largest line about one task, in bytes.
const TASK_LINE_BYTES: usize = 160;

/// An earlier message and the agent's answer to it.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryItem {
    pub message: MessageEnvelope,
    /// Absent if the agent has not answered.
    pub answer: Option<String>,
}

/// Renders earlier messages and their answers, oldest first: the newest that fit `room_tokens`; `None` if none fits.
pub(crate) fn recent(history: &[HistoryItem], room_tokens: usize) -> Option<String> {
    let mut left = room_tokens;
    let mut entries: Vec<String> = history
        .iter()
        .rev()
        .take(RECENT_MESSAGES)
        .map(entry)
        .take_while(|entry| {
            let fits = text::estimate_tokens(entry) <= left;
            left = left.saturating_sub(text::estimate_tokens(entry));
            fits
        })
        .collect();
    if entries.is_empty() {
        return None;
    }
    entries.reverse();
    Some(format!(
        "Recent messages, oldest first (history, already dealt with):\n\n{}",
        entries.join("\n\n")
    ))
}

fn entry(item: &HistoryItem) -> String {
    let message = &item.message;
    let content = fence::content(message, Extent::Bytes(RECENT_MESSAGE_BYTES));
    let asked = format!("{}\n{content}", provenance::short(message));
    match item
        .answer
        .as_deref()
        .filter(|answer| !answer.trim().is_empty())
    {
        Some(answer) => format!(
            "{asked}\nYour answer:\n{}",
            quote(&text::preview(answer, RECENT_MESSAGE_BYTES))
        ),
        None => asked,
    }
}

/// Marks each line as quoted. An answer may repeat what an outsider wrote, and must not be mistaken for another
/// message.
fn quote(answer: &str) -> String {
    let shown = visible::body(answer);
    let lines: Vec<String> = shown.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

/// Renders the message this turn answers.
pub(crate) fn current(message: &MessageEnvelope, turn_start: Timestamp) -> String {
    format!(
        "Turn started at {turn_start}.\n\nCurrent input:\n{}\n{}",
        provenance::full(message),
        fence::content(message, Extent::Whole),
    )
}

/// Renders the tasks that ran when the turn began, so that none is forgotten or started twice; `None` if there were
/// none.
pub(crate) fn tasks(tasks: &[TaskListEntry]) -> Option<String> {
    if tasks.is_empty() {
        return None;
    }
    let line = |task: &TaskListEntry| {
        let what = text::preview(task.summary.as_deref().unwrap_or_default(), TASK_LINE_BYTES);
        format!("- {} since {}: {what}", task.id, task.created_at)
    };
    let mut lines: Vec<String> = tasks.iter().take(TASKS_SHOWN).map(line).collect();
    if let Some(more) = tasks
        .len()
        .checked_sub(TASKS_SHOWN)
        .filter(|more| *more > 0)
    {
        lines.push(format!("- and {more} more; TaskList shows all"));
    }
    Some(format!(
        "Tasks that ran when this turn started:\n{}",
        lines.join("\n")
    ))
}

/// Renders a message that enters a running turn, with a label: an operator's message, or the end of a task.
#[must_use]
pub fn interjection_text(message: &MessageEnvelope) -> String {
    let what = match message.kind {
        MessageKind::TaskResult => "A task ended while this turn was running",
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => "Operator message received while this turn was running",
    };
    format!(
        "{what}:\n{}\n{}",
        provenance::full(message),
        fence::content(message, Extent::Whole),
    )
}
