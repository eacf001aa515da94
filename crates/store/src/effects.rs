//! Open effects and the due-queue: everything that is outstanding, and when.
//!
//! Invariant: a row is here exactly while its outcome is open; closing what is not open is refused.

use crate::agents::parse_id;
use crate::error::Error;
use crate::row::{AgentNo, all, first, json, limit, run};
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::timer::{Due, DueId};
use holon_domain::{AgentId, Timestamp};
use rusqlite::{Connection, params};

const OPEN: &str =
    "INSERT INTO effects (agent_no, id, generation, opened_at, effect) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const CLOSE: &str = "DELETE FROM effects WHERE agent_no = ?1 AND id = ?2";
pub(crate) const HAS: &str = "SELECT 1 FROM effects WHERE agent_no = ?1 AND id = ?2";
pub(crate) const ONE: &str = "SELECT effect FROM effects WHERE agent_no = ?1 AND id = ?2";
/// Boot only: the table holds open effects and nothing else.
const ALL_OPEN: &str = "SELECT a.agent_id, e.id, e.generation, e.opened_at, e.effect FROM effects e \
     JOIN agents a ON a.agent_no = e.agent_no ORDER BY e.agent_no, e.id";
const SET: &str = "INSERT INTO due (at, agent_no, id, due) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const CLEAR: &str = "DELETE FROM due WHERE agent_no = ?1 AND id = ?2";
pub(crate) const DUE: &str = "SELECT a.agent_id, d.id, d.at, d.due FROM due d \
     JOIN agents a ON a.agent_no = d.agent_no WHERE d.at <= ?1 ORDER BY d.at, d.agent_no, d.id LIMIT ?2";
pub(crate) const NEXT_DUE: &str = "SELECT min(at) FROM due";

/// One entry of the due-queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRow {
    /// Whose.
    pub agent_id: AgentId,
    /// Which.
    pub id: DueId,
    /// The planned time.
    pub at: Timestamp,
    /// What.
    pub due: Due,
}

/// Opens an effect.
pub(crate) fn open(
    conn: &Connection,
    no: AgentNo,
    id: EffectId,
    generation: u64,
    at: Timestamp,
    effect: &Effect,
) -> Result<(), Error> {
    let text = serde_json::to_string(effect)?;
    run(
        conn,
        OPEN,
        params![no.0, id, generation, at.as_millis(), text],
    )?;
    Ok(())
}

/// Closes an open effect.
pub(crate) fn close(conn: &Connection, no: AgentNo, id: EffectId) -> Result<(), Error> {
    if run(conn, CLOSE, params![no.0, id])? == 1 {
        return Ok(());
    }
    Err(Error::contradiction(format!(
        "effect {id} is closed, but it is not open"
    )))
}

/// Whether an effect is open.
pub(crate) fn is_open(conn: &Connection, no: AgentNo, id: EffectId) -> Result<bool, Error> {
    Ok(first(conn, HAS, params![no.0, id], |_| Ok(()))?.is_some())
}

/// An open effect.
pub(crate) fn one(conn: &Connection, no: AgentNo, id: EffectId) -> Result<Option<Effect>, Error> {
    first(conn, ONE, params![no.0, id], |row| {
        json(row, 0, "effects", id)
    })
}

/// Every open effect of the host.
pub(crate) fn all_open(conn: &Connection) -> Result<Vec<EffectRecord>, Error> {
    all(conn, ALL_OPEN, [], |row| {
        let name: String = row.get(0)?;
        let id: EffectId = row.get(1)?;
        Ok(EffectRecord {
            agent_id: parse_id(&name)?,
            id,
            generation: row.get(2)?,
            opened_at: Timestamp::from_millis(row.get(3)?),
            effect: json(row, 4, "effects", format!("{name}/{id}"))?,
        })
    })
}

/// Sets a due entry.
pub(crate) fn set_due(
    conn: &Connection,
    no: AgentNo,
    id: DueId,
    at: Timestamp,
    due: &Due,
) -> Result<(), Error> {
    let text = serde_json::to_string(due)?;
    run(conn, SET, params![at.as_millis(), no.0, id, text])?;
    Ok(())
}

/// Clears a due entry.
pub(crate) fn clear_due(conn: &Connection, no: AgentNo, id: DueId) -> Result<(), Error> {
    if run(conn, CLEAR, params![no.0, id])? == 1 {
        return Ok(());
    }
    Err(Error::contradiction(format!(
        "due entry {id} is cleared, but it is not set"
    )))
}

/// What is due by now, earliest first.
pub(crate) fn due(conn: &Connection, now: Timestamp, count: usize) -> Result<Vec<DueRow>, Error> {
    all(conn, DUE, params![now.as_millis(), limit(count)], |row| {
        let name: String = row.get(0)?;
        let id: DueId = row.get(1)?;
        Ok(DueRow {
            agent_id: parse_id(&name)?,
            id,
            at: Timestamp::from_millis(row.get(2)?),
            due: json(row, 3, "due", format!("{name}/{id}"))?,
        })
    })
}

/// When the next entry is due.
pub(crate) fn next_due(conn: &Connection) -> Result<Option<Timestamp>, Error> {
    let at: Option<Option<i64>> = first(conn, NEXT_DUE, [], |row| Ok(row.get(0)?))?;
    Ok(at.flatten().map(Timestamp::from_millis))
}
