//! The attempts table: the failed attempts of the current round of an agent's open turn, by their position.
//!
//! It is cleared when the round is answered or the turn ends, so it stays small. A row of an earlier build holds the
//! attempts inside, until the row is split.

use crate::agents;
use crate::error::Error;
use crate::row::{AgentNo, all, json, run};
use holon_domain::attempt::AttemptRecord;
use rusqlite::{Connection, params};

/// Stores an attempt; it replaces one at the same position.
pub(crate) const KEEP: &str = "INSERT INTO attempts (agent_no, n, record) VALUES (?1, ?2, ?3) \
     ON CONFLICT (agent_no, n) DO UPDATE SET record = excluded.record";
pub(crate) const CLEAR: &str = "DELETE FROM attempts WHERE agent_no = ?1";
pub(crate) const OF_AGENT: &str = "SELECT n, record FROM attempts WHERE agent_no = ?1 ORDER BY n";

/// Stores an attempt at its position.
pub(crate) fn keep(
    conn: &Connection,
    no: AgentNo,
    n: u32,
    record: &AttemptRecord,
) -> Result<(), Error> {
    run(conn, KEEP, params![no.0, n, serde_json::to_string(record)?])?;
    Ok(())
}

/// Deletes all attempts of an agent.
pub(crate) fn clear(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    run(conn, CLEAR, [no.0])?;
    Ok(())
}

/// Lists the attempts of an agent, in order.
pub(crate) fn of_agent(conn: &Connection, no: AgentNo) -> Result<Vec<AttemptRecord>, Error> {
    if let Some(old) = agents::read_unsplit(conn, no)? {
        return Ok(old.attempts);
    }
    all(conn, OF_AGENT, [no.0], |row| {
        json(row, 1, "attempts", row.get::<_, u32>(0)?)
    })
}
