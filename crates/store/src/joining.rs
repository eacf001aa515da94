//! The messages that join one model request, within the count and size limits of a round.

use holon_domain::limits;
use holon_domain::queue::QueueEntry;

/// Collects messages for a request until one does not fit.
#[derive(Default)]
pub(crate) struct JoiningMessages {
    pub(crate) taken: Vec<QueueEntry>,
    bytes: usize,
    /// True if a message was left out because it is too large for the rest of the room.
    overflowed: bool,
}

impl JoiningMessages {
    pub(crate) fn is_full(&self) -> bool {
        self.overflowed || self.taken.len() >= limits::JOINING_PER_ROUND
    }

    /// Adds the newest message to a full list if it is short: an order to stop is heard although many messages wait.
    pub(crate) fn seat_newest(&mut self, newest: Option<QueueEntry>) {
        let Some(newest) = newest else {
            return;
        };
        let is_taken = self.taken.iter().any(|entry| entry.seq == newest.seq);
        let is_short = newest.envelope.body.render().len() <= limits::NEWEST_JOINING_BYTES;
        if is_taken || !is_short {
            return;
        }
        self.taken.truncate(limits::JOINING_PER_ROUND - 1);
        self.taken.push(newest);
    }

    /// Adds a message if it fits; the first always fits. Returns true if more may follow.
    pub(crate) fn take(&mut self, entry: QueueEntry) -> bool {
        let bytes = self
            .bytes
            .saturating_add(entry.envelope.body.render().len());
        let fits = self.taken.is_empty() || bytes <= limits::JOINING_BYTES_PER_ROUND;
        if !fits {
            self.overflowed = true;
            return false;
        }
        self.bytes = bytes;
        self.taken.push(entry);
        !self.is_full()
    }
}
