//! Queries for stored events, their pages, and the notice that new events exist.

use crate::event::Event;
use crate::id::AgentId;
use crate::message::MessageLabels;
use crate::time::Timestamp;
use std::sync::Arc;

/// Order in which a page lists events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventOrder {
    Ascending,
    #[default]
    Descending,
}

/// Selection of the events that a page returns.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventQuery {
    /// Exclusive upper bound on the position. Absent if there is none.
    pub before_seq: Option<u64>,
    /// Exclusive lower bound on the position: the reader's cursor. Absent if there is none.
    pub after_seq: Option<u64>,
    /// Most events on the page.
    pub limit: u64,
    pub order: EventOrder,
}

/// One stored event with its position and time.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    pub event_seq: u64,
    pub at: Timestamp,
    pub event: Event,
    /// Labels of the message that the event is about, added by the reader. Absent if the event names no message, or the
    /// message is gone.
    pub labels: Option<Arc<MessageLabels>>,
}

/// A page of one agent's events.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// Events in the requested order.
    pub events: Vec<EventRecord>,
    /// Oldest position that is still stored. Absent if there are no events.
    pub oldest_seq: Option<u64>,
    /// Newest position that is stored. Absent if there are no events.
    pub newest_seq: Option<u64>,
    /// True if older events than those on the page are stored.
    pub has_older: bool,
    /// True if newer events than those on the page are stored.
    pub has_newer: bool,
}

/// Notice that an agent has events up to a position. It carries none of them; readers fetch them by cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedNotice {
    pub agent_id: AgentId,
    pub newest_seq: u64,
}
