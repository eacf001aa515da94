//! The blobs table: long texts that frames refer to by hash, and the agents that refer to them.
//!
//! Invariant: a text exists while an agent refers to it, and goes with the last agent that did (`delete`). A text that
//! many agents share is stored once.

use crate::error::Error;
use crate::row::{AgentNo, first, run};
use rusqlite::{Connection, params};

pub(crate) const REFER: &str =
    "INSERT INTO blob_refs (agent_no, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(crate) const KEEP: &str =
    "INSERT INTO blobs (hash, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(crate) const ONE: &str = "SELECT body FROM blobs WHERE hash = ?1";

/// Stores a text for an agent. Idempotent: storing it again writes nothing.
pub(crate) fn keep(conn: &Connection, no: AgentNo, hash: &str, body: &str) -> Result<(), Error> {
    let is_new = run(conn, REFER, params![no.0, hash])? > 0;
    if is_new {
        run(conn, KEEP, params![hash, body])?;
    }
    Ok(())
}

/// Reads a stored text by its hash, independent of the agent.
pub(crate) fn body(conn: &Connection, hash: &str) -> Result<Option<String>, Error> {
    first(conn, ONE, [hash], |row| Ok(row.get(0)?))
}
