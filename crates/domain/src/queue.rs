//! Queue entries of messages: their status and their order.

use crate::id::MessageId;
use crate::limits;
use crate::message::MessageEnvelope;
use crate::needs::Part;
use crate::time::Timestamp;
use crate::timer::PlannedDue;
use serde::{Deserialize, Serialize};

/// Position of a message among all messages of its agent. Dense, the first is 1.
pub type MessageSeq = u64;

/// Status of a queue entry. `Queued`, `Held` and `Dequeued` can change; the others are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueStatus {
    /// Waits for its turn.
    Queued,
    /// Joins the next turn that runs, and opens none.
    Held,
    /// An open turn works on it.
    Dequeued,
    /// Its turn ended, or it was handled without one.
    Processed,
    /// It joined the turn of another message.
    Interjected,
    /// Its turn failed or was aborted. It is not replayed.
    Aborted,
    /// It is left out because no model accepts a request that contains it. No later request shows it.
    Dropped,
}

impl QueueStatus {
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Held,
        Self::Dequeued,
        Self::Processed,
        Self::Interjected,
        Self::Aborted,
        Self::Dropped,
    ];

    /// Returns true if the status cannot change any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Held | Self::Dequeued => false,
            Self::Processed | Self::Interjected | Self::Aborted | Self::Dropped => true,
        }
    }
}

/// A message with its position and status in the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueEntry {
    pub seq: MessageSeq,
    pub status: QueueStatus,
    /// Most model rounds that its turn may take. Absent if the sender set no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    pub envelope: MessageEnvelope,
}

/// An operator's prompt that waits in the queue, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPrompt {
    pub seq: MessageSeq,
    pub id: MessageId,
    pub created_at: Timestamp,
}

/// Facts about what waits for an agent: the lengths of its message queue, and the parts of it and of the due-queue that
/// were asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueView {
    /// Number of queued entries.
    pub pending: u64,
    /// Number of queued entries that may join a running turn.
    pub interjections: u64,
    /// Next entry by band, then by position. `None` inside if the queue is empty.
    pub head: Part<Option<QueueEntry>>,
    /// Number of operator messages among the interjections. Counted up to [`QueueView::OPERATORS_COUNTED`].
    pub operators: Part<u64>,
    /// Soonest entries of the agent in the due-queue, at most [`QueueView::SOONEST`], soonest first.
    pub soonest: Part<Vec<PlannedDue>>,
}

impl QueueView {
    /// One more than a round can take from the queue, so that a decision always knows whether an operator still waits
    /// afterwards.
    pub const OPERATORS_COUNTED: usize = limits::JOINING_PER_ROUND + 1;

    /// Due entries that are loaded. A decision that clears some of them still knows the next one. Retries of deliveries
    /// are among them and wake no agent, so there is room for one of each route.
    pub const SOONEST: usize = 4 + limits::OUTBOX_LANES;

    /// Creates a view of which only the lengths are known. An empty queue has no head and no operators.
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
            soonest: Part::Missing,
        }
    }

    /// Returns the head if it was loaded and there is one.
    #[must_use]
    pub fn known_head(&self) -> Option<&QueueEntry> {
        self.head.loaded().and_then(Option::as_ref)
    }
}
