//! The interjections table: queued messages that may enter a running turn, in the order they are taken.
//!
//! Invariant: for every agent marked as listed, the table holds a message exactly while it is queued and may interject.
//! Agents of earlier builds are listed at their first write; until then their queue is read instead.

use crate::agents;
use crate::error::Error;
use crate::queue::read_entry;
use crate::row::{AgentNo, first, run};
use holon_domain::queue::{MessageSeq, QueueEntry};
use rusqlite::{Connection, params};

/// Priorities of messages, as they are stored.
const PRIORITIES: u8 = 4;
const ADD: &str = "INSERT INTO interjections (agent_no, priority, seq) VALUES (?1, ?2, ?3)";
pub(crate) const REMOVE: &str =
    "DELETE FROM interjections WHERE agent_no = ?1 AND priority = ?2 AND seq = ?3";
/// Reads the list and looks up each message; the other way round would read the agent's whole history.
pub(crate) const LISTED: &str = "SELECT m.seq, m.status, m.max_rounds, m.envelope FROM interjections i \
     CROSS JOIN messages m ON m.agent_no = i.agent_no AND m.seq = i.seq \
     WHERE i.agent_no = ?1 ORDER BY i.priority, i.seq";
/// Reads the newest message of one priority from the end of the list.
pub(crate) const NEWEST: &str = "SELECT m.seq, m.status, m.max_rounds, m.envelope FROM interjections i \
     CROSS JOIN messages m ON m.agent_no = i.agent_no AND m.seq = i.seq \
     WHERE i.agent_no = ?1 AND i.priority = ?2 ORDER BY i.seq DESC LIMIT 1";
/// Reads the same from the queue of an agent that is not listed yet. The range makes the planner use the queue's index.
pub(crate) const UNLISTED: &str = "SELECT seq, status, max_rounds, envelope FROM messages \
     WHERE agent_no = ?1 AND status = 0 AND priority < 4 AND interject = 1 ORDER BY priority, seq";
pub(crate) const LIST: &str = "INSERT INTO interjections (agent_no, priority, seq) SELECT agent_no, priority, seq \
     FROM messages WHERE agent_no = ?1 AND status = 0 AND priority < 4 AND interject = 1";
pub(crate) const NOTE: &str = "UPDATE agents SET interjections_listed = 1 WHERE agent_no = ?1";

/// Lists a message that enters the queue.
pub(crate) fn add(
    conn: &Connection,
    no: AgentNo,
    priority: u8,
    seq: MessageSeq,
) -> Result<(), Error> {
    run(conn, ADD, params![no.0, priority, seq])?;
    Ok(())
}

/// Removes a message that left the queue.
pub(crate) fn remove(
    conn: &Connection,
    no: AgentNo,
    priority: u8,
    seq: MessageSeq,
) -> Result<(), Error> {
    run(conn, REMOVE, params![no.0, priority, seq])?;
    Ok(())
}

/// Lists the queued messages of an agent that an earlier build wrote. Reads its queue once.
pub(crate) fn list(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    if agents::tally(conn, no)?.interjections > 0 {
        run(conn, LIST, [no.0])?;
    }
    run(conn, NOTE, [no.0])?;
    Ok(())
}

/// Reads queued messages that may enter a running turn, in order, while `take` returns true.
pub(crate) fn each(
    conn: &Connection,
    no: AgentNo,
    mut take: impl FnMut(QueueEntry) -> bool,
) -> Result<(), Error> {
    let tally = agents::tally(conn, no)?;
    if tally.interjections == 0 {
        return Ok(());
    }
    let sql = if tally.interjections_listed {
        LISTED
    } else {
        UNLISTED
    };
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([no.0])?;
    while let Some(row) = rows.next()? {
        if !take(read_entry(row)?) {
            break;
        }
    }
    Ok(())
}

/// Reads the newest queued message that may enter a running turn. `None` if there is none, or the agent is not listed yet.
pub(crate) fn newest(conn: &Connection, no: AgentNo) -> Result<Option<QueueEntry>, Error> {
    let mut newest: Option<QueueEntry> = None;
    for priority in 0..PRIORITIES {
        let found = first(conn, NEWEST, params![no.0, priority], read_entry)?;
        let seq_of = |entry: &Option<QueueEntry>| entry.as_ref().map(|entry| entry.seq);
        if seq_of(&found) > seq_of(&newest) {
            newest = found;
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests;
