//! The agents table: one row per agent with its record and the integers derived from it and from its other rows.
//!
//! Invariant: `pending`, `interjections`, the event bounds and `attention` are written only here, in the same
//! savepoint as the rows they count; nobody else reads them as truth about anything but what they count.

use crate::attempts;
use crate::error::Error;
use crate::row::{AgentNo, all, first, json, limit, run};
use holon_domain::AgentId;
use holon_domain::agent::{
    AgentRecord, AgentRow, AgentSettings, Counters, Lifecycle, RunEnd, Visibility,
};
use holon_domain::attempt::AttemptRecord;
use rusqlite::{Connection, Row, params};

/// Events are accounted for retention in chunks of this many bytes, so that the index changes rarely.
pub(crate) const CHUNK_BYTES: u64 = 64 << 10;

/// The columns a record is made of, in the order `read` expects them.
macro_rules! record_columns {
    () => {
        "record, settings, newest_message, newest_entry, newest_brief, newest_effect, newest_turn, newest_event"
    };
}

/// Where `BY_ID` and `VISIBLE` have the reason why an agent was put aside.
const ASIDE: usize = 10;

pub(crate) const BY_ID: &str = concat!(
    "SELECT agent_no, agent_id, ",
    record_columns!(),
    ", aside FROM agents WHERE agent_id = ?1"
);
pub(crate) const ID_OF: &str = "SELECT agent_id FROM agents WHERE agent_no = ?1";
pub(crate) const TALLY: &str = "SELECT attention, pending, interjections, oldest_event, newest_event, event_bytes, \
     event_chunks, settings IS NOT NULL, interjections_listed IS NOT NULL FROM agents WHERE agent_no = ?1";
/// The text of a row that an earlier build wrote and this one has not split yet.
pub(crate) const UNSPLIT: &str =
    "SELECT record FROM agents WHERE agent_no = ?1 AND settings IS NULL";
pub(crate) const UPDATE: &str = "UPDATE agents SET pending = ?2, interjections = ?3, newest_event = ?4, \
     event_bytes = ?5, newest_message = ?6, newest_entry = ?7, newest_brief = ?8, newest_effect = ?9, newest_turn = ?10, \
     record = ?11 WHERE agent_no = ?1";
pub(crate) const UPDATE_SETTINGS: &str =
    "UPDATE agents SET settings = ?2, visible = ?3 WHERE agent_no = ?1";
/// The indexed columns apart: naming them in an UPDATE rewrites their index entries even when nothing changes.
pub(crate) const UPDATE_INDEXED: &str =
    "UPDATE agents SET attention = ?2, event_chunks = ?3 WHERE agent_no = ?1";
/// A number that no table knows: rows of an agent whose own row is gone must not become another's.
pub(crate) const FREE_NO: &str = "SELECT 1 + max(coalesce((SELECT max(agent_no) FROM agents), 0), \
     coalesce((SELECT max(agent_no) FROM messages), 0), coalesce((SELECT max(agent_no) FROM log), 0), \
     coalesce((SELECT max(agent_no) FROM briefs), 0), coalesce((SELECT max(agent_no) FROM events), 0), \
     coalesce((SELECT max(agent_no) FROM effects), 0), coalesce((SELECT max(agent_no) FROM due), 0), \
     coalesce((SELECT max(agent_no) FROM tasks), 0), coalesce((SELECT max(agent_no) FROM attempts), 0), \
     coalesce((SELECT max(agent_no) FROM blob_refs), 0), coalesce((SELECT max(agent_no) FROM interjections), 0))";
const INSERT: &str = "INSERT INTO agents (agent_no, agent_id, visible, attention, pending, interjections, oldest_event, \
     newest_event, event_bytes, event_chunks, record, settings, newest_message, newest_entry, newest_brief, newest_effect, \
     newest_turn, interjections_listed) VALUES (?11, ?1, ?2, ?3, 0, 0, 1, 0, 0, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1)";
pub(crate) const ATTENTION: &str = "SELECT agent_id FROM agents WHERE attention = 1 AND agent_id > ?1 AND aside IS NULL ORDER BY agent_id LIMIT ?2";
/// For boot: the table holds open effects and nothing else, so it is walked from there.
const WITH_EFFECT: &str = "SELECT DISTINCT a.agent_id FROM effects e CROSS JOIN agents a ON a.agent_no = e.agent_no \
     WHERE a.agent_id > ?1 AND a.aside IS NULL ORDER BY a.agent_id LIMIT ?2";
pub(crate) const IS_VISIBLE: &str = "SELECT visible FROM agents WHERE agent_id = ?1";
pub(crate) const SETTINGS: &str = "SELECT settings FROM agents WHERE agent_id = ?1";
pub(crate) const ASIDE_PRIVATE: &str = "SELECT agent_id, settings FROM agents WHERE attention = 1 AND visible = 0 \
     AND aside IS NOT NULL ORDER BY agent_id LIMIT ?1";
