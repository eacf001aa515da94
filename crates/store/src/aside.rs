//! Agents that are put aside because one of their rows cannot be read.
//!
//! This is the one exception to the rule that only a decision changes an agent: no decision can be made, so the store
//! itself sets the mark and records one event. Both are in columns, which an unreadable record does not hide.

use crate::agents::{self, CHUNK_BYTES};
use crate::error::Error;
use crate::events::{self, EventEnds};
use crate::row::{AgentNo, first, run};
use holon_domain::event::{AgentPutAside, Event};
use holon_domain::{AgentId, Timestamp};
use rusqlite::{Connection, params};

pub(crate) const REASON: &str = "SELECT aside FROM agents WHERE agent_id = ?1";
/// Reads the newest event from its row, because the column beside the record may be the damaged one.
pub(crate) const ENDS: &str = "SELECT coalesce((SELECT last_seq FROM events WHERE agent_no = ?1 \
     ORDER BY last_seq DESC LIMIT 1), max(newest_event, 0)), \
     min(max(event_bytes, 0), 4611686018427387904) FROM agents WHERE agent_no = ?1";
pub(crate) const MARK: &str = "UPDATE agents SET aside = ?2, newest_event = ?3, event_bytes = ?4, event_chunks = ?5 \
     WHERE agent_no = ?1";
pub(crate) const CLEAR: &str =
    "UPDATE agents SET aside = NULL WHERE agent_id = ?1 AND aside IS NOT NULL";

/// Returns the reason for which an agent was put aside, if it was.
pub(crate) fn reason(conn: &Connection, id: &AgentId) -> Result<Option<String>, Error> {
    let found = first(conn, REASON, [id.as_str()], |row| {
        Ok(agents::reason_in(row, 0))
    })?;
    Ok(found.flatten())
}

/// Puts an agent aside and records an event. Returns the numbers of the agent and of the event; `None` if there is no
/// such agent or it is aside already.
pub(crate) fn mark(
    conn: &Connection,
    id: &AgentId,
    why: &str,
    now: Timestamp,
) -> Result<Option<(AgentNo, u64)>, Error> {
    let Some(no) = agents::number_of(conn, id)? else {
        return Ok(None);
    };
    if reason(conn, id)?.is_some() {
        return Ok(None);
    }
    // Reads only the columns written here: the rest of the row may be damaged.
    let ends = first(conn, ENDS, [no.0], |row| {
        Ok(EventEnds {
            newest: row.get(0)?,
            bytes: row.get(1)?,
        })
    })?;
    let event = Event::AgentPutAside(AgentPutAside {
        reason: why.to_owned(),
    });
    let ends = ends.unwrap_or_default();
    let ends = match events::record_one(conn, no, ends, now, &event) {
        // Its events have no number left. The mark alone tells then.
        Err(Error::Contradiction { .. }) => ends,
        recorded => recorded?,
    };
    let chunks = ends.bytes / CHUNK_BYTES;
    run(
        conn,
        MARK,
        params![no.0, why, ends.newest, ends.bytes, chunks],
    )?;
    Ok(Some((no, ends.newest)))
}

/// Removes the mark. Returns true if the agent was aside.
pub(crate) fn clear(conn: &Connection, id: &AgentId) -> Result<bool, Error> {
    Ok(run(conn, CLEAR, [id.as_str()])? > 0)
}
