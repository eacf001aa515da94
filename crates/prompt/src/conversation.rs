//! Builds the conversation of a request: the rounds of the turn since its frame, recaps of older rounds, and the
//! messages that joined.
//!
//! Recaps and reminders are entries of the turn's log from the answer to their first request on, so a request after a
//! restart is the same. `fold` decides which rounds give way to a recap, `recap` writes it, `reminder` decides when a
//! reminder is due, `joining` which messages join, `guidance` what outlives the round that entered a workspace, and
//! `parts` lists the parts for readers. `short` keeps the shorter forms of texts that did not fit.
//!
//! Invariant: every call that is shown has its result, and every operator message that joined is shown whole, once, and
//! is never counted among the text that may be folded.

mod answer;
mod fold;
mod guidance;
mod joining;
mod parts;
mod recap;
mod reminder;
mod result;
mod short;

pub(crate) use recap::round_lines;

pub use fold::{NEWEST_IS_FOLDED, fold_target, soft_limit};
pub use joining::{Joining, split_by_size};
pub use parts::explain;
pub use reminder::ReminderTerms;

use crate::context::joined_text;
use crate::work::PlanFile;
use guidance::EnteredGuidance;
use holon_domain::agent::AgentRecord;
use holon_domain::block::Block;
use holon_domain::compaction::{Compaction, Recap};
use holon_domain::image::AttachedImage;
use holon_domain::log::LogEntry;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ConversationItem, PromptBlock};
use holon_domain::queue::{MessageSeq, QueueEntry};
use holon_domain::text;
use holon_domain::tool::ToolEnvelope;
use holon_domain::turn::OpenTurn;
use holon_domain::wait::{WaitNote, WaitRecord};
use holon_domain::work_item::{StaleReminder, WorkItemRecord};
use reminder::Reminder;
use short::ShortForms;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Everything a conversation is made of.
#[derive(Debug, Clone, Copy)]
pub struct ConversationInput<'a> {
    pub agent: &'a AgentRecord,
    pub turn: &'a OpenTurn,
    /// The turn's work item in its present state. Absent if the turn has none.
    pub item: Option<&'a WorkItemRecord>,
    /// Plan file of that item.
    pub plan: &'a PlanFile,
    /// Context blocks of the request's frame. A recap does not repeat an item that they show as it is.
    pub context: &'a [PromptBlock],
    /// The turn's log, in order.
    pub entries: &'a [Arc<LogEntry>],
    /// Messages that the log names, by position in the queue.
    pub messages: &'a HashMap<MessageSeq, MessageEnvelope>,
    /// Messages that join with this request.
    pub queued: &'a [QueueEntry],
    /// The agent's active waits. The messages that join end or interrupt them once the request is answered.
    pub waits: &'a [WaitRecord],
    /// Renders the result of a call for the model.
    pub receipt: fn(&ToolEnvelope) -> String,
    /// Renders the result of a call in about so many bytes.
    pub short_receipt: fn(&ToolEnvelope, usize) -> String,
    /// Returns the guidance of a workspace that the call entered, if its result holds some.
    pub entered_guidance: for<'e> fn(&'e ToolEnvelope) -> Option<&'e str>,
    pub reminders: ReminderTerms,
    /// Estimated tokens that the conversation may take.
    pub room_tokens: usize,
    /// True if a provider refused a request of this turn for its length. Everything that has a shorter form then gives way
    /// until the conversation fits, the newest round too.
    pub is_refused: bool,
    /// True if no sealed block of the turn is shown: what stands before them changed, or a provider refused them.
    pub is_unsealed: bool,
}

/// A turn's log and what renders it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogView<'a> {
    pub(crate) entries: &'a [Arc<LogEntry>],
    pub(crate) messages: &'a HashMap<MessageSeq, MessageEnvelope>,
    pub(crate) receipt: fn(&ToolEnvelope) -> String,
    pub(crate) entered_guidance: for<'e> fn(&'e ToolEnvelope) -> Option<&'e str>,
    /// Estimated tokens that the conversation may take; bounds the guidance of a workspace whose round was folded.
    pub(crate) room_tokens: usize,
}

impl<'a> ConversationInput<'a> {
    const fn log(&self) -> LogView<'a> {
        LogView {
            entries: self.entries,
            messages: self.messages,
            receipt: self.receipt,
            entered_guidance: self.entered_guidance,
            room_tokens: self.room_tokens,
        }
    }
}

