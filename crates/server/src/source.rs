//! The source of an event stream: one agent, or all agents that callers know.

use crate::sse::write_delta;
use bytes::BytesMut;
use holon_api::{EventEnvelope, Projection};
use holon_domain::AgentId;
use holon_domain::agent::Visibility;
use holon_domain::delta::AssistantDelta;
use holon_domain::feed::{EventOrder, EventQuery, EventRecord, FeedNotice, HostEntry, HostSeq};
use holon_engine::{Error, ReadHandle};
use std::sync::Arc;
use tokio::sync::broadcast;

/// The source of an event stream.
#[derive(Debug, Clone)]
pub(crate) enum EventSource {
    /// One agent; cursors are its event numbers.
    Agent(AgentId),
    /// All agents that callers know; cursors are positions in the history of the host.
    Host,
}

/// A page of a source, oldest entry first.
pub(crate) struct SourcePage {
    pub(crate) entries: Vec<SourceEntry>,
    /// Position up to which the page reaches.
    pub(crate) cursor: u64,
    /// Newest position of the source.
    pub(crate) newest_seq: u64,
    /// True if there may be more entries.
    pub(crate) has_more: bool,
}

/// One entry of a source.
pub(crate) enum SourceEntry {
    Event(AgentId, EventRecord),
    Host(HostEntry),
}

impl SourceEntry {
    /// Returns the position of the entry in its source.
    pub(crate) const fn seq(&self) -> u64 {
        match self {
            Self::Event(_, record) => record.event_seq,
            Self::Host(entry) => entry.host_seq,
        }
    }

    pub(crate) fn envelope(
        &self,
        projection: Projection,
    ) -> Result<EventEnvelope, serde_json::Error> {
        match self {
            Self::Event(agent_id, record) => EventEnvelope::new(agent_id, record, projection),
            Self::Host(entry) => EventEnvelope::of_host(entry, projection),
        }
    }
}

impl EventSource {
    /// Returns the newest position, and refuses a cursor that cannot be continued.
    pub(crate) async fn newest(
        &self,
        reads: &ReadHandle,
        cursor: Option<u64>,
    ) -> Result<u64, Error> {
        let order = match cursor {
            None => EventOrder::Descending,
            Some(_) => EventOrder::Ascending,
        };
        let query = EventQuery {
            after_seq: cursor,
            before_seq: None,
            limit: 1,
            order,
        };
        match self {
            Self::Agent(agent_id) => {
                let page = reads.events(agent_id, query).await?;
                Ok(page.newest_seq.unwrap_or(0))
            }
            Self::Host => Ok(reads.host_events(query).await?.newest_seq),
        }
    }

    /// Reads the page after a cursor.
    pub(crate) async fn read(
        &self,
        reads: &ReadHandle,
        cursor: u64,
        limit: u64,
    ) -> Result<SourcePage, Error> {
        let query = EventQuery {
            after_seq: Some(cursor),
            before_seq: None,
            limit,
            order: EventOrder::Ascending,
        };
        match self {
            Self::Agent(agent_id) => {
                let page = reads.events(agent_id, query).await?;
                let last = page.events.last().map_or(cursor, |event| event.event_seq);
                let newest_seq = page.newest_seq.unwrap_or(cursor);
                let entry = |record| SourceEntry::Event(agent_id.clone(), record);
                Ok(SourcePage {
                    has_more: !page.events.is_empty() && newest_seq > last,
                    entries: page.events.into_iter().map(entry).collect(),
                    cursor: last,
                    newest_seq,
                })
            }
            Self::Host => {
                let page = reads.host_events(query).await?;
                Ok(SourcePage {
                    entries: page.entries.into_iter().map(SourceEntry::Host).collect(),
                    cursor: page.next_seq,
                    newest_seq: page.newest_seq,
                    has_more: page.has_newer,
                })
            }
        }
    }

    /// Returns how far a reader is behind, in events of an agent or in commits of the host.
    pub(crate) const fn lag(&self, cursor: u64, newest_seq: u64) -> u64 {
        match self {
            Self::Agent(_) => newest_seq.saturating_sub(cursor),
            Self::Host => HostSeq(newest_seq)
                .row()
                .saturating_sub(HostSeq(cursor).row()),
        }
    }

    /// Subscribes to the commits that concern this source, and to no others.
    pub(crate) fn subscribe(&self, reads: &ReadHandle) -> broadcast::Receiver<FeedNotice> {
        match self {
            Self::Agent(agent_id) => reads.subscribe_to(agent_id),
            Self::Host => reads.subscribe_public(),
        }
    }

    /// Subscribes to the deltas of the agent, if the reader asks for them. The host's stream has none.
    pub(crate) fn subscribe_to_deltas(
        &self,
        reads: &ReadHandle,
        wanted: bool,
    ) -> Option<broadcast::Receiver<Arc<AssistantDelta>>> {
        match self {
            Self::Agent(agent_id) => wanted.then(|| reads.deltas(agent_id)),
            Self::Host => None,
        }
    }

    /// Returns true if a notice tells of events after the cursor that are shown.
    pub(crate) fn concerns(&self, notice: &FeedNotice, cursor: u64) -> bool {
        match self {
            Self::Agent(agent_id) => notice.agent_id == *agent_id && notice.newest_seq > cursor,
            Self::Host => notice.visibility == Visibility::Public,
        }
    }

    /// Writes the frame of a delta if it is one of this agent. The host's stream has no deltas.
    pub(crate) fn write_delta(&self, chunk: &mut BytesMut, delta: &AssistantDelta) {
        match self {
            Self::Agent(agent_id) => write_delta(chunk, agent_id, delta),
            Self::Host => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_of_a_private_agent_wakes_its_own_stream_and_not_that_of_the_host() {
        let agent_id = AgentId::parse("dev").unwrap();
        let of = |visibility| FeedNotice {
            agent_id: agent_id.clone(),
            newest_seq: 5,
            visibility,
            changes_memory: false,
        };
        let own = EventSource::Agent(agent_id.clone());
        for (visibility, wakes_host) in [(Visibility::Private, false), (Visibility::Public, true)] {
            assert!(own.concerns(&of(visibility), 4));
            assert!(!own.concerns(&of(visibility), 5));
            assert_eq!(EventSource::Host.concerns(&of(visibility), 4), wakes_host);
        }
    }
}
