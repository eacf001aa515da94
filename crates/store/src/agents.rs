//! The agents table: one row per agent with its record and the integers derived from it and from its other rows.
//!
//! Invariant: `pending`, `interjections`, the event bounds and `attention` are written only here, in the same write
//! as the rows they count. Other code uses them for nothing but these counts.

pub(crate) mod list;
pub(crate) mod recovery;
#[cfg(test)]
mod tests;

pub use list::{AgentPage, ListedAgent};
pub(crate) use list::{every_after, list_every, list_visible, visible_after};
pub use recovery::{RecoveryCursor, RecoveryPage};
pub(crate) use recovery::{needs_attention, temporary_aside, to_recover};

use crate::attempts;
use crate::error::Error;
use crate::known_agents::KnownAgents;
use crate::row::{AgentNo, all, first, json, run};
use holon_domain::AgentId;
use holon_domain::agent::{AgentRecord, AgentRow, AgentSettings, Counters, Visibility};
use holon_domain::attempt::AttemptRecord;
use rusqlite::{Connection, Row, params};

/// Unit of the accounting for retention. Whole chunks make the index change rarely.
pub(crate) const CHUNK_BYTES: u64 = 64 << 10;

/// Columns of a record, in the order that `read` expects.
macro_rules! record_columns {
    () => {
        "record, settings, newest_message, newest_entry, newest_brief, newest_effect, newest_turn, newest_event"
    };
}

use record_columns;

/// Column in `BY_ID` and the lists with the reason why an agent was put aside.
const ASIDE: usize = 10;

pub(crate) const BY_ID: &str = concat!(
    "SELECT agent_no, agent_id, ",
    record_columns!(),
    ", aside FROM agents WHERE agent_id = ?1"
);
pub(crate) const ID_OF: &str = "SELECT agent_id FROM agents WHERE agent_no = ?1";
pub(crate) const TALLY: &str = "SELECT attention, pending, interjections, oldest_event, newest_event, event_bytes, \
     event_chunks, settings IS NOT NULL, interjections_listed IS NOT NULL FROM agents WHERE agent_no = ?1";
/// Selects the row of an earlier build that was not split yet.
pub(crate) const UNSPLIT: &str =
    "SELECT record FROM agents WHERE agent_no = ?1 AND settings IS NULL";
pub(crate) const UPDATE: &str = "UPDATE agents SET pending = ?2, interjections = ?3, newest_event = ?4, \
     event_bytes = ?5, newest_message = ?6, newest_entry = ?7, newest_brief = ?8, newest_effect = ?9, newest_turn = ?10, \
     record = ?11 WHERE agent_no = ?1";
pub(crate) const UPDATE_SETTINGS: &str =
    "UPDATE agents SET settings = ?2, visible = ?3 WHERE agent_no = ?1";
/// Updates the indexed columns separately: naming them in an UPDATE rewrites their index entries even when nothing
/// changes.
pub(crate) const UPDATE_INDEXED: &str =
    "UPDATE agents SET attention = ?2, event_chunks = ?3 WHERE agent_no = ?1";
/// Largest agent number that is given out. A row with a larger one is damaged and uses up no numbers.
macro_rules! largest_no {
    () => {
        "281474976710656"
    };
}

/// Makes the statements that look at the agent numbers of every table.
macro_rules! over_agent_tables {
    ($($table:literal),+) => {
        /// Finds an agent number that no table uses. Rows of an agent whose own row is gone must not become another
        /// agent's.
        pub(crate) const FREE_NO: &str = concat!(
            "SELECT 1 + max(",
            $("coalesce((SELECT max(agent_no) FROM ", $table, " WHERE agent_no < ", largest_no!(), "), 0), ",)+
            "0)"
        );
        /// Lists the tables with a row of an agent number that was never given out.
        pub(crate) const STRAYS: &str = concat!(
            $("SELECT '", $table, "' WHERE EXISTS (SELECT 1 FROM ", $table, " WHERE agent_no >= ", largest_no!(),
            ") UNION ALL ",)+
            "SELECT '' WHERE 0"
        );
    };
}

