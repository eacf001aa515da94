//! The hints table: wake hints that no tick has delivered yet, one per source.

use crate::error::Error;
use crate::row::{AgentNo, Unreadable, json, run};
use holon_domain::limits::WAKE_HINTS;
use holon_domain::trigger::WakeHint;
use rusqlite::{Connection, Row, params};

const WRITE: &str = "INSERT INTO hints (agent_no, key, record) VALUES (?1, ?2, ?3) \
     ON CONFLICT (agent_no, key) DO UPDATE SET record = ?3";
pub(crate) const PENDING: &str =
    "SELECT key, record FROM hints WHERE agent_no = ?1 ORDER BY key LIMIT ?2";
pub(crate) const CLEAR: &str = "DELETE FROM hints WHERE agent_no = ?1";

fn read(row: &Row<'_>) -> Result<WakeHint, Error> {
    let key: String = row.get(0)?;
    json(row, 1, "hints", key)
}

/// Writes a hint, replacing the pending one of the same source.
pub(crate) fn write(conn: &Connection, no: AgentNo, hint: &WakeHint) -> Result<(), Error> {
    run(
        conn,
        WRITE,
        params![no.0, hint.key, serde_json::to_string(hint)?],
    )?;
    Ok(())
}

/// Lists the pending hints.
pub(crate) fn pending(
    conn: &Connection,
    no: AgentNo,
    unreadable: Unreadable,
) -> Result<Vec<WakeHint>, Error> {
    unreadable.all(conn, PENDING, params![no.0, WAKE_HINTS], read)
}

/// Deletes the pending hints, which a tick now contains.
pub(crate) fn clear(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    run(conn, CLEAR, [no.0])?;
    Ok(())
}
