//! The tombstones table: names of removed agents. Belongs to the host, not to an agent.
//!
//! Invariant: of two agents of one name, the second numbers its events above all numbers of the first. The removal
//! itself takes one number, so that no cursor of the first can be continued by the second.

use crate::error::Error;
use crate::row::{all_readable, first, limit, readable, run};
use holon_domain::Timestamp;
use holon_domain::decision::EventSeq;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

/// Largest number of an event that is believed. A larger one is damaged: handed on, it would leave no numbers for the
/// agents that count above it.
const LARGEST_BELIEVED: EventSeq = 1 << 46;

/// Selects the number of an agent's newest event: that of its last row of events if its own row has a damaged one.
macro_rules! newest_event {
    () => {
        "(SELECT CASE WHEN newest_event BETWEEN 0 AND 70368744177664 THEN newest_event \
         ELSE (SELECT max(last_seq) FROM events e WHERE e.agent_no = agents.agent_no \
         AND last_seq BETWEEN 0 AND 70368744177664) END FROM agents WHERE agent_"
    };
}

/// An agent that is removed again under the same name has the newest time.
pub(crate) const ADD: &str = concat!(
    "INSERT OR REPLACE INTO tombstones (agent_id, deleted_at, newest_event) VALUES (?1, ?2, coalesce(",
    newest_event!(),
    "id = ?1), 0))"
);
pub(crate) const ALL: &str =
    "SELECT agent_id, deleted_at FROM tombstones ORDER BY agent_id LIMIT ?1";
pub(crate) const ONE: &str = "SELECT newest_event, deleted_at FROM tombstones WHERE agent_id = ?1";
/// Takes over events that were recorded since the tombstone was written. A damaged number of the agent is passed over,
/// because its events may be gone by now.
pub(crate) const RAISE: &str = concat!(
    "UPDATE tombstones SET newest_event = max(CASE WHEN newest_event BETWEEN 0 AND 70368744177664 \
     THEN newest_event ELSE 0 END, coalesce(",
    newest_event!(),
    "no = ?1), 0)) WHERE agent_id = (SELECT agent_id FROM agents WHERE agent_no = ?1)"
);

/// Only the tombstone of an agent whose rows are gone is removed.
pub(crate) const FORGET: &str = "DELETE FROM tombstones WHERE agent_id = ?1 \
     AND NOT EXISTS (SELECT 1 FROM agents WHERE agent_id = ?1) RETURNING newest_event";
/// The number above which agents count whose names have no tombstone.
pub(crate) const FLOOR: &str = "SELECT value FROM meta WHERE key = 'event_floor'";
const SET_FLOOR: &str = "INSERT INTO meta (key, value) VALUES ('event_floor', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";

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

/// Returns the number of a newest event in a column; 0, and a fault for the operator, if it is damaged.
pub(crate) fn believed(
    conn: &Connection,
    table: &'static str,
    key: &str,
    found: i64,
) -> Result<EventSeq, Error> {
    let number = u64::try_from(found).ok();
    if let Some(number) = number.filter(|number| *number <= LARGEST_BELIEVED) {
        return Ok(number);
    }
    let fault = Error::Row {
        table,
        key: key.to_owned(),
        reason: format!("{found} is no number of an event; it counts as 0"),
    };
    readable::<()>(conn, Err(fault))?;
    Ok(0)
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
            newest_event: believed(conn, "tombstones", agent_id, row.get(0)?)?,
            deleted_at: Timestamp::from_millis(row.get(1)?),
        })
    })
}

/// Returns the number after which a new agent of this name numbers its events; 0 if no name was used before. A name whose
/// tombstone is gone counts above all names of that kind.
pub(crate) fn event_floor(conn: &Connection, agent_id: &str) -> Result<EventSeq, Error> {
    match one(conn, agent_id)? {
        Some(tombstone) => Ok(tombstone.last_seq()),
        None => floor(conn),
    }
}

/// Reads the number above which agents count whose names have no tombstone; 0 if it was never raised or is damaged.
fn floor(conn: &Connection) -> Result<EventSeq, Error> {
    let found = first(conn, FLOOR, [], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Text(text) => str::from_utf8(text).ok().and_then(|text| text.parse().ok()),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => None,
        })
    })?;
    match found {
        // What is no number is reported like a number out of range.
        Some(found) => believed(conn, "meta", "event_floor", found.unwrap_or(-1)),
        None => Ok(0),
    }
}

