//! Open effects and the due queue: all outstanding work of agents, with its time.
//!
//! Invariant: a row exists exactly while its outcome is open. Closing one that is not open is refused.

use crate::agents::parse_id;
use crate::error::Error;
use crate::row::{AgentNo, Unreadable, all, first, json, limit, run};
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::queue::QueueView;
use holon_domain::timer::{DueAction, DueId, DueTime, Pause, PlannedDue, Slot};
use holon_domain::{AgentId, Timestamp};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;

const OPEN: &str =
    "INSERT INTO effects (agent_no, id, generation, opened_at, effect) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const CLOSE: &str = "DELETE FROM effects WHERE agent_no = ?1 AND id = ?2";
pub(crate) const ONE: &str = "SELECT effect FROM effects WHERE agent_no = ?1 AND id = ?2";
pub(crate) const IDS: &str = "SELECT id FROM effects WHERE agent_no = ?1 ORDER BY id";
pub(crate) const OF_AGENT: &str = "SELECT id, generation, opened_at, effect FROM effects \
     WHERE agent_no = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
const SET: &str =
    "INSERT INTO due (at, agent_no, id, due, set_at, length_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
pub(crate) const CLEAR: &str = "DELETE FROM due WHERE agent_no = ?1 AND id = ?2";
pub(crate) const DUE: &str = "SELECT a.agent_id, d.id, d.at, d.due, d.agent_no, d.set_at, d.length_ms FROM due d \
     JOIN agents a ON a.agent_no = d.agent_no WHERE d.at <= ?1 AND (d.at, d.agent_no, d.id) > (?2, ?3, ?4) \
     AND a.aside IS NULL AND (instr(?7, char(10) || a.agent_id || char(10)) > 0) = ?6 \
     ORDER BY d.at, d.agent_no, d.id LIMIT ?5";
pub(crate) const SOONEST: &str =
    "SELECT id, at, due FROM due WHERE agent_no = ?1 ORDER BY at LIMIT ?2";
pub(crate) const NEXT_DUE: &str = "SELECT min(at) FROM due";

/// One entry of the due queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRow {
    pub agent_id: AgentId,
    pub id: DueId,
    /// Pause or slot of the entry.
    pub time: DueTime,
    /// Action that is due.
    pub due: DueAction,
}

/// The agents whose due entries are read. Other entries are filtered before a page is cut, so they do not hide any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueScope {
    All,
    Only(BTreeSet<AgentId>),
    AllBut(BTreeSet<AgentId>),
}

impl DueScope {
    /// Returns the scope without these agents.
    #[must_use]
    pub fn without(&self, agents: &BTreeSet<AgentId>) -> Self {
        match self {
            Self::All => Self::AllBut(agents.clone()),
            Self::Only(names) => Self::Only(names - agents),
            Self::AllBut(names) => Self::AllBut(names | agents),
        }
    }

    /// Returns the names of the scope, one per line, and true if only these are in it. A name has no line break.
    fn names(&self) -> (String, bool) {
        let (names, only) = match self {
            Self::All => return (String::new(), false),
            Self::Only(names) => (names, true),
            Self::AllBut(names) => (names, false),
        };
        let lines = names
            .iter()
            .fold("\n".to_owned(), |lines, name| lines + name.as_str() + "\n");
        (lines, only)
    }
}

/// The position of the next page in the due queue: after the last entry of the page before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueCursor {
    at: i64,
    agent_no: i64,
    id: i64,
}

impl DueCursor {
    /// Returns the cursor of the entries planned for later than `at`.
    #[must_use]
    pub const fn later_than(at: Timestamp) -> Self {
        Self {
            at: at.as_millis(),
            agent_no: i64::MAX,
            id: i64::MAX,
        }
    }
}

/// A page of the due-queue, earliest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DuePage {
    pub rows: Vec<DueRow>,
    /// Agents with an unreadable entry, and the error.
    pub unreadable: Vec<(AgentId, Error)>,
    /// Cursor of the next page; absent on the last one.
    pub next: Option<DueCursor>,
}

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

pub(crate) fn close(conn: &Connection, no: AgentNo, id: EffectId) -> Result<(), Error> {
    if run(conn, CLOSE, params![no.0, id])? == 1 {
        return Ok(());
    }
    Err(Error::contradiction(format!(
        "effect {id} is closed, but it is not open"
    )))
}

/// Reads an open effect.
pub(crate) fn one(conn: &Connection, no: AgentNo, id: EffectId) -> Result<Option<Effect>, Error> {
    first(conn, ONE, params![no.0, id], |row| {
        json(row, 0, "effects", id)
    })
}

/// Lists the numbers of an agent's open effects.
pub(crate) fn ids(conn: &Connection, no: AgentNo) -> Result<Vec<EffectId>, Error> {
    all(conn, IDS, [no.0], |row| Ok(row.get(0)?))
}