/// Renders the conversation of an ended turn as its last request and its last answer left it: with its recaps and with
/// the shorter forms of its texts.
pub(crate) fn ended(log: LogView<'_>) -> Vec<ConversationItem> {
    let recaps = valid_recaps(log.entries);
    let covered = recaps.last().map_or(0, |recap| recap.last_round);
    arrange(recaps, spans(log, covered))
}

/// A conversation, with what its request is the first to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltConversation {
    pub items: Vec<ConversationItem>,
    /// Estimated tokens of the items.
    pub tokens: usize,
    /// Reminder that is new in this request, or was due and left out.
    pub reminder: Option<StaleReminder>,
    /// Its text as the request holds it. Absent if no reminder is new.
    pub reminder_text: Option<String>,
    pub compaction: Option<Compaction>,
}

/// A round with what followed it until the next round. The first span holds what stands before the first round.
#[derive(Debug, Clone, Default)]
struct Span<'a> {
    /// Number of the round, counted from 1; 0 before the first round.
    round: u32,
    entries: Vec<&'a LogEntry>,
    /// Empty if a recap stands for the span.
    items: Vec<ConversationItem>,
    /// Operator messages that joined after the round. They are among `items` too, and stay when these are folded.
    pins: Vec<ConversationItem>,
    /// Guidance of the workspace that the round entered, which is shown in place of the round. Absent if a later round
    /// entered another.
    guidance: Option<ConversationItem>,
    guidance_tokens: usize,
    /// Estimated tokens of the items without the pins, or of the guidance if a recap stands for the span.
    loose_tokens: usize,
    /// Estimated tokens of the pins.
    pinned_tokens: usize,
    /// Places of the items that this request is the first to shorten.
    shortened: BTreeSet<usize>,
}

impl Span<'_> {
    /// Returns true if a recap that ends with round `covered` stands for this span.
    const fn is_covered(&self, covered: u32) -> bool {
        self.round > 0 && self.round <= covered
    }

    /// Adds an item, unless a recap stands for the span. A pin is added in any case.
    fn add(&mut self, item: ConversationItem, is_pin: bool, is_covered: bool) {
        let tokens = item.estimated_tokens();
        if is_pin {
            self.pinned_tokens += tokens;
            self.pins.push(item.clone());
        } else {
            self.loose_tokens += tokens;
        }
        if !is_covered {
            self.items.push(item);
        }
    }

    fn keep_guidance(&mut self, found: &EnteredGuidance, covered: u32) {
        let item = ConversationItem::User {
            text: found.text.clone(),
        };
        self.guidance_tokens = item.estimated_tokens();
        self.guidance = Some(item);
        if self.is_covered(covered) {
            self.loose_tokens = self.guidance_tokens;
        }
    }

    /// Removes the items; the pins and the guidance stay.
    fn fold(&mut self) {
        self.items.clear();
        self.shortened.clear();
        self.loose_tokens = self.guidance_tokens;
    }

    /// Returns the tokens that folding the span would free.
    const fn foldable_tokens(&self) -> usize {
        self.loose_tokens.saturating_sub(self.guidance_tokens)
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
    let joining = joining_items(input);
    let joining_tokens = tokens_of(&joining);
    let room = input.room_tokens.saturating_sub(joining_tokens);
    let fold = fold::fold(input, recaps, spans(input.log(), covered), room);
    let mut reminder = Reminder::new(input.reminders, input.turn, input.entries, input.item);
    let fold_tokens = fold.tokens();
    let reminded = reminder.take(room.saturating_sub(fold_tokens));
    let reminded_tokens = reminded.as_deref().map_or(0, text::estimate_tokens);
    let compaction = fold.compaction;
    let mut items = arrange(fold.recaps, fold.spans);
    if input.is_unsealed {
        items.iter_mut().for_each(unseal);
    }
    items.extend(reminded.clone().map(|text| ConversationItem::User { text }));
    items.extend(joining);
    BuiltConversation {
        items,
        tokens: fold_tokens + reminded_tokens + joining_tokens,
        reminder: reminder.into_newest(),
        reminder_text: reminded,
        compaction,
    }
}

/// Renders the messages that join, each with what it will have done to waits, as later requests of the turn repeat it.
fn joining_items(input: &ConversationInput<'_>) -> Vec<ConversationItem> {
    let mut waits = input.waits.to_vec();
    let joining = input.queued.iter().flat_map(|entry| {
        let notes = WaitRecord::notes_at_joining(&mut waits, &entry.envelope);
        let words = interjection_item(&entry.envelope, notes.as_deref());
        std::iter::once(words).chain(image_items(&entry.envelope))
    });
    joining.collect()
}

