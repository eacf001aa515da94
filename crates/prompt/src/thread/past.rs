//! Renders an ended turn as its last request showed it, with its last answer.
//!
//! The texts that belonged to its "now" are in its frame; its messages and its rounds are rendered anew from the rows, by
//! the code that rendered them then. A turn whose message a provider refused, or whose rows cannot be read, is one line.

use super::deeds::Deeds;
use super::recap;
use crate::candidate::Candidate;
use crate::context::{Tasks, TurnStart};
use crate::conversation::{self, LogView, image_items};
use crate::fence::{self, Extent};
use crate::frame::{self, TurnInput, context_texts};
use crate::plan::{Budget, plan};
use crate::provenance;
use crate::visible;
use holon_domain::Timestamp;
use holon_domain::agent::AgentRecord;
use holon_domain::block::Block;
use holon_domain::image::{AttachedImage, SentImage};
use holon_domain::limits::RECENT_MESSAGE_BYTES_MAX;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::model::ConversationItem;
use holon_domain::prompt_plan::BlockSource;
use holon_domain::queue::MessageSeq;
use holon_domain::thread::{ThreadTurn, TurnRecap};
use holon_domain::tool::ToolEnvelope;
use holon_domain::turn::LogSeq;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of each deed's words in the line about a turn without words. The calls themselves stand above it.
const SILENT_BYTES: usize = 120;

/// The rows of an ended turn.
#[derive(Debug, Clone, Copy)]
pub struct PastTurn<'a> {
    pub agent: &'a AgentRecord,
    pub turn_index: u64,
    /// Log position of its first entry.
    pub first_entry: LogSeq,
    /// Time of its first entry.
    pub began_at: Timestamp,
    /// Empty if a row of the turn cannot be read.
    pub entries: &'a [Arc<LogEntry>],
    /// Messages that the log names, as far as they are stored and a model accepts them.
    pub messages: &'a HashMap<MessageSeq, MessageEnvelope>,
    pub receipt: fn(&ToolEnvelope) -> String,
    pub entered_guidance: for<'e> fn(&'e ToolEnvelope) -> Option<&'e str>,
}

impl<'a> PastTurn<'a> {
    pub(super) const fn log(&self) -> LogView<'a> {
        LogView {
            entries: self.entries,
            messages: self.messages,
            receipt: self.receipt,
            entered_guidance: self.entered_guidance,
            room_tokens: usize::MAX,
        }
    }

    /// Returns the message that began the turn.
    pub(super) fn opening(&self) -> Option<&'a MessageEnvelope> {
        self.messages.get(&self.opening_seq()?)
    }

    pub(super) fn opening_seq(&self) -> Option<MessageSeq> {
        self.entries.iter().find_map(|entry| match &**entry {
            LogEntry::IncomingMessage { message_seq } => Some(*message_seq),
            _ => None,
        })
    }

    pub(super) fn frame(&self) -> Option<&'a FrameRecord> {
        self.entries.iter().find_map(|entry| match &**entry {
            LogEntry::Frame(frame) => Some(frame),
            _ => None,
        })
    }

    /// Returns the runtime's words about the failure that ended the turn.
    pub(super) fn failure(&self) -> Option<&'a str> {
        self.entries.iter().rev().find_map(|entry| match &**entry {
            LogEntry::RuntimeFailure { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }
}

/// An ended turn in the forms that a thread may show.
#[derive(Debug, Clone)]
pub struct ShownTurn {
    pub turn_index: u64,
    /// Log position of its first entry.
    pub first_entry: LogSeq,
    pub(super) sealed: Arc<ThreadTurn>,
    /// The same without sealed blocks.
    pub(super) open: Arc<ThreadTurn>,
    pub(super) recap: TurnRecap,
    /// Messages that the turn took.
    pub(super) messages: u64,
    /// Newest message of the operator that the turn shows.
    pub operator: Option<MessageSeq>,
}

impl ShownTurn {
    /// Lists the images that the turn shows, oldest first.
    pub fn images(&self) -> impl Iterator<Item = &SentImage> {
        self.sealed.items.iter().filter_map(|item| match item {
            ConversationItem::Image(attached) => Some(&attached.image),
            ConversationItem::Assistant { .. }
            | ConversationItem::ToolResult { .. }
            | ConversationItem::User { .. } => None,
        })
    }

    /// Returns the bytes that the turn takes in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let size = |turn: &ThreadTurn| turn.items.iter().map(item_bytes).sum::<usize>();
        let open = if Arc::ptr_eq(&self.sealed, &self.open) {
            0
        } else {
            size(&self.open)
        };
        size(&self.sealed) + open + self.recap.text.as_ref().map_or(0, String::len)
    }
}

fn item_bytes(item: &ConversationItem) -> usize {
    match item {
        ConversationItem::User { text } => text.len(),
        // Its bytes are read for each request.
        ConversationItem::Image(_) => size_of::<AttachedImage>(),
        ConversationItem::ToolResult { content, .. } => content.len(),
        ConversationItem::Assistant { blocks, .. } => blocks.iter().map(block_bytes).sum(),
    }
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::Reasoning { text, opaque } => {
            text.len() + opaque.as_ref().map_or(0, |sealed| sealed.data.len())
        }
        // About four bytes for a token of the arguments.
        Block::ToolCall(_) => block.estimated_tokens() * 4,
    }
}

