//! Queries for stored events, their pages, and the notice that new events exist.

use crate::agent::Visibility;
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

/// Selection of the briefs or transcript entries of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeqQuery {
    /// Exclusive upper bound on the position. Absent if there is none.
    pub before_seq: Option<u64>,
    /// Exclusive lower bound on the position. With it, a page goes forward: it has the first entries after the bound.
    /// Without it, a page goes backward: it has the last entries.
    pub after_seq: Option<u64>,
    /// Most entries on the page.
    pub limit: usize,
}

/// A page of briefs or transcript entries, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct SeqPage<T> {
    pub entries: Vec<T>,
    /// The last event number of an agent of the same name that was removed; 0 if there was none. Positions belong to one
    /// value of it.
    pub predecessor: u64,
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
    /// Visibility of the agent. The host's stream does not show private agents, so their commits do not wake it.
    pub visibility: Visibility,
    /// True if the commit wrote something that the agent's memory index holds.
    pub changes_memory: bool,
}

/// Positions that one row of the host's history takes up. A row holds the events of one decision, which are far fewer.
const HOST_SEQ_STRIDE: u64 = 1 << 16;

/// A position in the history of the host: a row, and a place in it. Positions rise with the commits and are never given
/// out twice, but are not dense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct HostSeq(pub u64);

impl HostSeq {
    /// Returns the position of the event with this index in a row.
    #[must_use]
    pub const fn in_row(row: u64, index: u64) -> Self {
        let index = if index < HOST_SEQ_STRIDE {
            index
        } else {
            HOST_SEQ_STRIDE - 1
        };
        Self(row.saturating_mul(HOST_SEQ_STRIDE).saturating_add(index))
    }

    /// Returns the last position of a row.
    #[must_use]
    pub const fn end_of(row: u64) -> Self {
        Self::in_row(row, HOST_SEQ_STRIDE - 1)
    }

    /// Returns the row of the position.
    #[must_use]
    pub const fn row(self) -> u64 {
        self.0 / HOST_SEQ_STRIDE
    }
}

/// One entry of the host's history.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEntry {
    pub host_seq: u64,
    pub agent_id: AgentId,
    pub content: HostEntryContent,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum HostEntryContent {
    Event(Box<EventRecord>),
    /// The agent was removed, with all its events.
    AgentDeleted {
        /// The number that the removal takes among the agent's events.
        event_seq: u64,
        at: Timestamp,
    },
}

/// A page of the host's history.
#[derive(Debug, Clone, PartialEq)]
pub struct HostPage {
    /// Entries in the requested order.
    pub entries: Vec<HostEntry>,
    /// Oldest cursor after which nothing was removed by retention.
    pub oldest_seq: u64,
    /// Cursor after which every removal of an agent is kept; absent if that is `oldest_seq`.
    pub removals_oldest_seq: Option<u64>,
    /// Position of the newest row.
    pub newest_seq: u64,
    /// Cursor from which the next page in the same order continues. A page can be empty although there are more entries,
    /// because agents that callers do not know are passed over.
    pub next_seq: u64,
    /// True if entries before the page may be stored.
    pub has_older: bool,
    /// True if entries after the page may be stored.
    pub has_newer: bool,
}
