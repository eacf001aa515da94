//! Decides which queued messages join a running turn.
//!
//! An operator message that joined is shown whole until the turn ends, so a long one would leave the turn no room to
//! work. It gets a turn of its own instead, in which it is the current input.

use crate::context::interjection_text;
use holon_domain::log::LogEntry;
use holon_domain::message::MessageEnvelope;
use holon_domain::queue::{MessageSeq, QueueEntry};
use holon_domain::text;
use std::collections::HashMap;
use std::sync::Arc;

/// Largest message that joins, and largest size of all that joined, as divisors of the conversation's room.
const ONE_SHARE: usize = 4;
const ALL_SHARE: usize = 2;
/// Sizes up to which messages join in any room, in estimated tokens. A short order to stop is always heard.
const ONE_TOKENS: usize = 512;
const ALL_TOKENS: usize = 2_048;

/// Queued messages, by what becomes of them.
#[derive(Debug, Clone, Default)]
pub struct Joining {
    pub joining: Vec<QueueEntry>,
    /// Operator messages that get a turn of their own.
    pub apart: Vec<QueueEntry>,
}

/// Splits the messages that may join a turn. `entries` is the turn's log, `messages` holds those that it names.
#[must_use]
pub fn split_by_size(
    queued: Vec<QueueEntry>,
    entries: &[Arc<LogEntry>],
    messages: &HashMap<MessageSeq, MessageEnvelope>,
    room_tokens: usize,
) -> Joining {
    let is_joined = |entry: &&Arc<LogEntry>| matches!(***entry, LogEntry::Interjection { .. });
    let joined = entries.iter().filter(is_joined);
    let joined = joined.filter_map(|entry| messages.get(&entry.message_seq()?));
    let mut taken: usize = joined.map(pinned_tokens).sum();
    let one = (room_tokens / ONE_SHARE).max(ONE_TOKENS);
    let all = (room_tokens / ALL_SHARE).max(ALL_TOKENS);
    let (joining, apart) = queued.into_iter().partition(|entry| {
        let tokens = pinned_tokens(&entry.envelope);
        let fits = tokens <= one && taken + tokens <= all;
        taken += if fits { tokens } else { 0 };
        fits || tokens == 0
    });
    Joining { joining, apart }
}

/// Returns the tokens that a message takes for the rest of the turn; 0 if it may be folded.
fn pinned_tokens(message: &MessageEnvelope) -> usize {
    if message.owes_outcome() {
        text::estimate_tokens(&interjection_text(message))
    } else {
        0
    }
}
