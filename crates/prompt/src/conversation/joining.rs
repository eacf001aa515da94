//! Decides which queued messages join a running turn.
//!
//! An operator message that joined is shown whole until the turn ends, so a long one would leave the turn no room to
//! work. It gets a turn of its own instead, in which it is the current input. Short messages have a reserve; the newest
//! few of them and the newest longer one have one more, so that many remarks do not keep an order to stop from being
//! heard.

use crate::context::interjection_text;
use holon_domain::log::LogEntry;
use holon_domain::message::MessageEnvelope;
use holon_domain::queue::{MessageSeq, QueueEntry};
use holon_domain::text;
use std::collections::HashMap;
use std::sync::Arc;

/// Largest message that joins, as a divisor of the conversation's room.
const ONE_SHARE: usize = 4;
/// Size up to which a message joins in any room, and up to which the newest one has a seat, in estimated tokens.
const ONE_TOKENS: usize = 512;
/// Largest short message, in estimated tokens with its label.
const SHORT_TOKENS: usize = 192;
/// Size of all messages that joined, in quarters of the room and at least so many tokens: for any message, for a short
/// one, and for the newest short ones.
const ANY: (usize, usize) = (2, 2_048);
const SHORT: (usize, usize) = (3, 2_560);
const NEWEST: (usize, usize) = (4, 3_072);

/// Number of the newest messages that have this reserve in one request: a remark may follow an order to stop.
const NEWEST_SEATS: usize = 4;

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
    let sizes = queued.iter().map(|entry| pinned_tokens(&entry.envelope));
    let sizes: Vec<usize> = sizes.collect();
    let one = (room_tokens / ONE_SHARE).max(ONE_TOKENS);
    // The newest messages are seated first, so that older remarks of the same moment do not take their place.
    let is_longer = |tokens: &usize| *tokens > SHORT_TOKENS && *tokens <= ONE_TOKENS;
    let newest_longer = sizes.iter().rposition(is_longer);
    let newest_first = sizes.iter().enumerate().rev();
    let may_sit =
        |(place, tokens): &(usize, &usize)| is_short(**tokens) || Some(*place) == newest_longer;
    let mut seated: Vec<usize> = Vec::new();
    for (place, tokens) in newest_first.filter(may_sit).take(NEWEST_SEATS) {
        if taken + tokens <= most(NEWEST, room_tokens) {
            taken += tokens;
            seated.push(place);
        }
    }
    let places = queued.into_iter().zip(sizes).enumerate();
    let mut joining = Joining::default();
    for (place, (entry, tokens)) in places {
        let all = if is_short(tokens) { SHORT } else { ANY };
        let is_seated = tokens == 0 || seated.contains(&place);
        let fits = tokens <= one && taken + tokens <= most(all, room_tokens);
        if is_seated || fits {
            taken += if is_seated { 0 } else { tokens };
            joining.joining.push(entry);
        } else {
            joining.apart.push(entry);
        }
    }
    joining
}

const fn is_short(tokens: usize) -> bool {
    tokens > 0 && tokens <= SHORT_TOKENS
}

fn most((quarters, least): (usize, usize), room_tokens: usize) -> usize {
    (room_tokens / 4 * quarters).max(least)
}

/// Returns the tokens that a message takes for the rest of the turn; 0 if it may be folded.
fn pinned_tokens(message: &MessageEnvelope) -> usize {
    if message.owes_outcome() {
        text::estimate_tokens(&interjection_text(message))
    } else {
        0
    }
}
