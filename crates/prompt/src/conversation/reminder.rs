//! Decides when a long turn is reminded to keep the current work item up to date, and writes the reminder.
//!
//! A reminder is an entry of the turn's log from the answer to its first request on. So every later request has it in
//! the same place with the same words, and one that was left out for lack of room does not appear later.

use crate::provenance::spelled;
use crate::visible;
use holon_domain::WorkItemId;
use holon_domain::log::LogEntry;
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::turn::OpenTurn;
use holon_domain::work_item::{ReminderSkip, StaleReminder, TodoState, WorkItemRecord};
use serde_json::Value;
use std::sync::Arc;

/// Bytes of the objective, the blocker or a step in a reminder.
const LINE_BYTES: usize = 240;

/// Conditions under which an agent is reminded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReminderTerms {
    /// Model rounds without a change to a work item before the reminder is due; 0 disables it.
    pub rounds: u32,
    /// Rounds between two reminders.
    pub cooldown_rounds: u32,
    /// Upper bound on a reminder, in estimated tokens. A longer one is left out.
    pub max_tokens: u32,
}

/// What the log of a turn tells about reminders.
#[derive(Debug)]
pub(super) struct Reminder<'a> {
    terms: ReminderTerms,
    /// Item that has the focus at the end of the log.
    item: Option<WorkItemId>,
    /// Row of the turn's item.
    row: Option<&'a WorkItemRecord>,
    rounds_since_change: u32,
    rounds_since_reminder: Option<u32>,
    /// Reminder that is due now.
    newest: Option<StaleReminder>,
}

impl<'a> Reminder<'a> {
    /// Reads the log of a turn. `row` is the turn's item in its present state.
    pub(super) fn new(
        terms: ReminderTerms,
        turn: &OpenTurn,
        entries: &[Arc<LogEntry>],
        row: Option<&'a WorkItemRecord>,
    ) -> Self {
        let mut reminder = Self {
            terms,
            item: first_item(turn, entries),
            row,
            rounds_since_change: 0,
            rounds_since_reminder: None,
            newest: None,
        };
        for entry in entries {
            reminder.note(entry);
        }
        reminder
    }

    fn note(&mut self, entry: &LogEntry) {
        match entry {
            LogEntry::ToolResult { envelope, .. } => self.note_result(envelope),
            LogEntry::AssistantRound { .. } => {
                self.rounds_since_change += 1;
                if let Some(rounds) = &mut self.rounds_since_reminder {
                    *rounds += 1;
                }
            }
            LogEntry::ContinuationPrompt { reason, .. } if reason == StaleReminder::LOG_REASON => {
                self.rounds_since_reminder = Some(0);
            }
            LogEntry::ContinuationPrompt { .. }
            | LogEntry::Interjection { .. }
            | LogEntry::IncomingMessage { .. }
            | LogEntry::Frame(_)
            | LogEntry::Recap(_)
            | LogEntry::ThreadFold(_)
            | LogEntry::Shortened(_)
            | LogEntry::RuntimeFailure { .. } => {}
        }
    }

    /// Returns the text of the reminder that is due, if it fits into `room` estimated tokens.
    pub(super) fn take(&mut self, room: usize) -> Option<String> {
        let id = self.item.clone().filter(|_| self.is_due())?;
        let row = self.row.filter(|row| row.id == id);
        let most = usize::try_from(self.terms.max_tokens).unwrap_or(usize::MAX);
        let text = write(&id, row, self.rounds_since_change, most);
        let tokens = text::estimate_tokens(&text);
        let skipped = match tokens {
            tokens if tokens > most => Some(ReminderSkip::OverLimit),
            tokens if tokens > room => Some(ReminderSkip::OverBudget),
            _ => None,
        };
        self.newest = Some(StaleReminder {
            work_item_id: id,
            rounds_since_update: self.rounds_since_change,
            skipped,
        });
        skipped.is_none().then_some(text)
    }

    /// Returns the reminder that is new in this request, or that was due and left out.
    pub(super) fn into_newest(self) -> Option<StaleReminder> {
        self.newest
    }