over_agent_tables!(
    "agents",
    "messages",
    "log",
    "briefs",
    "events",
    "effects",
    "due",
    "tasks",
    "attempts",
    "blob_refs",
    "interjections",
    "work_items",
    "waits",
    "timers",
    "hints",
    "occupancies",
    "external_triggers",
    "deliveries",
    "reservations",
    "memory_outbox",
    "working_memory",
    "episodes",
    "output_refs",
    "image_refs",
    "delivery_summaries"
);
const INSERT: &str = "INSERT INTO agents (agent_no, agent_id, visible, attention, pending, interjections, oldest_event, \
     newest_event, event_bytes, event_chunks, record, settings, newest_message, newest_entry, newest_brief, newest_effect, \
     newest_turn, interjections_listed) VALUES (?11, ?1, ?2, ?3, 0, 0, ?12 + 1, ?12, 0, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1)";
const NOTE_BIRTH: &str = "UPDATE agents SET birth = ?2 WHERE agent_no = ?1";
pub(crate) const BIRTH: &str = "SELECT birth FROM agents WHERE agent_id = ?1";
pub(crate) const IS_VISIBLE: &str = "SELECT visible FROM agents WHERE agent_id = ?1";
pub(crate) const SETTINGS: &str = "SELECT settings FROM agents WHERE agent_id = ?1";
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
    /// True if the settings are in their own column. Rows of earlier builds are split at their first write.
    pub(crate) is_split: bool,
    /// True if the table `interjections` lists the agent's messages. Those of earlier builds are listed at their first
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

/// Reads an agent that decisions may be made about. Fails with `Aside` if it was put aside.
pub(crate) fn read_unless_aside(
    conn: &Connection,
    id: &AgentId,
) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
    first(conn, BY_ID, [id.as_str()], |row| {
        refuse_aside(row, id)?;
        Ok((AgentNo(row.get(0)?), read(row)?))
    })
}

/// Reads an agent like [`read_unless_aside`], without parsing a row that is known.
pub(crate) fn read_known(
    conn: &Connection,
    known: &mut KnownAgents,
    id: &AgentId,
) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
    first(conn, BY_ID, [id.as_str()], |row| {
        refuse_aside(row, id)?;
        let no = AgentNo(row.get(0)?);
        Ok((no, read_by(row, |columns| known.read(no, columns))?))
    })
}

/// Reads why an agent was put aside. A reason that is no text is a mark all the same.
fn aside_reason(row: &Row<'_>) -> Option<String> {
    reason_in(row, ASIDE)
}

/// Reads the reason in a column like [`aside_reason`].
pub(crate) fn reason_in(row: &Row<'_>, column: usize) -> Option<String> {
    let unreadable = || Some("it was put aside, and the reason cannot be read".to_owned());
    row.get(column).unwrap_or_else(|_| unreadable())
}

fn refuse_aside(row: &Row<'_>, id: &AgentId) -> Result<(), Error> {
    match aside_reason(row) {
        Some(reason) => Err(Error::Aside {
            agent_id: id.clone(),
            reason,
        }),
        None => Ok(()),
    }
}

/// Returns the number of a named agent.
pub(crate) fn number_of(conn: &Connection, id: &AgentId) -> Result<Option<AgentNo>, Error> {
    first(conn, BY_ID, [id.as_str()], |row| Ok(AgentNo(row.get(0)?)))
}

/// Reads a record from a row with the agent's name in the second column and the record's columns after it.
fn read(row: &Row<'_>) -> Result<AgentRecord, Error> {
    read_by(row, AgentRecord::from_row)
}

fn read_by(
    row: &Row<'_>,
    parse: impl FnOnce(AgentRow<'_>) -> Result<AgentRecord, serde_json::Error>,
) -> Result<AgentRecord, Error> {
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
    let mut record = parse(columns).map_err(|error| unreadable(error.to_string()))?;
    let is_named = text(1)? == Some(record.identity.agent_id.as_str());
    if !is_named {
        let other = &record.identity.agent_id;
        return Err(unreadable(format!(
            "its settings name another agent, {other}"
        )));
    }
    // The store itself may have recorded an event after the record was written.
    record.counters.events = row.get(9)?;
    Ok(record)
}

/// Reads the counters of a row, unless an earlier build wrote it.
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

/// Returns the name of a numbered agent.
pub(crate) fn id_of(conn: &Connection, no: AgentNo) -> Result<AgentId, Error> {
    let found = known_id_of(conn, no)?;
    found.ok_or_else(|| Error::contradiction(format!("there is no agent {no}")))
}

/// Returns the name of a numbered agent; `None` if there is none of this number.
pub(crate) fn known_id_of(conn: &Connection, no: AgentNo) -> Result<Option<AgentId>, Error> {
    let name: Option<String> = first(conn, ID_OF, [no.0], |row| Ok(row.get(0)?))?;
    name.map(|name| parse_id(&name)).transpose()
}

/// Parses a stored name.
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

/// Writes a new agent, whose events are numbered after `event_floor`.
pub(crate) fn insert(
    conn: &Connection,
    record: &AgentRecord,
    event_floor: u64,
) -> Result<AgentNo, Error> {
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
        no,
        event_floor
    ];
    run(conn, INSERT, values)?;
    Ok(AgentNo(no))
}

