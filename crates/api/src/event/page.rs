//! Pages of events, of one agent and of the host.

use super::{EventEnvelope, Projection};
use holon_domain::AgentId;
use holon_domain::feed::{EventOrder, EventPage, HostPage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Order of an event page on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageOrder {
    Asc,
    /// Newest event first, the default of a page.
    #[default]
    Desc,
}

impl PageOrder {
    /// Returns the spelling on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

impl From<PageOrder> for EventOrder {
    fn from(order: PageOrder) -> Self {
        match order {
            PageOrder::Asc => Self::Ascending,
            PageOrder::Desc => Self::Descending,
        }
    }
}

/// Response of `GET /agents/{id}/events`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EventsPage {
    /// In the requested order.
    pub events: Vec<EventEnvelope>,
    /// Sequence number of the oldest stored event; absent if there are no events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seq: Option<u64>,
    /// Sequence number of the newest stored event; absent if there are no events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_seq: Option<u64>,
    /// True if older events exist than those in this page.
    pub has_older: bool,
    /// True if newer events exist than those in this page.
    pub has_newer: bool,
    /// Spelling of the order. Text, so that a client reads an order that it does not know.
    pub order: Cow<'static, str>,
    /// Upper bound on the number of events in this page.
    pub limit: u64,
    /// Identity of the store the sequence numbers belong to.
    pub epoch: String,
}

/// Parameters of an event page; the response repeats them.
#[derive(Debug, Clone, Copy)]
pub struct PageQuery<'a> {
    pub agent_id: &'a AgentId,
    /// Identity of the store that is read.
    pub epoch: &'a str,
    pub order: PageOrder,
    /// Upper bound on the number of events.
    pub limit: u64,
    pub projection: Projection,
}

impl EventsPage {
    /// Builds the response from a page that the store returned.
    ///
    /// # Errors
    /// Only if a payload holds something JSON cannot express, which no payload type does.
    pub fn new(of: PageQuery<'_>, page: &EventPage) -> Result<Self, serde_json::Error> {
        let envelope = |record| EventEnvelope::new(of.agent_id, record, of.projection);
        Ok(Self {
            events: page.events.iter().map(envelope).collect::<Result<_, _>>()?,
            oldest_seq: page.oldest_seq,
            newest_seq: page.newest_seq,
            has_older: page.has_older,
            has_newer: page.has_newer,
            order: Cow::Borrowed(of.order.as_str()),
            limit: of.limit,
            epoch: of.epoch.to_owned(),
        })
    }
}

/// Response of `GET /events`: a page of the events of all agents that callers know.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HostEventsPage {
    /// In the requested order; every event has its `host_seq`.
    pub events: Vec<EventEnvelope>,
    /// Oldest cursor that can be continued.
    pub oldest_seq: u64,
    /// Cursor after which every removal of an agent is kept. Before it events are kept but removals are not; absent if
    /// none was given up since `oldest_seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removals_oldest_seq: Option<u64>,
    /// Cursor of the newest event of the host.
    pub newest_seq: u64,
    /// Cursor for the next page in the same order: its `after_seq` with order `asc`, and its `before_seq` with order
    /// `desc`. A page can be empty although there are more events, because private agents are passed over; `has_newer`
    /// or `has_older` tells if there may be more.
    pub next_seq: u64,
    /// True if older events than those in this page may exist.
    pub has_older: bool,
    /// True if newer events than those in this page may exist.
    pub has_newer: bool,
    /// Spelling of the order.
    pub order: Cow<'static, str>,
    /// Upper bound on the number of events in this page.
    pub limit: u64,
    /// Identity of the store the cursors belong to.
    pub epoch: String,
}

/// Parameters of a page of the host's events; the response repeats them.
#[derive(Debug, Clone, Copy)]
pub struct HostPageQuery<'a> {
    /// Identity of the store that is read.
    pub epoch: &'a str,
    pub order: PageOrder,
    /// Upper bound on the number of events.
    pub limit: u64,
    pub projection: Projection,
}

impl HostEventsPage {
    /// Builds the response from a page that the store returned.
    ///
    /// # Errors
    /// Only if a payload holds something JSON cannot express, which no payload type does.
    pub fn new(of: HostPageQuery<'_>, page: &HostPage) -> Result<Self, serde_json::Error> {
        let envelope = |entry| EventEnvelope::of_host(entry, of.projection);
        Ok(Self {
            events: page
                .entries
                .iter()
                .map(envelope)
                .collect::<Result<_, _>>()?,
            oldest_seq: page.oldest_seq,
            removals_oldest_seq: page.removals_oldest_seq,
            newest_seq: page.newest_seq,
            next_seq: page.next_seq,
            has_older: page.has_older,
            has_newer: page.has_newer,
            order: Cow::Borrowed(of.order.as_str()),
            limit: of.limit,
            epoch: of.epoch.to_owned(),
        })
    }
}
