//! Reads the events before a position, as many as the wanted rows need.

use super::to_record;
use crate::exit::Failure;
use crate::host::Host;
use holon_api::event::PageOrder;
use holon_client::{EventsQuery, retry_read};
use holon_domain::AgentId;
use holon_domain::feed::EventRecord;
use holon_domain::limits::EVENT_PAGE_MAX;
use holon_domain::time::Timestamp;
use holon_presentation::{DisplayMode, Item, Reducer};

/// Most pages that a listing reads. Briefs that are older than these events are read by themselves.
const PAGES: u64 = 20;

/// The rows of past events, and the reducer that saw them.
pub(super) struct History {
    pub(super) rows: Vec<Item>,
    pub(super) reducer: Reducer,
    /// Time of the oldest event that was read. Absent if there is none.
    pub(super) oldest_at: Option<Timestamp>,
}

/// Reads backwards from a position, or from the newest event, until there are enough rows.
pub(super) async fn load(
    host: &Host,
    agent_id: &AgentId,
    mode: DisplayMode,
    until: Option<u64>,
    limit: u64,
) -> Result<History, Failure> {
    let mut records: Vec<EventRecord> = Vec::new();
    let mut before_seq = until.map(|until| until.saturating_add(1));
    let mut found = 0;
    for page in 1..=PAGES {
        let query = EventsQuery {
            before_seq,
            limit: Some(EVENT_PAGE_MAX),
            order: Some(PageOrder::Desc),
            ..EventsQuery::default()
        };
        let asked = retry_read(async || host.client().events(agent_id, query.clone()).await).await;
        let answer = host.check_answer(asked)?;
        let older: Vec<EventRecord> = answer.events.iter().map(to_record).collect();
        found += count_rows(mode, &older);
        before_seq = older.last().map(|record| record.event_seq);
        records.extend(older);
        // Rows may be merged across the border of two pages.
        if found >= limit + page || !answer.has_older || before_seq.is_none() {
            break;
        }
    }
    records.reverse();
    let mut reducer = Reducer::new(mode);
    let rows = records.iter().flat_map(|r| reducer.push(r)).collect();
    Ok(History {
        rows,
        reducer,
        oldest_at: records.first().map(|record| record.at),
    })
}

/// Counts the rows of a page that is in descending order.
fn count_rows(mode: DisplayMode, page: &[EventRecord]) -> u64 {
    let mut reducer = Reducer::new(mode);
    let rows = page.iter().rev().map(|record| reducer.push(record).len());
    rows.sum::<usize>() as u64
}