const VISIBLE: &str = concat!(
    "SELECT pending, agent_id, ",
    record_columns!(),
    ", aside FROM agents WHERE visible = 1 ORDER BY agent_id"
);

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
    /// Whether the settings stand in their own column. Rows of earlier builds are split at their first write.
    pub(crate) is_split: bool,
    /// Whether the table `interjections` lists the agent's messages. Those of earlier builds are listed at their first
    /// write.
    pub(crate) interjections_listed: bool,
}

/// Reads an agent by name.
pub(crate) fn by_id(
    conn: &Connection,
    id: &AgentId,
) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
    first(conn, BY_ID, [id.as_str()], |row| {
        Ok((AgentNo(row.get(0)?), read(row)?))
    })
}

/// Reads an agent that decisions may be made about.
pub(crate) fn at_work(
    conn: &Connection,
    id: &AgentId,
) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
    first(conn, BY_ID, [id.as_str()], |row| {
        if let Some(reason) = row.get(ASIDE)? {
            let agent_id = id.clone();
            return Err(Error::Aside { agent_id, reason });
        }
        Ok((AgentNo(row.get(0)?), read(row)?))
    })
}

/// The number of a named agent.
pub(crate) fn number_of(conn: &Connection, id: &AgentId) -> Result<Option<AgentNo>, Error> {
    first(conn, BY_ID, [id.as_str()], |row| Ok(AgentNo(row.get(0)?)))
}

/// Reads a record from a row that has the agent's name in its second column and the record's columns after it.
fn read(row: &Row<'_>) -> Result<AgentRecord, Error> {
    let unreadable = |reason: String| Error::Row {
        table: "agents",
        key: row.get(1).unwrap_or_default(),
        reason,
    };
    let text = |column: usize| -> Result<Option<&str>, Error> {
        let value = row.get_ref(column)?.as_str_or_null();
        value.map_err(|error| unreadable(error.to_string()))
    };
    let Some(record) = text(2)? else {
        return Err(unreadable("it has no record".to_owned()));
    };
    let columns = AgentRow {
        record,
        settings: text(3)?,
        counters: counters(row)?,
    };
    let mut record =
        AgentRecord::from_row(columns).map_err(|error| unreadable(error.to_string()))?;
    let name: String = row.get(1)?;
    if record.identity.agent_id.as_str() != name {
        let other = &record.identity.agent_id;
        return Err(unreadable(format!(
            "its settings name another agent, {other}"
        )));
    }
    // The store itself may have recorded an event since the record was written.
    record.counters.events = row.get(9)?;
    Ok(record)
}

/// The counters of a row, unless it is of an earlier build.
fn counters(row: &Row<'_>) -> Result<Option<Counters>, Error> {
    let Some(messages) = row.get(4)? else {
        return Ok(None);
    };
    Ok(Some(Counters {
        messages,
        log: row.get(5)?,
        briefs: row.get(6)?,
        effects: row.get(7)?,
        turns: row.get(8)?,
        events: row.get(9)?,
    }))
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
            is_split: row.get(7)?,
            interjections_listed: row.get(8)?,
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
    let no: i64 = first(conn, FREE_NO, [], |row| Ok(row.get(0)?))?.unwrap_or(1);
    let counters = &record.counters;
    let values = params![
        id.as_str(),
        is_visible(&record.settings),
        needs_attention(record, 0),
        serde_json::to_string(record)?,
        serde_json::to_string(&record.settings)?,
        counters.messages,
        counters.log,
        counters.briefs,
        counters.effects,
        counters.turns,
        no
    ];
    run(conn, INSERT, values)?;
    Ok(AgentNo(no))
}

/// A row of an earlier build, taken apart.
pub(crate) struct Unsplit {
    record: AgentRecord,
    pub(crate) attempts: Vec<AttemptRecord>,
}

/// Reads the row of an agent, if an earlier build wrote it and it was not split since.
pub(crate) fn unsplit(conn: &Connection, no: AgentNo) -> Result<Option<Unsplit>, Error> {
    first(conn, UNSPLIT, [no.0], |row| {
        let text: String = row.get(0)?;
        let (record, attempts) =
            AgentRecord::split_legacy_row(&text).map_err(|error| Error::Row {
                table: "agents",
                key: no.to_string(),
                reason: error.to_string(),
            })?;
        Ok(Unsplit { record, attempts })
    })
}

/// Splits the row of an agent, if an earlier build wrote it: settings and attempts go where they stand today. What is
/// left in the record is rewritten by the decision that is applied next.
pub(crate) fn split(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    let Some(Unsplit { record, attempts }) = unsplit(conn, no)? else {
        return Ok(());
    };
    write_settings(conn, no, &record.settings)?;
    for (n, attempt) in (1..).zip(&attempts) {
        attempts::keep(conn, no, n, attempt)?;
    }
    Ok(())
}

/// Writes an agent's settings and what is derived of them.
pub(crate) fn write_settings(
    conn: &Connection,
    no: AgentNo,
    settings: &AgentSettings,
) -> Result<(), Error> {
    let text = serde_json::to_string(settings)?;
    run(
        conn,
        UPDATE_SETTINGS,
        params![no.0, text, is_visible(settings)],
    )?;
    Ok(())
}