/// Removes the tombstone of a name, unless rows of an agent of this name are left.
pub(crate) fn forget(conn: &Connection, agent_id: &str) -> Result<(), Error> {
    let forgotten = first(conn, FORGET, [agent_id], |row| Ok(row.get(0)?));
    let Some(newest) = readable(conn, forgotten)?.flatten() else {
        return Ok(());
    };
    let newest = believed(conn, "tombstones", agent_id, newest)?;
    let raised = newest.saturating_add(1).min(LARGEST_BELIEVED);
    if newest > 0 && raised > floor(conn)? {
        run(conn, SET_FLOOR, [raised.to_string()])?;
    }
    Ok(())
}

/// Lists removed agents by name.
pub(crate) fn list(conn: &Connection, count: usize) -> Result<Vec<(String, Timestamp)>, Error> {
    all_readable(conn, ALL, [limit(count)], |row| {
        Ok((row.get(0)?, Timestamp::from_millis(row.get(1)?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples::{Scribe, agent, id};

    const LARGEST: i64 = i64::MAX;

    fn tombstone(db: &Db, name: &str, newest: i64) {
        let sql = "INSERT OR REPLACE INTO tombstones (agent_id, deleted_at, newest_event) VALUES (?1, 0, ?2)";
        db.conn.execute(sql, params![name, newest]).expect("writes");
    }

    #[test]
    fn a_damaged_number_of_a_tombstone_is_not_handed_on_to_other_names() {
        for damaged in [LARGEST, -1, 1 << 50] {
            let mut db = Db::in_memory().expect("opens");
            tombstone(&db, "b", 7);
            tombstone(&db, "gone", damaged);
            forget(&db.conn, "b").expect("forgets");
            forget(&db.conn, "gone").expect("forgets");
            assert_eq!(event_floor(&db.conn, "other"), Ok(8), "{damaged}");
            tombstone(&db, "again", damaged);
            for name in ["other", "again"] {
                let made = db.write(|tx| tx.create_agent(&agent(name)));
                assert!(made.is_ok(), "{damaged}: {made:?}");
            }
        }
    }

    #[test]
    fn a_damaged_floor_of_event_numbers_is_passed_over_and_replaced() {
        for damaged in ["9223372036854775807", "9223372036854775808", "-5", "x", ""] {
            let mut db = Db::in_memory().expect("opens");
            let floor = "INSERT INTO meta (key, value) VALUES ('event_floor', ?1)";
            db.conn.execute(floor, [damaged]).expect("writes");
            assert_eq!(event_floor(&db.conn, "a"), Ok(0), "{damaged:?}");
            let made = db.write(|tx| tx.create_agent(&agent("a")));
            assert!(made.is_ok(), "{damaged:?}: {made:?}");
            tombstone(&db, "b", 7);
            forget(&db.conn, "b").expect("forgets");
            assert_eq!(event_floor(&db.conn, "c"), Ok(8), "{damaged:?}");
        }
    }

    #[test]
    fn a_tombstone_of_an_agent_whose_number_is_damaged_takes_the_number_of_its_events() {
        for damaged in [LARGEST, -1, 1 << 50] {
            let mut scribe = Scribe::new("a");
            let mut db = Db::in_memory().expect("opens");
            let no = db
                .write(|tx| tx.create_agent(&scribe.record))
                .expect("creates");
            let decision = scribe.event().event().decide();
            db.write(|tx| tx.apply(no, &decision)).expect("writes");
            let sql = "UPDATE agents SET newest_event = ?1";
            db.conn.execute(sql, [damaged]).expect("changes");
            add(&db.conn, "a", Timestamp::default()).expect("adds");
            let removed = db.write(|tx| tx.remove_rows_of(&id("a"), 1_000));
            assert_eq!(removed, Ok(crate::Removal::Done), "{damaged}");
            let found = one(&db.conn, "a").expect("reads").expect("a tombstone");
            assert_eq!(found.newest_event, 2, "{damaged}");
        }
    }
}