/// Renders an ended turn.
#[must_use]
pub fn render(turn: &PastTurn<'_>) -> ShownTurn {
    let withheld = super::withheld::line(turn);
    let items = match &withheld {
        Some(line) => vec![ConversationItem::User { text: line.clone() }],
        None => items_of(turn),
    };
    let open = without_seals(&items);
    let sealed = Arc::new(ThreadTurn::new(Some(turn.turn_index), items));
    ShownTurn {
        turn_index: turn.turn_index,
        first_entry: turn.first_entry,
        recap: match withheld {
            Some(line) => recap::of_withheld(turn, line),
            None => recap::of_turn(turn),
        },
        messages: turn
            .entries
            .iter()
            .filter_map(|entry| entry.message_seq())
            .fold(0, |count, _| count + 1),
        operator: newest_operator_message(turn),
        open: open.map_or_else(
            || Arc::clone(&sealed),
            |items| Arc::new(ThreadTurn::new(Some(turn.turn_index), items)),
        ),
        sealed,
    }
}

/// Renders what the turn showed of itself.
fn items_of(turn: &PastTurn<'_>) -> Vec<ConversationItem> {
    let mut items: Vec<ConversationItem> = opening_texts(turn)
        .into_iter()
        .map(|text| ConversationItem::User { text })
        .collect();
    items.extend(turn.opening().into_iter().flat_map(image_items));
    items.extend(conversation::ended(turn.log()));
    items.extend(turn.failure().map(|why| ConversationItem::User {
        text: format!(
            "[The runtime ended this turn before you answered, and told the sender so: {}]",
            visible::line(why)
        ),
    }));
    let deeds = Deeds::of(turn);
    if deeds.are_silent() && turn.failure().is_none() {
        let did = deeds.line(SILENT_BYTES);
        let text = format!(
            "[In turn {}, which ends here, you said nothing. What you did: {did}.]",
            turn.turn_index
        );
        items.push(ConversationItem::User { text });
    }
    items
}

/// Returns the texts before the first round: what the frame showed of the turn's "now", then the message itself.
fn opening_texts(turn: &PastTurn<'_>) -> Vec<String> {
    let Some(message) = turn.opening() else {
        return vec![format!(
            "[Turn {} began with a message that is not shown: it was set aside, or its record is lost.]",
            turn.turn_index
        )];
    };
    match turn
        .frame()
        .and_then(|frame| frame.opened_at.zip(Some(frame)))
    {
        Some((opened_at, frame)) => framed(turn, message, frame, opened_at),
        None => vec![format!(
            "{}\n{}",
            provenance::full(message),
            fence::content(message, Extent::Bytes(RECENT_MESSAGE_BYTES_MAX))
        )],
    }
}

fn framed(
    turn: &PastTurn<'_>,
    message: &MessageEnvelope,
    frame: &FrameRecord,
    opened_at: Timestamp,
) -> Vec<String> {
    let operator = frame.operator_seq.and_then(|seq| turn.messages.get(&seq));
    let input = TurnInput {
        operator,
        current: message,
        waits: &frame.waits,
        repairs: frame.repairs,
        tasks: Tasks::Kept(frame.tasks.as_deref()),
    };
    let changes = frame.changes.as_deref();
    let changes = changes.map(|text| super::told::candidate(text).repeated());
    let work = frame.work.as_deref();
    let work = work.map(|text| Candidate::pin(BlockSource::Work, text).repeated());
    let budget = Budget::unlimited();
    let start = TurnStart {
        at: opened_at,
        now: frame.now.clone(),
        late: frame.late_tick,
    };
    let parts = frame::turn_parts(&input, start, changes, work.into_iter().collect(), budget);
    context_texts(plan(parts, budget, &frame.cuts))
}

/// Returns the items without sealed blocks; `None` if they hold none.
fn without_seals(items: &[ConversationItem]) -> Option<Vec<ConversationItem>> {
    let is_sealed = |block: &Block| {
        matches!(
            block,
            Block::Reasoning {
                opaque: Some(_),
                ..
            }
        )
    };
    let has_seal = items.iter().any(|item| match item {
        ConversationItem::Assistant { blocks, .. } => blocks.iter().any(is_sealed),
        ConversationItem::ToolResult { .. }
        | ConversationItem::User { .. }
        | ConversationItem::Image(_) => false,
    });
    has_seal.then(|| {
        let mut open = items.to_vec();
        open.iter_mut().for_each(conversation::unseal);
        open
    })
}

pub(super) fn newest_operator_message(turn: &PastTurn<'_>) -> Option<MessageSeq> {
    let named = turn.entries.iter().filter_map(|entry| entry.message_seq());
    let shown_apart = turn.frame().and_then(|frame| frame.operator_seq);
    let is_operators = |seq: &MessageSeq| {
        let message = turn.messages.get(seq);
        message.is_some_and(MessageEnvelope::is_operator_instruction)
    };
    named.chain(shown_apart).filter(is_operators).max()
}
