//! The blobs table: long texts that frames refer to by hash, and the agents that refer to them.
//!
//! Invariants:
//! - A text exists while an agent refers to it. It goes with the last agent that did (`delete`), or with the last frame
//!   that did (`history`). A text that many agents share is stored once.
//! - `blob_refs.newest` is the newest frame of the agent that names the text, or lies fewer than `LAG` entries before it.
//!   So most turns write nothing here. Rows of earlier builds have NULL until they are used again or until retention
//!   gives them the end of the log, which is never before their last use.
//! - A text that cannot be read counts as missing, and is written anew when a frame names it again.

use crate::error::Error;
use crate::row::{AgentNo, Unreadable, run};
use holon_domain::turn::LogSeq;
use rusqlite::{Connection, params};

pub(crate) const REFER: &str = "INSERT INTO blob_refs (agent_no, hash, newest) VALUES (?1, ?2, ?3) \
     ON CONFLICT (agent_no, hash) DO UPDATE SET newest = excluded.newest \
     WHERE newest IS NULL OR newest <= excluded.newest - ?4";
pub(crate) const KEEP: &str = "INSERT INTO blobs (hash, body) VALUES (?1, ?2) ON CONFLICT (hash) DO UPDATE SET body = excluded.body \
     WHERE body <> excluded.body";
pub(crate) const ONE: &str = "SELECT body FROM blobs WHERE hash = ?1";

/// Entries of the log by which the recorded use of a text may lie behind the real one.
pub(crate) const LAG: u64 = 64;

/// Stores a text for the frame of an agent at a position of its log. Storing it again soon after writes nothing, unless
/// the stored text is damaged.
pub(crate) fn keep(
    conn: &Connection,
    no: AgentNo,
    hash: &str,
    body: &str,
    entry: LogSeq,
) -> Result<(), Error> {
    run(conn, REFER, params![no.0, hash, entry, LAG])?;
    run(conn, KEEP, params![hash, body])?;
    Ok(())
}

/// Reads a stored text by its hash, independent of the agent. `None` if it is not there or cannot be read.
pub(crate) fn body(conn: &Connection, hash: &str) -> Result<Option<String>, Error> {
    Unreadable::IsPassedOver.first(conn, ONE, [hash], |row| Ok(row.get(0)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    #[test]
    fn a_text_that_cannot_be_read_counts_as_missing_and_is_written_anew() {
        let db = Db::in_memory().expect("opens");
        let conn = &db.conn;
        keep(conn, AgentNo(1), "h", "the text", 1).expect("is kept");
        let damage = "UPDATE blobs SET body = CAST(x'ff' AS TEXT)";
        conn.execute(damage, []).expect("changes");
        assert_eq!(body(conn, "h"), Ok(None));
        keep(conn, AgentNo(1), "h", "the text", 2).expect("is kept");
        assert_eq!(body(conn, "h"), Ok(Some("the text".to_owned())));
    }
}
