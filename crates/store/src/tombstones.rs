//! The tombstones table: names of removed agents. Belongs to the host, not to an agent.
//!
//! Invariant: of two agents of one name, the second numbers its events above all numbers of the first. The removal
//! itself takes one number, so that no cursor of the first can be continued by the second.

use crate::error::Error;
use crate::row::{all, first, limit, run};
use holon_domain::Timestamp;
use holon_domain::decision::EventSeq;
use rusqlite::{Connection, params};

/// An agent that is removed again under the same name has the newest time.
pub(crate) const ADD: &str = "INSERT OR REPLACE INTO tombstones (agent_id, deleted_at, newest_event) \
     VALUES (?1, ?2, coalesce((SELECT newest_event FROM agents WHERE agent_id = ?1), 0))";
pub(crate) const ALL: &str =
    "SELECT agent_id, deleted_at FROM tombstones ORDER BY agent_id LIMIT ?1";
pub(crate) const ONE: &str = "SELECT newest_event, deleted_at FROM tombstones WHERE agent_id = ?1";
/// Takes over events that were recorded since the tombstone was written.
pub(crate) const RAISE: &str = "UPDATE tombstones SET newest_event = (SELECT newest_event FROM agents WHERE agent_no = ?1) \
     WHERE agent_id = (SELECT agent_id FROM agents WHERE agent_no = ?1)";

/// The last agent of a name that was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// Newest event of the agent; 0 if an earlier build removed it.
    pub newest_event: EventSeq,
    pub deleted_at: Timestamp,
}

impl Tombstone {
    /// Returns the number that the removal took: the last one that a cursor of the removed agent can have.
    #[must_use]
    pub const fn last_seq(self) -> EventSeq {
        match self.newest_event {
            0 => 0,
            newest => newest.saturating_add(1),
        }
    }
}

/// Adds the tombstone of an agent. Returns it, unless the agent had one already.
pub(crate) fn add(
    conn: &Connection,
    agent_id: &str,
    now: Timestamp,
) -> Result<Option<Tombstone>, Error> {
    let before = one(conn, agent_id)?;
    run(conn, ADD, params![agent_id, now.as_millis()])?;
    let after = one(conn, agent_id)?;
    let is_known =
        |before: &Tombstone| after.is_some_and(|after| after.newest_event == before.newest_event);
    Ok(if before.as_ref().is_some_and(is_known) {
        None
    } else {
        after
    })
}

/// Reads the tombstone of a name.
pub(crate) fn one(conn: &Connection, agent_id: &str) -> Result<Option<Tombstone>, Error> {
    first(conn, ONE, [agent_id], |row| {
        Ok(Tombstone {
            newest_event: row.get(0)?,
            deleted_at: Timestamp::from_millis(row.get(1)?),
        })
    })
}

/// Returns the number after which a new agent of this name numbers its events; 0 if the name is new.
pub(crate) fn event_floor(conn: &Connection, agent_id: &str) -> Result<EventSeq, Error> {
    Ok(one(conn, agent_id)?.map_or(0, Tombstone::last_seq))
}

/// Lists removed agents by name.
pub(crate) fn list(conn: &Connection, count: usize) -> Result<Vec<(String, Timestamp)>, Error> {
    all(conn, ALL, [limit(count)], |row| {
        Ok((row.get(0)?, Timestamp::from_millis(row.get(1)?)))
    })
}
