//! The blobs table: the long texts frames refer to by hash, and which agents refer to them.
//!
//! Invariant: an agent that refers to a text has it, and a text nobody refers to goes with the last agent that
//! did (`delete`). One that many agents share is stored once.

use crate::error::Error;
use crate::row::{AgentNo, first, run};
use rusqlite::{Connection, params};

pub(crate) const REFER: &str =
    "INSERT INTO blob_refs (agent_no, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(crate) const KEEP: &str =
    "INSERT INTO blobs (hash, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(crate) const ONE: &str = "SELECT body FROM blobs WHERE hash = ?1";

/// Keeps a text for an agent; keeping it again is harmless and writes nothing.
pub(crate) fn keep(conn: &Connection, no: AgentNo, hash: &str, body: &str) -> Result<(), Error> {
    let is_new = run(conn, REFER, params![no.0, hash])? > 0;
    if is_new {
        run(conn, KEEP, params![hash, body])?;
    }
    Ok(())
}

/// A kept text, whoever refers to it.
pub(crate) fn body(conn: &Connection, hash: &str) -> Result<Option<String>, Error> {
    first(conn, ONE, [hash], |row| Ok(row.get(0)?))
}
