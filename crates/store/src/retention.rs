//! Retention: removes audit events while the host holds more of them than a size budget.
//!
//! Invariant: a removal takes a prefix of an agent's events, never a part in the middle, and moves the agent's
//! boundary.
//!
//! The budget is not a strict bound. Accounting is in whole chunks of 64 KiB per agent, so the events beyond an agent's
//! last whole chunk are not counted. The newest `keep` events of an agent and the rows that hold them always stay. With
//! n agents the events therefore take at most the larger of
//! - the budget plus n chunks, and
//! - n times the larger of one chunk and the rows of the newest `keep` events.
//!
//! With many agents the second one applies, and it can be far above the budget.

use crate::agents::{self, CHUNK_BYTES};
use crate::error::Error;
use crate::events::ROW_BYTES;
use crate::row::{AgentNo, all, first, run};
use crate::{host_events, triggers};
use rusqlite::{Connection, params};

pub(crate) const HELD: &str =
    "SELECT coalesce(sum(event_chunks), 0) FROM agents WHERE event_chunks > 0";
/// Agents with a whole row before the events that stay. An agent without one would be found again and again and block
/// the others.
pub(crate) const HOLDERS: &str = "SELECT agent_no, oldest_event, newest_event, event_chunks FROM agents \
     WHERE event_chunks > 0 AND newest_event - oldest_event >= ?1 AND EXISTS (SELECT 1 FROM events e \
     WHERE e.agent_no = agents.agent_no AND e.last_seq >= oldest_event AND e.last_seq <= newest_event - ?1) \
     ORDER BY event_chunks DESC LIMIT ?2";
/// The rows that end before a position and hold at most so many events: their size, their last event and their last row.
pub(crate) const PREFIX: &str = "SELECT coalesce(sum(octet_length(data) + ?4), 0), max(last_seq), max(row_no) FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 AND last_seq < ?3";
pub(crate) const REMOVE: &str =
    "DELETE FROM events WHERE agent_no = ?1 AND last_seq >= ?2 AND last_seq <= ?3";
pub(crate) const MOVE_BOUNDARY: &str =
    "UPDATE agents SET oldest_event = ?2, event_bytes = ?3, event_chunks = ?4 WHERE agent_no = ?1";

/// Holders examined per step. Each has something to remove, so the next step finds others.
const HOLDERS_PER_STEP: i64 = 32;
/// Pages that one step returns to the file system.
const PAGES_PER_STEP: u32 = 512;

/// The events held by one agent.
struct Holder {
    no: AgentNo,
    oldest: u64,
    newest: u64,
    chunks: u64,
}

/// Removes up to `step` of the oldest events of the largest holders while the budget is exceeded.
pub(crate) fn trim(conn: &Connection, budget: u64, keep: u64, step: u64) -> Result<u64, Error> {
    let held: u64 = first(conn, HELD, [], |row| Ok(row.get(0)?))?.unwrap_or(0);
    let mut excess = (held * CHUNK_BYTES).saturating_sub(budget);
    if excess == 0 {
        return Ok(0);
    }
    let holders = all(conn, HOLDERS, params![keep, HOLDERS_PER_STEP], |row| {
        Ok(Holder {
            no: AgentNo(row.get(0)?),
            oldest: row.get(1)?,
            newest: row.get(2)?,
            chunks: row.get(3)?,
        })
    })?;
    let mut removed = 0;
    for holder in holders {
        if excess == 0 || removed == step {
            break;
        }
        let (rows, chunks) = cut(conn, &holder, keep, step - removed)?;
        removed += rows;
        excess = excess.saturating_sub(chunks * CHUNK_BYTES);
    }
    if removed > 0 {
        give_back_pages(conn)?;
    }
    Ok(removed)
}

/// Removes a prefix of one holder's events, in whole rows. Returns the number of removed events and chunks.
fn cut(conn: &Connection, holder: &Holder, keep: u64, most: u64) -> Result<(u64, u64), Error> {
    let spare = (holder.newest + 1)
        .saturating_sub(holder.oldest)
        .saturating_sub(keep);
    let end = holder.oldest + spare.min(most);
    let range = params![holder.no.0, holder.oldest, end, ROW_BYTES];
    let found: Option<(u64, Option<(u64, u64)>)> = first(conn, PREFIX, range, |row| {
        let last: Option<u64> = row.get(1)?;
        let last_row: Option<u64> = row.get(2)?;
        Ok((row.get(0)?, last.zip(last_row)))
    })?;
    let Some((gone, Some((last, last_row)))) = found else {
        return Ok((0, 0));
    };
    let chunks = remove_through(conn, holder.no, last, last_row, gone)?;
    Ok((
        last + 1 - holder.oldest,
        holder.chunks.saturating_sub(chunks),
    ))
}

/// Removes the events of an agent up to one that ends a row, and moves the agent's boundary. `gone` is the size of the
/// removed rows. Returns the chunks that are left.
pub(crate) fn remove_through(
    conn: &Connection,
    no: AgentNo,
    last: u64,
    last_row: u64,
    gone: u64,
) -> Result<u64, Error> {
    triggers::keep_revokers(conn, no)?;
    let tally = agents::tally(conn, no)?;
    run(conn, REMOVE, params![no.0, tally.oldest_event, last])?;
    host_events::note_trimmed(conn, last_row)?;
    let bytes = tally.event_bytes.saturating_sub(gone);
    let chunks = bytes / CHUNK_BYTES;
    run(conn, MOVE_BOUNDARY, params![no.0, last + 1, bytes, chunks])?;
    Ok(chunks)
}

/// Gives free pages back to the file system.
pub(crate) fn give_back_pages(conn: &Connection) -> Result<(), Error> {
    let mut statement =
        conn.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_PER_STEP})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
