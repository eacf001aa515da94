//! Places reminders in a long turn to keep the current work item up to date.
//!
//! The places follow from the turn's log alone. Every later request of the turn has the reminders in the same places,
//! and nothing is stored for them.

use holon_domain::WorkItemId;
use holon_domain::log::LogEntry;
use holon_domain::model::ConversationItem;
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::turn::OpenTurn;
use holon_domain::work_item::StaleReminder;
use serde_json::Value;
use std::sync::Arc;

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

/// Walks the log of a turn and decides after which rounds a reminder stands.
#[derive(Debug)]
pub(super) struct Reminder {
    terms: ReminderTerms,
    /// Item that has the focus at this point of the log.
    item: Option<WorkItemId>,
    rounds_since_change: u32,
    rounds_since_reminder: Option<u32>,
    /// True while the results of a round are read.
    in_round: bool,
    /// Estimated tokens left for the conversation.
    room: usize,
    /// Reminder since the last round of the log, so that no earlier request held it.
    newest: Option<StaleReminder>,
}

impl Reminder {
    /// Creates the walker; `room` is the token budget of the conversation.
    pub(super) fn new(
        terms: ReminderTerms,
        turn: &OpenTurn,
        entries: &[Arc<LogEntry>],
        room: usize,
    ) -> Self {
        Self {
            terms,
            item: first_item(turn, entries),
            rounds_since_change: 0,
            rounds_since_reminder: None,
            in_round: false,
            room,
            newest: None,
        }
    }

    /// Subtracts an item of the conversation from the room.
    pub(super) fn subtract(&mut self, item: &ConversationItem) {
        self.room = self.room.saturating_sub(item.estimated_tokens());
    }

    /// Processes the next entry and returns the reminder that stands before it, if any.
    pub(super) fn take_before(&mut self, entry: &LogEntry) -> Option<ConversationItem> {
        match entry {
            LogEntry::ToolResult { envelope, .. } => {
                self.note_result(envelope);
                None
            }
            LogEntry::AssistantRound { .. } => {
                let due = self.take_at_end();
                self.newest = None;
                self.in_round = true;
                self.rounds_since_change += 1;
                if let Some(rounds) = &mut self.rounds_since_reminder {
                    *rounds += 1;
                }
                due
            }
            LogEntry::Interjection { .. } | LogEntry::ContinuationPrompt { .. } => {
                self.take_at_end()
            }
            LogEntry::IncomingMessage { .. }
            | LogEntry::Frame(_)
            | LogEntry::Recap(_)
            | LogEntry::RuntimeFailure { .. } => None,
        }
    }

    /// Returns the reminder that stands after the results of the last round, if any.
    pub(super) fn take_at_end(&mut self) -> Option<ConversationItem> {
        if !std::mem::take(&mut self.in_round) || !self.is_due() {
            return None;
        }
        let id = self.item.as_ref()?;
        let reminder = ConversationItem::User {
            text: reminder_text(id, self.rounds_since_change),
        };
        let tokens = reminder.estimated_tokens();
        let newest = StaleReminder {
            work_item_id: id.clone(),
            rounds_since_update: self.rounds_since_change,
            skipped: false,
        };
        if tokens > usize::try_from(self.terms.max_tokens).unwrap_or(usize::MAX)
            || tokens > self.room
        {
            self.newest = Some(StaleReminder {
                skipped: true,
                ..newest
            });
            return None;
        }
        self.newest = Some(newest);
        self.rounds_since_reminder = Some(0);
        self.subtract(&reminder);
        Some(reminder)
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
        | LogEntry::RuntimeFailure { .. } => None,
    });
    match picks.next() {
        Some(result) => id_at(result, "/previous_work_item/id"),
        None => turn.work_item_id.clone(),
    }
}

fn id_at(result: &Value, place: &str) -> Option<WorkItemId> {
    let id = result.pointer(place)?.as_str()?;
    Some(WorkItemId::from_stored(id))
}

fn reminder_text(id: &WorkItemId, rounds: u32) -> String {
    format!(
        "Reminder of the runtime: {} passed since a work item was last updated; the current one is {id}. If something \
         material happened, record it with UpdateWorkItem, and edit the plan file if your understanding changed. If \
         the objective is achieved, complete the item. Otherwise go on; this needs no answer.",
        text::pluralize(u64::from(rounds), "model round"),
    )
}

#[cfg(test)]
mod tests;