/// Returns a page of an agent's open effects, in the order they were opened.
pub(crate) fn of_agent(
    conn: &Connection,
    no: AgentNo,
    agent_id: &AgentId,
    after: EffectId,
    count: usize,
) -> Result<Vec<EffectRecord>, Error> {
    all(conn, OF_AGENT, params![no.0, after, limit(count)], |row| {
        let id: EffectId = row.get(0)?;
        Ok(EffectRecord {
            agent_id: agent_id.clone(),
            id,
            generation: row.get(1)?,
            opened_at: Timestamp::from_millis(row.get(2)?),
            effect: json(row, 3, "effects", format!("{agent_id}/{id}"))?,
        })
    })
}

pub(crate) fn set_due(
    conn: &Connection,
    no: AgentNo,
    id: DueId,
    time: DueTime,
    due: &DueAction,
) -> Result<(), Error> {
    let text = serde_json::to_string(due)?;
    let (set_at, length_ms) = match time {
        DueTime::Pause(pause) => (pause.set_at, Some(limit(pause.length_ms))),
        DueTime::Slot(slot) => (slot.set_at, None),
    };
    let values = params![
        time.at().as_millis(),
        no.0,
        id,
        text,
        set_at.as_millis(),
        length_ms
    ];
    run(conn, SET, values)?;
    Ok(())
}

pub(crate) fn clear_due(conn: &Connection, no: AgentNo, id: DueId) -> Result<(), Error> {
    if run(conn, CLEAR, params![no.0, id])? == 1 {
        return Ok(());
    }
    Err(Error::contradiction(format!(
        "due entry {id} is cleared, but it is not set"
    )))
}

/// Lists the entries due by `until`, earliest first. An unreadable entry does not hide the others.
pub(crate) fn due(
    conn: &Connection,
    scope: &DueScope,
    until: Timestamp,
    after: Option<DueCursor>,
    count: usize,
) -> Result<DuePage, Error> {
    let (at, agent_no, id) = after.map_or((i64::MIN, 0, 0), |cursor| {
        (cursor.at, cursor.agent_no, cursor.id)
    });
    let mut page = DuePage::default();
    let (names, only) = scope.names();
    let values = params![
        until.as_millis(),
        at,
        agent_no,
        id,
        limit(count),
        only,
        names
    ];
    let read = all(conn, DUE, values, |row| {
        let name = row.get_ref(0)?.as_str().unwrap_or_default();
        match (parse_id(name), read_due(row, name)) {
            (Ok(agent_id), Ok((id, time, due))) => page.rows.push(DueRow {
                agent_id,
                id,
                time,
                due,
            }),
            (Ok(agent_id), Err(error)) => page.unreadable.push((agent_id, error)),
            // There is no readable agent to put aside.
            (Err(error), _) => tracing::warn!(%error, "a due entry is passed over"),
        }
        Ok(DueCursor {
            at: row.get(2)?,
            agent_no: row.get(4)?,
            id: row.get(1)?,
        })
    })?;
    page.next = read.last().copied().filter(|_| read.len() == count);
    Ok(page)
}

fn read_due(row: &Row<'_>, name: &str) -> Result<(DueId, DueTime, DueAction), Error> {
    let id: i64 = row.get(1)?;
    let due: DueAction = json(row, 3, "due", format!("{name}/{id}"))?;
    let at = Timestamp::from_millis(row.get(2)?);
    let set_at: Option<i64> = row.get(5)?;
    let length_ms: Option<u64> = row.get(6)?;
    let time = match (set_at, length_ms) {
        (Some(set_at), Some(length_ms)) => DueTime::Pause(Pause {
            set_at: Timestamp::from_millis(set_at),
            length_ms,
        }),
        (Some(set_at), None) => DueTime::Slot(Slot {
            at,
            set_at: Timestamp::from_millis(set_at),
        }),
        // An earlier build wrote the entry: a pause of unknown length, assumed to be the longest of its kind.
        (None, _) => DueTime::Pause(Pause {
            set_at: at.minus_millis(due.longest_ms()),
            length_ms: due.longest_ms(),
        }),
    };
    Ok((row.get(1)?, time, due))
}

/// Lists the soonest entries of one agent, as many as a decision needs.
pub(crate) fn soonest(
    conn: &Connection,
    no: AgentNo,
    unreadable: Unreadable,
) -> Result<Vec<PlannedDue>, Error> {
    let count = limit(QueueView::SOONEST);
    unreadable.all(conn, SOONEST, params![no.0, count], |row| {
        let id: DueId = row.get(0)?;
        Ok(PlannedDue {
            id,
            at: Timestamp::from_millis(row.get(1)?),
            action: json(row, 2, "due", format!("{no}/{id}"))?,
        })
    })
}

/// Returns the time of the next entry.
pub(crate) fn next_due(conn: &Connection) -> Result<Option<Timestamp>, Error> {
    let at: Option<Option<i64>> = first(conn, NEXT_DUE, [], |row| Ok(row.get(0)?))?;
    Ok(at.flatten().map(Timestamp::from_millis))
}

#[cfg(test)]
mod tests;