/// Rewrites an agent's row after a decision. `before` is the tally as it was read, `after` as it is now.
pub(crate) fn update(
    conn: &Connection,
    no: AgentNo,
    record: &AgentRecord,
    before: &Tally,
    after: &Tally,
) -> Result<(), Error> {
    let counters = &record.counters;
    let values = params![
        no.0,
        after.pending,
        after.interjections,
        after.newest_event,
        after.event_bytes,
        counters.messages,
        counters.log,
        counters.briefs,
        counters.effects,
        counters.turns,
        serde_json::to_string(record)?
    ];
    run(conn, UPDATE, values)?;
    let attention = needs_attention(record, after.pending);
    let chunks = after.event_bytes / CHUNK_BYTES;
    if attention != before.attention || chunks != before.event_chunks {
        run(conn, UPDATE_INDEXED, params![no.0, attention, chunks])?;
    }
    Ok(())
}

/// A page of the agents boot must look at, by name: with work in hand or waiting, in passing, or with open effects.
pub(crate) fn to_recover(
    conn: &Connection,
    after: Option<&AgentId>,
    count: usize,
) -> Result<Vec<AgentId>, Error> {
    let after = after.map_or("", AgentId::as_str);
    let page = |sql| {
        all(conn, sql, params![after, limit(count)], |row| {
            Ok(usable(parse_id(
                row.get_ref(0)?.as_str().unwrap_or_default(),
            )))
        })
    };
    let mut found: Vec<AgentId> = page(ATTENTION)?.into_iter().flatten().collect();
    found.extend(page(WITH_EFFECT)?.into_iter().flatten());
    found.sort();
    found.dedup();
    found.truncate(count);
    Ok(found)
}

/// Whether clients may see an agent. Read from its column, so an agent whose record cannot be read has an answer too.
pub(crate) fn is_public(conn: &Connection, id: &AgentId) -> Result<bool, Error> {
    let visible: Option<bool> = first(conn, IS_VISIBLE, [id.as_str()], |row| Ok(row.get(0)?))?;
    Ok(visible.unwrap_or(false))
}

/// The settings of an agent, also of one whose record cannot be read.
pub(crate) fn settings(conn: &Connection, id: &AgentId) -> Result<Option<AgentSettings>, Error> {
    first(conn, SETTINGS, [id.as_str()], |row| {
        json(row, 0, "agents", id)
    })
}

/// The first temporary agents that were put aside, by name. One whose settings cannot be read is not known to be
/// temporary and stays.
pub(crate) fn temporary_aside(conn: &Connection, count: usize) -> Result<Vec<AgentId>, Error> {
    let found = all(conn, ASIDE_PRIVATE, [limit(count)], |row| {
        let id = usable(parse_id(row.get_ref(0)?.as_str().unwrap_or_default()));
        let settings: Result<AgentSettings, Error> = json(row, 1, "agents", "settings");
        let run = settings.ok().and_then(|settings| settings.run);
        Ok(id.filter(|_| run.is_some_and(|run| run.when_over == RunEnd::Remove)))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// An agent in the list of all: one whose row cannot be read does not hide the others.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedAgent {
    /// Its name, which stands beside the record.
    pub agent_id: AgentId,
    /// How many messages wait for it.
    pub pending: u64,
    /// Its record, or why that cannot be read.
    pub record: Result<AgentRecord, Error>,
    /// Why it was put aside, if it was.
    pub aside: Option<String>,
}

/// The visible agents, by name.
pub(crate) fn visible(conn: &Connection) -> Result<Vec<ListedAgent>, Error> {
    let listed = all(conn, VISIBLE, [], |row| {
        let name: String = row.get(1)?;
        let pending: i64 = row.get(0)?;
        let Some(agent_id) = usable(parse_id(&name)) else {
            return Ok(None);
        };
        Ok(Some(ListedAgent {
            agent_id,
            pending: u64::try_from(pending).unwrap_or(0),
            record: read(row),
            aside: row.get(ASIDE)?,
        }))
    })?;
    Ok(listed.into_iter().flatten().collect())
}

/// A stored name, unless it is none: such a row is passed over, because nobody can be told of it by name.
fn usable(name: Result<AgentId, Error>) -> Option<AgentId> {
    name.inspect_err(|error| tracing::warn!(%error, "an agent is passed over"))
        .ok()
}

fn is_visible(settings: &AgentSettings) -> bool {
    settings.identity.visibility == Visibility::Public
}

/// Whether boot must look at the agent: it has work in hand or waiting, or is in passing.
pub(crate) fn needs_attention(record: &AgentRecord, pending: u64) -> bool {
    let in_passing = match record.lifecycle {
        Lifecycle::Booting | Lifecycle::Deleting => true,
        Lifecycle::Runnable | Lifecycle::Stopped => false,
    };
    in_passing || pending > 0 || record.open_turn.is_some() || record.is_removed_with_process()
}

#[cfg(test)]
mod tests;
