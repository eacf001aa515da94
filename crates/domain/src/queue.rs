//! A message's place in the queue: its states and the order inside a band.

use crate::id::MessageId;
use crate::limits;
use crate::message::MessageEnvelope;
use crate::needs::Part;
use crate::time::Timestamp;
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
    /// It was set aside unprocessed, because no model takes a request that holds it. No later request shows it.
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

/// An operator's prompt that waits in the queue, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPrompt {
    /// Its position.
    pub seq: MessageSeq,
    /// Its id.
    pub id: MessageId,
    /// When it was admitted.
    pub created_at: Timestamp,
}

/// What is known about a queue: how long it is, and its head where somebody asked for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueView {
    /// How many entries are queued.
    pub pending: u64,
    /// How many of them may enter a running turn.
    pub interjections: u64,
    /// The entry that is next by band, then by position; none when nothing is queued.
    pub head: Part<Option<QueueEntry>>,
    /// How many of the interjections are an operator's, who is owed an outcome. Counted up to
    /// [`QueueView::OPERATORS_COUNTED`].
    pub operators: Part<u64>,
}

impl QueueView {
    /// One more than a round can take out of the queue, so that a decision always knows whether an operator still
    /// waits after it.
    pub const OPERATORS_COUNTED: usize = limits::JOINING_PER_ROUND + 1;

    /// A queue of which only the lengths are known. An empty one has no head and no operators.
    #[must_use]
    pub const fn of_length(pending: u64, interjections: u64) -> Self {
        Self {
            pending,
            interjections,
            head: if pending == 0 {
                Part::Loaded(None)
            } else {
                Part::Missing
            },
            operators: if interjections == 0 {
                Part::Loaded(0)
            } else {
                Part::Missing
            },
        }
    }

    /// The head, where it was loaded and there is one.
    #[must_use]
    pub fn known_head(&self) -> Option<&QueueEntry> {
        self.head.loaded().and_then(Option::as_ref)
    }
}
