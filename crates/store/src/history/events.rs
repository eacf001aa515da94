//! Events of removed turns. They go as a prefix, in whole rows; the newest ones of an agent stay.

use crate::error::Error;
use crate::events::ROW_BYTES;
use crate::row::{AgentNo, all, limit};
use crate::{agents, retention};
use holon_domain::Timestamp;
use holon_domain::decision::EventSeq;
use holon_domain::limits::{EVENTS_KEPT_PER_AGENT, RETENTION_STEP};
use rusqlite::{Connection, params};

/// The rows behind a position that end before another.
pub(crate) const OLDEST_EVENTS: &str = "SELECT last_seq, at, octet_length(data), row_no FROM events \
     WHERE agent_no = ?1 AND last_seq > ?2 AND last_seq <= ?3 ORDER BY last_seq LIMIT ?4";

/// The events that go.
pub(super) struct EventPlan {
    pub(super) last: EventSeq,
    last_row: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    rows: u64,
}

/// Plans the removal of the events behind a position that were recorded up to a time.
pub(super) fn plan(
    conn: &Connection,
    no: AgentNo,
    from: EventSeq,
    until: Timestamp,
) -> Result<Option<EventPlan>, Error> {
    let tally = agents::tally(conn, no)?;
    let begin = from.max(tally.oldest_event.saturating_sub(1));
    let end = tally.newest_event.saturating_sub(EVENTS_KEPT_PER_AGENT);
    let range = params![no.0, begin, end, limit(RETENTION_STEP)];
    let rows = all(conn, OLDEST_EVENTS, range, |row| {
        let at = Timestamp::from_millis(row.get(1)?);
        Ok((row.get(0)?, at, row.get::<_, u64>(2)?, row.get(3)?))
    })?;
    let mut plan: Option<EventPlan> = None;
    for (last, at, bytes, last_row) in rows {
        if at > until {
            break;
        }
        let before = plan.as_ref().map_or((0, 0), |plan| (plan.bytes, plan.rows));
        plan = Some(EventPlan {
            last,
            last_row,
            count: last - begin,
            bytes: before.0 + bytes,
            rows: before.1 + 1,
        });
    }
    Ok(plan)
}

/// Removes the events and moves the agent's boundary.
pub(super) fn apply(conn: &Connection, no: AgentNo, plan: &EventPlan) -> Result<(), Error> {
    let gone = plan.bytes + plan.rows * ROW_BYTES;
    retention::remove_through(conn, no, plan.last, plan.last_row, gone)?;
    Ok(())
}