    fn is_due(&self) -> bool {
        let ReminderTerms {
            rounds,
            cooldown_rounds,
            ..
        } = self.terms;
        let cooled = self
            .rounds_since_reminder
            .is_none_or(|since| since >= cooldown_rounds.max(1));
        rounds > 0 && self.rounds_since_change >= rounds && cooled
    }

    /// Resets the count after a call that changed a work item.
    fn note_result(&mut self, envelope: &ToolEnvelope) {
        let ToolOutcome::Success { result } = &envelope.outcome else {
            return;
        };
        match envelope.tool_name.as_str() {
            "PickWorkItem" => self.item = id_at(result, "/current_work_item_id"),
            "CompleteWorkItem" if id_at(result, "/work_item/id") == self.item => self.item = None,
            "CompleteWorkItem" | "CreateWorkItem" | "UpdateWorkItem" => {}
            _ => return,
        }
        self.rounds_since_change = 0;
        self.rounds_since_reminder = None;
    }
}

/// Finds the item that had the focus when the turn began: the one the first pick replaced, else the item of the turn.
fn first_item(turn: &OpenTurn, entries: &[Arc<LogEntry>]) -> Option<WorkItemId> {
    let mut picks = entries.iter().filter_map(|entry| match entry.as_ref() {
        LogEntry::ToolResult { envelope, .. } if envelope.tool_name == "PickWorkItem" => {
            match &envelope.outcome {
                ToolOutcome::Success { result } => Some(result),
                ToolOutcome::Error { .. } => None,
            }
        }
        LogEntry::ToolResult { .. }
        | LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::RuntimeFailure { .. } => None,
    });
    match picks.next() {
        Some(result) => id_at(result, "/previous_work_item/id"),
        None => turn
            .work_item_id
            .clone()
            .or_else(|| turn.ticked_item.clone()),
    }
}

fn id_at(result: &Value, place: &str) -> Option<WorkItemId> {
    let id = result.pointer(place)?.as_str()?;
    Some(WorkItemId::from_stored(id))
}

/// Writes a reminder with as many open steps of the checklist as fit into `most` estimated tokens.
fn write(id: &WorkItemId, row: Option<&WorkItemRecord>, rounds: u32, most: usize) -> String {
    let mut text = format!(
        "Reminder of the runtime: {} passed since a work item was last updated; the current one is {id}. If something \
         material happened, record it with UpdateWorkItem, and edit the plan file if your understanding changed. If \
         the objective is achieved, complete the item. Otherwise go on; this needs no answer.",
        text::pluralize(u64::from(rounds), "model round"),
    );
    let mut left = most.saturating_sub(text::estimate_tokens(&text));
    for line in row.into_iter().flat_map(state_lines) {
        let line = format!("\n{line}");
        // Joining two texts may cost one token more.
        let cost = text::estimate_tokens(&line) + 1;
        if cost > left {
            break;
        }
        left -= cost;
        text.push_str(&line);
    }
    text
}

/// Describes the state of an item: objective, plan, blocker, and the steps that are open.
fn state_lines(item: &WorkItemRecord) -> Vec<String> {
    let short = |words: &str| text::preview(&visible::line(words), LINE_BYTES);
    let plan = item.plan.as_ref().map_or_else(
        || "no plan file yet".to_owned(),
        |plan| format!("plan file of {} bytes", plan.bytes),
    );
    let blocker = item.blocked_by.iter();
    let open = item.todo_list.iter().filter_map(|todo| match todo.state {
        TodoState::InProgress => Some(format!("- [in progress] {}", short(&todo.text))),
        TodoState::Pending => Some(format!("- [ ] {}", short(&todo.text))),
        TodoState::Completed => None,
    });
    [
        format!("objective: {}", short(&item.objective)),
        format!("plan_status: {} ({plan})", spelled(item.plan_status)),
    ]
    .into_iter()
    .chain(blocker.map(|blocker| format!("blocked_by: {}", short(blocker))))
    .chain(open)
    .collect()
}

#[cfg(test)]
mod tests;