/// Puts the parts in order. The operator messages of folded rounds stand before the recap of those rounds.
fn arrange(recaps: Vec<Recap>, spans: Vec<Span<'_>>) -> Vec<ConversationItem> {
    let mut items = Vec::new();
    let covered = recaps.last().map_or(0, |recap| recap.last_round);
    let mut spans = spans.into_iter().peekable();
    items.extend(spans.next().unwrap_or_default().items);
    for recap in recaps {
        while let Some(span) = spans.next_if(|span| span.round <= recap.last_round) {
            items.extend(span.pins);
            items.extend(span.guidance);
        }
        items.push(ConversationItem::User { text: recap.text });
    }
    let shown = spans.filter(|span| !span.is_covered(covered));
    items.extend(shown.flat_map(|span| span.items));
    items
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
fn spans(log: LogView<'_>, covered: u32) -> Vec<Span<'_>> {
    let guidance = guidance::find(log);
    let unsealed = last_unsealed_round(log);
    let short = ShortForms::of(log.entries);
    let mut spans = Vec::new();
    let mut span = Span::default();
    for entry in log.entries {
        if let LogEntry::AssistantRound { round, .. } = entry.as_ref() {
            let next = Span {
                round: *round,
                ..Span::default()
            };
            spans.push(std::mem::replace(&mut span, next));
            if let Some(guidance) = guidance.as_ref().filter(|found| found.round == *round) {
                span.keep_guidance(guidance, covered);
            }
        }
        let is_pin = is_operator_message(log, entry);
        let is_covered = span.is_covered(covered);
        if (is_pin || !is_covered)
            && let Some(mut item) = to_item(log, entry)
        {
            if span.round <= unsealed {
                unseal(&mut item);
            }
            short.apply(span.round, &mut item);
            span.add(item, is_pin, is_covered);
            for image in joined_images(log, entry) {
                span.add(image, is_pin, is_covered);
            }
        }
        span.entries.push(entry);
    }
    spans.push(span);
    spans
}

/// Returns true for a message of an operator that joined the turn. It is shown whole until the turn ends.
fn is_operator_message(log: LogView<'_>, entry: &LogEntry) -> bool {
    entry
        .message_seq()
        .filter(|_| matches!(entry, LogEntry::Interjection { .. }))
        .and_then(|seq| log.messages.get(&seq))
        .is_some_and(MessageEnvelope::owes_outcome)
}

/// Drops the sealed blocks of an answer. A model binds them to everything that stood before them.
pub(crate) fn unseal(item: &mut ConversationItem) {
    if let ConversationItem::Assistant { blocks, .. } = item {
        blocks.retain(|block| !matches!(block, Block::Reasoning { .. }));
    }
}

/// Returns the number of the last round before the thread was folded in this turn; 0 if it was not.
fn last_unsealed_round(log: LogView<'_>) -> u32 {
    let mut rounds = 0;
    let mut unsealed = 0;
    for entry in log.entries {
        match &**entry {
            LogEntry::AssistantRound { round, .. } => rounds = *round,
            LogEntry::ThreadFold(_) => unsealed = rounds,
            _ => {}
        }
    }
    unsealed
}

/// Converts a log entry to its part of the conversation, if it has one.
fn to_item(log: LogView<'_>, entry: &LogEntry) -> Option<ConversationItem> {
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
            content: (log.receipt)(envelope),
            is_error: envelope.error().is_some(),
            image: None,
        }),
        LogEntry::Interjection {
            message_seq, waits, ..
        } => {
            let message = log.messages.get(message_seq);
            message.map(|message| interjection_item(message, waits.as_deref()))
        }
        LogEntry::ContinuationPrompt { text, .. } => {
            Some(ConversationItem::User { text: text.clone() })
        }
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::RuntimeFailure { .. } => None,
    }
}

fn interjection_item(message: &MessageEnvelope, waits: Option<&[WaitNote]>) -> ConversationItem {
    ConversationItem::User {
        text: joined_text(message, waits),
    }
}

/// Lists the images of a message, which stand behind its text.
pub fn image_items(message: &MessageEnvelope) -> impl Iterator<Item = ConversationItem> {
    AttachedImage::of_message(&message.images).map(ConversationItem::Image)
}

/// Lists the images of a message that joined the turn.
fn joined_images(log: LogView<'_>, entry: &LogEntry) -> Vec<ConversationItem> {
    let joined = matches!(entry, LogEntry::Interjection { .. }).then(|| entry.message_seq());
    let message = joined.flatten().and_then(|seq| log.messages.get(&seq));
    message.map_or_else(Vec::new, |message| image_items(message).collect())
}
