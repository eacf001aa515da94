//! The blobs table: long texts that frames refer to by hash, and the agents that refer to them.
//!
//! Invariants:
//! - A text exists while an agent refers to it. It goes with the last agent that did (`delete`), or with the last frame
//!   that did (`history`). A text that many agents share is stored once.
//! - `blob_refs.newest` is the newest frame of the agent that names the text, or lies fewer than `LAG` entries before it.
//!   So most turns write nothing here. Rows of earlier builds have NULL until they are used again or until retention
//!   gives them the end of the log, which is never before their last use.

use crate::error::Error;
use crate::row::{AgentNo, first, run};
use holon_domain::turn::LogSeq;
use rusqlite::{Connection, params};

pub(crate) const REFER: &str = "INSERT INTO blob_refs (agent_no, hash, newest) VALUES (?1, ?2, ?3) \
     ON CONFLICT (agent_no, hash) DO UPDATE SET newest = excluded.newest \
     WHERE newest IS NULL OR newest <= excluded.newest - ?4";
pub(crate) const KEEP: &str =
    "INSERT INTO blobs (hash, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(crate) const ONE: &str = "SELECT body FROM blobs WHERE hash = ?1";

/// Entries of the log by which the recorded use of a text may lie behind the real one.
pub(crate) const LAG: u64 = 64;

/// Stores a text for the frame of an agent at a position of its log. Storing it again soon after writes nothing.
pub(crate) fn keep(
    conn: &Connection,
    no: AgentNo,
    hash: &str,
    body: &str,
    entry: LogSeq,
) -> Result<(), Error> {
    let is_written = run(conn, REFER, params![no.0, hash, entry, LAG])? > 0;
    if is_written {
        run(conn, KEEP, params![hash, body])?;
    }
    Ok(())
}

/// Reads a stored text by its hash, independent of the agent.
pub(crate) fn body(conn: &Connection, hash: &str) -> Result<Option<String>, Error> {
    first(conn, ONE, [hash], |row| Ok(row.get(0)?))
}
