//! The tombstones table: names of removed agents. Belongs to the host, not to an agent.

use crate::error::Error;
use crate::row::{all, limit, run};
use holon_domain::Timestamp;
use rusqlite::{Connection, params};

/// An agent that is removed again under the same name has the newest time.
pub(crate) const ADD: &str =
    "INSERT OR REPLACE INTO tombstones (agent_id, deleted_at) VALUES (?1, ?2)";
pub(crate) const ALL: &str =
    "SELECT agent_id, deleted_at FROM tombstones ORDER BY agent_id LIMIT ?1";

pub(crate) fn add(conn: &Connection, agent_id: &str, now: Timestamp) -> Result<(), Error> {
    run(conn, ADD, params![agent_id, now.as_millis()])?;
    Ok(())
}

/// Lists removed agents by name.
pub(crate) fn list(conn: &Connection, count: usize) -> Result<Vec<(String, Timestamp)>, Error> {
    all(conn, ALL, [limit(count)], |row| {
        Ok((row.get(0)?, Timestamp::from_millis(row.get(1)?)))
    })
}
