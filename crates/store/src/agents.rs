//! The agents table: one row per agent with its record and the integers derived from it and from its other rows.
//!
//! Invariant: `pending`, `interjections`, the event bounds and `attention` are written only here, in the same
//! savepoint as the rows they count; nobody else reads them as truth about anything but what they count.

use crate::error::Error;
use crate::row::{AgentNo, all, first, json, run};
use holon_domain::AgentId;
use holon_domain::agent::{AgentRecord, Lifecycle, Visibility};
use rusqlite::{Connection, params};

/// Events are accounted for retention in chunks of this many bytes, so that the index changes rarely.
pub(crate) const CHUNK_BYTES: u64 = 64 << 10;

pub(crate) const BY_ID: &str = "SELECT agent_no, record FROM agents WHERE agent_id = ?1";
pub(crate) const ID_OF: &str = "SELECT agent_id FROM agents WHERE agent_no = ?1";
pub(crate) const TALLY: &str = "SELECT attention, pending, interjections, oldest_event, newest_event, event_bytes, \
     event_chunks FROM agents WHERE agent_no = ?1";
pub(crate) const UPDATE: &str = "UPDATE agents SET pending = ?2, interjections = ?3, newest_event = ?4, \
     event_bytes = ?5, visible = ?6, record = ?7 WHERE agent_no = ?1";
/// The indexed columns apart: naming them in an UPDATE rewrites their index entries even when nothing changes.
pub(crate) const UPDATE_INDEXED: &str =
    "UPDATE agents SET attention = ?2, event_chunks = ?3 WHERE agent_no = ?1";
const INSERT: &str = "INSERT INTO agents (agent_id, visible, attention, pending, interjections, oldest_event, \
     newest_event, event_bytes, event_chunks, record) VALUES (?1, ?2, ?3, 0, 0, 1, 0, 0, 0, ?4)";
pub(crate) const ATTENTION: &str =
    "SELECT agent_id FROM agents WHERE attention = 1 ORDER BY agent_id";
pub(crate) const WITH_EFFECT: &str = "SELECT DISTINCT a.agent_id FROM effects e \
     JOIN agents a ON a.agent_no = e.agent_no WHERE a.attention = 0";
const VISIBLE: &str =
    "SELECT agent_id, record, pending FROM agents WHERE visible = 1 ORDER BY agent_id";

/// The derived integers of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) attention: bool,
    pub(crate) pending: u64,
    pub(crate) interjections: u64,
    pub(crate) oldest_event: u64,
    pub(crate) newest_event: u64,
    pub(crate) event_bytes: u64,
    pub(crate) event_chunks: u64,
}

/// Reads an agent by name.
pub(crate) fn by_id(
    conn: &Connection,
    id: &AgentId,
) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
    first(conn, BY_ID, [id.as_str()], |row| {
        Ok((AgentNo(row.get(0)?), json(row, 1, "agents", id)?))
    })
}

/// The name of a numbered agent.
pub(crate) fn id_of(conn: &Connection, no: AgentNo) -> Result<AgentId, Error> {
    let name: Option<String> = first(conn, ID_OF, [no.0], |row| Ok(row.get(0)?))?;
    name.map_or_else(
        || Err(Error::contradiction(format!("there is no agent {no}"))),
        |name| parse_id(&name),
    )
}

/// A stored name.
pub(crate) fn parse_id(name: &str) -> Result<AgentId, Error> {
    AgentId::parse_stored(name).map_err(|error| Error::Row {
        table: "agents",
        key: name.to_owned(),
        reason: error.to_string(),
    })
}

/// Reads the derived integers.
pub(crate) fn tally(conn: &Connection, no: AgentNo) -> Result<Tally, Error> {
    let found = first(conn, TALLY, [no.0], |row| {
        Ok(Tally {
            attention: row.get(0)?,
            pending: row.get(1)?,
            interjections: row.get(2)?,
            oldest_event: row.get(3)?,
            newest_event: row.get(4)?,
            event_bytes: row.get(5)?,
            event_chunks: row.get(6)?,
        })
    })?;
    found.ok_or_else(|| Error::contradiction(format!("there is no agent {no}")))
}

/// Writes a new agent.
pub(crate) fn insert(conn: &Connection, record: &AgentRecord) -> Result<AgentNo, Error> {
    let id = &record.identity.agent_id;
    let taken: Option<i64> = first(conn, BY_ID, [id.as_str()], |row| Ok(row.get(0)?))?;
    if taken.is_some() {
        return Err(Error::AgentExists {
            agent_id: id.clone(),
        });
    }
    let text = serde_json::to_string(record)?;
    run(
        conn,
        INSERT,
        params![
            id.as_str(),
            is_visible(record),
            needs_attention(record, 0),
            text
        ],
    )?;
    Ok(AgentNo(conn.last_insert_rowid()))
}

/// Rewrites an agent's row after a decision. `before` is the tally as it was read, `after` as it is now.
pub(crate) fn update(
    conn: &Connection,
    no: AgentNo,
    record: &AgentRecord,
    before: &Tally,
    after: &Tally,
) -> Result<(), Error> {
    let text = serde_json::to_string(record)?;
    let values = params![
        no.0,
        after.pending,
        after.interjections,
        after.newest_event,
        after.event_bytes,
        is_visible(record),
        text
    ];
    run(conn, UPDATE, values)?;
    let attention = needs_attention(record, after.pending);
    let chunks = after.event_bytes / CHUNK_BYTES;
    if attention != before.attention || chunks != before.event_chunks {
        run(conn, UPDATE_INDEXED, params![no.0, attention, chunks])?;
    }
    Ok(())
}

/// Names of the agents boot must look at: everything the attention index holds, and owners of open effects.
pub(crate) fn to_recover(conn: &Connection) -> Result<Vec<AgentId>, Error> {
    let mut found = all(conn, ATTENTION, [], |row| {
        parse_id(row.get_ref(0)?.as_str().unwrap_or_default())
    })?;
    found.extend(all(conn, WITH_EFFECT, [], |row| {
        parse_id(row.get_ref(0)?.as_str().unwrap_or_default())
    })?);
    found.sort();
    found.dedup();
    Ok(found)
}

/// The visible agents with their queue lengths, by name.
pub(crate) fn visible(conn: &Connection) -> Result<Vec<(AgentRecord, u64)>, Error> {
    all(conn, VISIBLE, [], |row| {
        let id: String = row.get(0)?;
        Ok((json(row, 1, "agents", id)?, row.get(2)?))
    })
}

fn is_visible(record: &AgentRecord) -> bool {
    record.identity.visibility == Visibility::Public
}

/// Whether boot must look at the agent: it has work in hand or waiting, or is in passing.
pub(crate) fn needs_attention(record: &AgentRecord, pending: u64) -> bool {
    let in_passing = match record.lifecycle {
        Lifecycle::Booting | Lifecycle::Deleting => true,
        Lifecycle::Runnable | Lifecycle::Stopped => false,
    };
    in_passing || pending > 0 || record.open_turn.is_some() || record.goes_with_process()
}
