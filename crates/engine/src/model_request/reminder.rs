//! The reminder in a long turn to keep the current work item up to date.
//!
//! Where reminders stand follows from the log of the turn alone: every later request of the turn has them in the same
//! places, and nothing is stored for them.

use holon_domain::WorkItemId;
use holon_domain::log::LogEntry;
use holon_domain::model::ConversationItem;
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::turn::OpenTurn;
use serde_json::Value;

/// When an agent is reminded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReminderTerms {
    /// Model rounds without a call that changes a work item, after which the reminder comes. 0: never.
    pub rounds: u32,
    /// Rounds from one reminder to the next.
    pub cooldown_rounds: u32,
    /// The longest reminder, in estimated tokens. A longer one is left out.
    pub max_tokens: u32,
}

/// Walks the log of a turn and says after which rounds a reminder stands.
#[derive(Debug)]
pub(super) struct Reminder {
    terms: ReminderTerms,
    /// The item that has the focus at this place of the log.
    item: Option<WorkItemId>,
    rounds_since_change: u32,
    rounds_since_reminder: Option<u32>,
    /// Whether the results of a round are being read.
    in_round: bool,
    /// Estimated tokens that are left for the conversation.
    room: usize,
}

impl Reminder {
    /// `room` is what the prompt leaves for the conversation, in estimated tokens.
    pub(super) fn new(
        terms: ReminderTerms,
        turn: &OpenTurn,
        entries: &[LogEntry],
        room: usize,
    ) -> Self {
        Self {
            terms,
            item: first_item(turn, entries),
            rounds_since_change: 0,
            rounds_since_reminder: None,
            in_round: false,
            room,
        }
    }

    /// Notes what the conversation holds by now.
    pub(super) fn said(&mut self, item: &ConversationItem) {
        self.room = self.room.saturating_sub(item.estimated_tokens());
    }

    /// Looks at the next entry; answers a reminder that stands before it.
    pub(super) fn before(&mut self, entry: &LogEntry) -> Option<ConversationItem> {
        match entry {
            LogEntry::ToolResult { envelope, .. } => {
                self.note(envelope);
                None
            }
            LogEntry::AssistantRound { .. } => {
                let due = self.at_end();
                self.in_round = true;
                self.rounds_since_change += 1;
                if let Some(rounds) = &mut self.rounds_since_reminder {
                    *rounds += 1;
                }
                due
            }
            LogEntry::Interjection { .. } | LogEntry::ContinuationPrompt { .. } => self.at_end(),
            LogEntry::IncomingMessage { .. }
            | LogEntry::Frame(_)
            | LogEntry::RuntimeFailure { .. } => None,
        }
    }

    /// A reminder that stands after the results of the last round.
    pub(super) fn at_end(&mut self) -> Option<ConversationItem> {
        if !std::mem::take(&mut self.in_round) || !self.is_due() {
            return None;
        }
        let id = self.item.as_ref()?;
        let reminder = ConversationItem::User {
            text: words(id, self.rounds_since_change),
        };
        let tokens = reminder.estimated_tokens();
        if tokens > usize::try_from(self.terms.max_tokens).unwrap_or(usize::MAX)
            || tokens > self.room
        {
            return None;
        }
        self.rounds_since_reminder = Some(0);
        self.said(&reminder);
        Some(reminder)
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

    /// A call that changed a work item begins the count anew.
    fn note(&mut self, envelope: &ToolEnvelope) {
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

/// The item that had the focus when the turn began: what the first switch left, or else what the turn is about.
fn first_item(turn: &OpenTurn, entries: &[LogEntry]) -> Option<WorkItemId> {
    let mut picks = entries.iter().filter_map(|entry| match entry {
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

fn words(id: &WorkItemId, rounds: u32) -> String {
    format!(
        "Reminder of the runtime: {} passed since a work item was last updated; the current one is {id}. If something \
         material happened, record it with UpdateWorkItem, and edit the plan file if your understanding changed. If \
         the objective is achieved, complete the item. Otherwise go on; this needs no answer.",
        text::pluralize(u64::from(rounds), "model round"),
    )
}

#[cfg(test)]
mod tests;
