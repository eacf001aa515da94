//! A message's place in the queue: its states and the order inside a band.

use crate::message::MessageEnvelope;
use serde::{Deserialize, Serialize};

/// Position of a message among all of one agent; dense, allocated by the store, first is 1.
pub type MessageSeq = u64;

/// State of a queue entry. `Queued`, `Held` and `Dequeued` are live; the rest are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueStatus {
    /// Waits for its turn.
    Queued,
    /// Joins the next turn that runs, and opens none.
    Held,
    /// An open turn works on it.
    Dequeued,
    /// Its turn ended, or it was reduced without one.
    Processed,
    /// It entered another message's turn.
    Interjected,
    /// Its turn failed or was aborted; it is not replayed.
    Aborted,
    /// It was set aside unprocessed.
    Dropped,
}

impl QueueStatus {
    /// Every status.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Held,
        Self::Dequeued,
        Self::Processed,
        Self::Interjected,
        Self::Aborted,
        Self::Dropped,
    ];

    /// Whether the entry can still change.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Held | Self::Dequeued => false,
            Self::Processed | Self::Interjected | Self::Aborted | Self::Dropped => true,
        }
    }
}

/// A message with its place in the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueEntry {
    /// Its position.
    pub seq: MessageSeq,
    /// Its state.
    pub status: QueueStatus,
    /// The most model rounds its turn may take, if its sender set a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The message.
    pub envelope: MessageEnvelope,
}

/// What a decision may know about a queue: its head and how much stands behind it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueView {
    /// The entry that is next by band, then by position.
    pub head: Option<QueueEntry>,
    /// How many entries are queued.
    pub pending: u64,
    /// How many of them may enter a running turn.
    pub interjections: u64,
    /// How many of those are an operator's, who is owed an outcome.
    pub operators: u64,
}
