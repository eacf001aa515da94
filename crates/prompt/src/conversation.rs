//! Builds the conversation of a request: the rounds of the turn since its frame, recaps of older rounds, and the
//! messages that joined.
//!
//! The conversation follows from the turn's log, the model's budget and the queued messages alone, so a request after a
//! restart is the same. `fold` decides which rounds give way to a recap, `recap` writes it, `reminder` places reminders.
//! Invariant: every call that is shown has its result, and every operator message that joined is shown whole.

mod fold;
mod recap;
mod reminder;

pub use reminder::ReminderTerms;

use crate::context::interjection_text;
use fold::Fold;
use holon_domain::compaction::{Compaction, Recap};
use holon_domain::log::LogEntry;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::ConversationItem;
use holon_domain::queue::{MessageSeq, QueueEntry};
use holon_domain::tool::ToolEnvelope;
use holon_domain::turn::OpenTurn;
use holon_domain::work_item::StaleReminder;
use reminder::Reminder;
use std::collections::HashMap;
use std::sync::Arc;

/// Everything a conversation is made of.
#[derive(Debug, Clone, Copy)]
pub struct ConversationInput<'a> {
    pub turn: &'a OpenTurn,
    /// The turn's log, in order.
    pub entries: &'a [Arc<LogEntry>],
    /// Messages that the log names, by position in the queue.
    pub messages: &'a HashMap<MessageSeq, MessageEnvelope>,
    /// Messages that join with this request.
    pub queued: &'a [QueueEntry],
    /// Renders the result of a call for the model.
    pub receipt: fn(&ToolEnvelope) -> String,
    pub reminders: ReminderTerms,
    /// Estimated tokens that the conversation may take.
    pub room_tokens: usize,
}

/// A conversation, with what its request is the first to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltConversation {
    pub items: Vec<ConversationItem>,
    /// Reminder that is new in this request, or was due and left out.
    pub reminder: Option<StaleReminder>,
    pub compaction: Option<Compaction>,
}

/// A round with what followed it until the next round. The first span holds what stands before the first round.
#[derive(Debug, Clone, Default)]
struct Span<'a> {
    /// Number of the round, counted from 1; 0 before the first round.
    round: u32,
    entries: Vec<&'a LogEntry>,
    items: Vec<ConversationItem>,
}

impl Span<'_> {
    /// Returns true if a recap that ends with round `covered` stands for this span.
    const fn is_covered(&self, covered: u32) -> bool {
        self.round > 0 && self.round <= covered
    }

    fn tokens(&self) -> usize {
        tokens_of(&self.items)
    }
}

fn tokens_of(items: &[ConversationItem]) -> usize {
    items.iter().map(ConversationItem::estimated_tokens).sum()
}

/// Builds the conversation of a request.
#[must_use]
pub fn build(input: &ConversationInput<'_>) -> BuiltConversation {
    let recaps = valid_recaps(input.entries);
    let covered = recaps.last().map_or(0, |recap| recap.last_round);
    let joining: Vec<ConversationItem> = input
        .queued
        .iter()
        .map(|entry| interjection_item(&entry.envelope))
        .collect();
    let room = input.room_tokens.saturating_sub(tokens_of(&joining));
    let mut reminder = Reminder::new(input.reminders, input.turn, input.entries, room);
    let spans = spans(input, covered, &mut reminder);
    let Fold {
        recaps,
        spans,
        compaction,
    } = fold::fold(input, recaps, spans, room);
    let mut items = Vec::new();
    let mut spans = spans.into_iter();
    items.extend(spans.next().unwrap_or_default().items);
    items.extend(
        recaps
            .into_iter()
            .map(|recap| ConversationItem::User { text: recap.text }),
    );
    items.extend(spans.flat_map(|span| span.items));
    items.extend(joining);
    BuiltConversation {
        items,
        reminder: reminder.into_newest(),
        compaction,
    }
}

/// Returns the recaps that hold, oldest first. A recap that begins with the first round replaces those before it.
fn valid_recaps(entries: &[Arc<LogEntry>]) -> Vec<Recap> {
    let mut recaps: Vec<Recap> = Vec::new();
    for entry in entries {
        if let LogEntry::Recap(recap) = entry.as_ref() {
            if recap.first_round == 1 {
                recaps.clear();
            }
            recaps.push(recap.clone());
        }
    }
    recaps
}

/// Splits the log by rounds. Rounds that a recap covers have no items.
fn spans<'a>(
    input: &ConversationInput<'a>,
    covered: u32,
    reminder: &mut Reminder,
) -> Vec<Span<'a>> {
    let mut spans = Vec::new();
    let mut span = Span::default();
    for entry in input.entries {
        let reminded = reminder.take_before(entry);
        span.items
            .extend(reminded.filter(|_| !span.is_covered(covered)));
        if let LogEntry::AssistantRound { round, .. } = entry.as_ref() {
            let next = Span {
                round: *round,
                ..Span::default()
            };
            spans.push(std::mem::replace(&mut span, next));
        }
        if !span.is_covered(covered)
            && let Some(item) = to_item(input, entry)
        {
            reminder.subtract(&item);
            span.items.push(item);
        }
        span.entries.push(entry);
    }
    let reminded = reminder.take_at_end();
    span.items
        .extend(reminded.filter(|_| !span.is_covered(covered)));
    spans.push(span);
    spans
}

/// Converts a log entry to its part of the conversation, if it has one.
fn to_item(input: &ConversationInput<'_>, entry: &LogEntry) -> Option<ConversationItem> {
    match entry {
        // Providers refuse an assistant message without content.
        LogEntry::AssistantRound { blocks, .. } if blocks.is_empty() => None,
        LogEntry::AssistantRound { blocks, tries, .. } => Some(ConversationItem::Assistant {
            model_ref: tries.model_ref.clone(),
            blocks: blocks.to_vec(),
        }),
        LogEntry::ToolResult {
            call_id, envelope, ..
        } => Some(ConversationItem::ToolResult {
            call_id: call_id.clone(),
            content: (input.receipt)(envelope),
            is_error: envelope.error().is_some(),
        }),
        LogEntry::Interjection { message_seq, .. } => {
            input.messages.get(message_seq).map(interjection_item)
        }
        LogEntry::ContinuationPrompt { text, .. } => {
            Some(ConversationItem::User { text: text.clone() })
        }
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Recap(_)
        | LogEntry::RuntimeFailure { .. } => None,
    }
}

fn interjection_item(message: &MessageEnvelope) -> ConversationItem {
    ConversationItem::User {
        text: interjection_text(message),
    }
}