/// Tells the operator of rows whose agent number was never given out. No agent reads them, and nothing removes them.
pub(crate) fn report_strays(conn: &Connection) -> Result<(), Error> {
    let tables: Vec<String> = all(conn, STRAYS, [], |row| Ok(row.get(0)?))?;
    if !tables.is_empty() {
        let tables = tables.join(", ");
        tracing::error!(
            tables,
            "these tables hold rows with an agent number that was never given out; they are passed over"
        );
    }
    Ok(())
}

/// Notes the first generation of a new agent, by which it is told apart from others of its name.
pub(crate) fn note_birth(conn: &Connection, no: AgentNo, generation: u64) -> Result<(), Error> {
    run(conn, NOTE_BIRTH, params![no.0, generation])?;
    Ok(())
}

/// Returns the birth of an agent; `None` if there is no agent of this name.
pub(crate) fn birth(conn: &Connection, id: &AgentId) -> Result<Option<i64>, Error> {
    first(conn, BIRTH, [id.as_str()], |row| Ok(row.get(0)?))
}

/// A row of an earlier build in its parts.
pub(crate) struct UnsplitRow {
    record: AgentRecord,
    pub(crate) attempts: Vec<AttemptRecord>,
}

/// Reads an agent's row if an earlier build wrote it and it was not split since.
pub(crate) fn read_unsplit(conn: &Connection, no: AgentNo) -> Result<Option<UnsplitRow>, Error> {
    first(conn, UNSPLIT, [no.0], |row| {
        let text: String = row.get(0)?;
        let (record, attempts) =
            AgentRecord::split_legacy_row(&text).map_err(|error| Error::Row {
                table: "agents",
                key: no.to_string(),
                reason: error.to_string(),
            })?;
        Ok(UnsplitRow { record, attempts })
    })
}

/// Splits an agent's row if an earlier build wrote it: settings and attempts move to their own places. The decision
/// that is applied next rewrites the rest of the record.
pub(crate) fn split_row(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    let Some(UnsplitRow { record, attempts }) = read_unsplit(conn, no)? else {
        return Ok(());
    };
    write_settings(conn, no, &record.settings)?;
    for (n, attempt) in (1..).zip(&attempts) {
        attempts::keep(conn, no, n, attempt)?;
    }
    Ok(())
}

/// Writes an agent's settings and the columns derived from them.
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

/// Rewrites an agent's row after a decision, and returns the text of its state. `before` is the tally as it was read,
/// `after` the new one.
pub(crate) fn update(
    conn: &Connection,
    no: AgentNo,
    record: &AgentRecord,
    before: &Tally,
    after: &Tally,
) -> Result<String, Error> {
    let state = serde_json::to_string(record)?;
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
        state
    ];
    run(conn, UPDATE, values)?;
    let attention = needs_attention(record, after.pending);
    let chunks = after.event_bytes / CHUNK_BYTES;
    if attention != before.attention || chunks != before.event_chunks {
        run(conn, UPDATE_INDEXED, params![no.0, attention, chunks])?;
    }
    Ok(state)
}

/// Returns true if clients may see an agent. It is read from a column, so it works for an unreadable record too.
pub(crate) fn is_public(conn: &Connection, id: &AgentId) -> Result<bool, Error> {
    let visible: Option<bool> = first(conn, IS_VISIBLE, [id.as_str()], |row| Ok(row.get(0)?))?;
    Ok(visible.unwrap_or(false))
}

/// Reads the settings of an agent, also if its record is unreadable.
pub(crate) fn settings(conn: &Connection, id: &AgentId) -> Result<Option<AgentSettings>, Error> {
    first(conn, SETTINGS, [id.as_str()], |row| {
        json(row, 0, "agents", id)
    })
}

/// Returns a stored name if it is valid. Other rows are skipped, because they cannot be reported by name.
pub(crate) fn valid_name(name: Result<AgentId, Error>) -> Option<AgentId> {
    name.inspect_err(|error| tracing::warn!(%error, "an agent is passed over"))
        .ok()
}

fn is_visible(settings: &AgentSettings) -> bool {
    settings.identity.visibility == Visibility::Public
}
