//! The waits table: active waits of an agent and of its items, and the newest finished ones.
//!
//! Active waits are bounded by `limits::ACTIVE_WAITS`; of the finished ones the newest are kept.

use crate::error::Error;
use crate::row::{AgentNo, Unreadable, first, json, limit, run};
use holon_domain::WaitId;
use holon_domain::limits::{ACTIVE_WAITS, WAITS_KEPT};
use holon_domain::wait::{WaitRecord, WaitStatus};
use rusqlite::{Connection, Row, params};

pub(crate) const WRITE: &str = "INSERT INTO waits (agent_no, wait_id, active, record) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (agent_no, wait_id) DO UPDATE SET active = ?3, record = ?4";
pub(crate) const ONE: &str =
    "SELECT wait_id, record FROM waits WHERE agent_no = ?1 AND wait_id = ?2";
pub(crate) const ACTIVE: &str = "SELECT wait_id, record FROM waits \
     WHERE agent_no = ?1 AND active = 1 ORDER BY wait_no LIMIT ?2";
pub(crate) const NEWEST: &str =
    "SELECT wait_id, record FROM waits WHERE agent_no = ?1 ORDER BY wait_no DESC LIMIT ?2";
pub(crate) const FORGET: &str = "DELETE FROM waits WHERE active = 0 AND wait_no IN \
     (SELECT wait_no FROM waits WHERE agent_no = ?1 ORDER BY wait_no DESC LIMIT 16 OFFSET ?2)";

fn read(row: &Row<'_>) -> Result<WaitRecord, Error> {
    let id: String = row.get(0)?;
    json(row, 1, "waits", id)
}

/// Writes a wait that begins, is triggered or ends, and removes old ones.
pub(crate) fn write(conn: &Connection, no: AgentNo, wait: &WaitRecord) -> Result<(), Error> {
    let active = wait.status == WaitStatus::Active;
    let text = serde_json::to_string(wait)?;
    run(conn, WRITE, params![no.0, wait.id.as_str(), active, text])?;
    if !active {
        run(conn, FORGET, params![no.0, WAITS_KEPT])?;
    }
    Ok(())
}

/// Reads one wait, active or not.
pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    id: &WaitId,
) -> Result<Option<WaitRecord>, Error> {
    first(conn, ONE, params![no.0, id.as_str()], read)
}

/// Lists the active waits, oldest first.
pub(crate) fn active(
    conn: &Connection,
    no: AgentNo,
    unreadable: Unreadable,
) -> Result<Vec<WaitRecord>, Error> {
    unreadable.all(conn, ACTIVE, params![no.0, ACTIVE_WAITS], read)
}

/// Lists the waits that were declared last, newest first.
pub(crate) fn newest(
    conn: &Connection,
    no: AgentNo,
    count: usize,
    unreadable: Unreadable,
) -> Result<Vec<WaitRecord>, Error> {
    unreadable.all(conn, NEWEST, params![no.0, limit(count)], read)
}
