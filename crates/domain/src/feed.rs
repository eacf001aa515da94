//! Reading events: which, in what order, and the news that there are more.

use crate::event::Event;
use crate::id::AgentId;
use crate::message::MessageLabels;
use crate::time::Timestamp;
use std::sync::Arc;

/// Order of a page of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventOrder {
    /// Oldest first.
    Ascending,
    /// Newest first.
    #[default]
    Descending,
}

/// Which events.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventQuery {
    /// Only older than this.
    pub before_seq: Option<u64>,
    /// Only newer than this.
    pub after_seq: Option<u64>,
    /// At most this many.
    pub limit: u64,
    /// In which order.
    pub order: EventOrder,
}

/// One stored event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    /// Its position.
    pub event_seq: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// Labels of the message the event is about, added by the reader. Absent where the event names none by its position,
    /// or its message is gone.
    pub labels: Option<Arc<MessageLabels>>,
}

/// A page of events.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// In the order asked for.
    pub events: Vec<EventRecord>,
    /// The oldest there is.
    pub oldest_seq: Option<u64>,
    /// The newest there is.
    pub newest_seq: Option<u64>,
    /// Whether there are older ones than the page.
    pub has_older: bool,
    /// Whether there are newer ones than the page.
    pub has_newer: bool,
}

/// News: some agent has events up to this one. Readers fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedNotice {
    /// Whose.
    pub agent_id: AgentId,
    /// Its newest event.
    pub newest_seq: u64,
}
