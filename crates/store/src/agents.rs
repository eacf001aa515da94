//! The agents table: one row per agent with its record and the integers derived from it and from its other rows.
//!
//! Invariant: `pending`, `interjections`, the event bounds and `attention` are written only here, in the same write
//! as the rows they count. Other code uses them for nothing but these counts.

use crate::error::Error;
use crate::known_agents::KnownAgents;
use crate::row::{AgentNo, all, first, json, limit, run};
use crate::{attempts, effects};
use holon_domain::AgentId;
use holon_domain::agent::{
    AgentRecord, AgentRow, AgentSettings, Counters, Lifecycle, RunEnd, Visibility,
};
use holon_domain::attempt::AttemptRecord;
use holon_domain::timer::PlannedDue;
use rusqlite::{Connection, Row, params};

/// Unit of the accounting for retention. Whole chunks make the index change rarely.
pub(crate) const CHUNK_BYTES: u64 = 64 << 10;

/// Columns of a record, in the order that `read` expects.
macro_rules! record_columns {
    () => {
        "record, settings, newest_message, newest_entry, newest_brief, newest_effect, newest_turn, newest_event"
    };
}

/// Column in `BY_ID` and `VISIBLE` with the reason why an agent was put aside.
const ASIDE: usize = 10;
/// Column of an agent's number in lists of all agents.
const NUMBER: usize = 11;

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
/// Finds an agent number that no table uses. Rows of an agent whose own row is gone must not become another agent's.
pub(crate) const FREE_NO: &str = "SELECT 1 + max(coalesce((SELECT max(agent_no) FROM agents), 0), \
     coalesce((SELECT max(agent_no) FROM messages), 0), coalesce((SELECT max(agent_no) FROM log), 0), \
     coalesce((SELECT max(agent_no) FROM briefs), 0), coalesce((SELECT max(agent_no) FROM events), 0), \
     coalesce((SELECT max(agent_no) FROM effects), 0), coalesce((SELECT max(agent_no) FROM due), 0), \
     coalesce((SELECT max(agent_no) FROM tasks), 0), coalesce((SELECT max(agent_no) FROM attempts), 0), \
     coalesce((SELECT max(agent_no) FROM blob_refs), 0), coalesce((SELECT max(agent_no) FROM interjections), 0))";
const INSERT: &str = "INSERT INTO agents (agent_no, agent_id, visible, attention, pending, interjections, oldest_event, \
     newest_event, event_bytes, event_chunks, record, settings, newest_message, newest_entry, newest_brief, newest_effect, \
     newest_turn, interjections_listed) VALUES (?11, ?1, ?2, ?3, 0, 0, ?12 + 1, ?12, 0, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1)";
const NOTE_BIRTH: &str = "UPDATE agents SET birth = ?2 WHERE agent_no = ?1";
pub(crate) const BIRTH: &str = "SELECT birth FROM agents WHERE agent_id = ?1";
pub(crate) const ATTENTION: &str = "SELECT agent_id FROM agents WHERE attention = 1 AND agent_id > ?1 AND aside IS NULL ORDER BY agent_id LIMIT ?2";
/// Agents with open effects, for boot. The table holds open effects only, so the query starts there.
const WITH_EFFECT: &str = "SELECT DISTINCT a.agent_id FROM effects e CROSS JOIN agents a ON a.agent_no = e.agent_no \
     WHERE a.agent_id > ?1 AND a.aside IS NULL ORDER BY a.agent_id LIMIT ?2";
pub(crate) const IS_VISIBLE: &str = "SELECT visible FROM agents WHERE agent_id = ?1";
pub(crate) const SETTINGS: &str = "SELECT settings FROM agents WHERE agent_id = ?1";
pub(crate) const ASIDE_PRIVATE: &str = "SELECT agent_id, settings FROM agents WHERE attention = 1 AND visible = 0 \
     AND aside IS NOT NULL ORDER BY agent_id LIMIT ?1";
const VISIBLE: &str = concat!(
    "SELECT pending, agent_id, ",
    record_columns!(),
    ", aside, agent_no FROM agents WHERE visible = 1 ORDER BY agent_id"
);
const EVERY: &str = concat!(
    "SELECT pending, agent_id, ",
    record_columns!(),
    ", aside, agent_no FROM agents ORDER BY agent_id"
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

fn refuse_aside(row: &Row<'_>, id: &AgentId) -> Result<(), Error> {
    match row.get(ASIDE)? {
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
    let name: Option<String> = first(conn, ID_OF, [no.0], |row| Ok(row.get(0)?))?;
    name.map_or_else(
        || Err(Error::contradiction(format!("there is no agent {no}"))),
        |name| parse_id(&name),
    )
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

/// Returns a page of the agents that boot must recover, by name: with open or queued work, in a transition, or with
/// open effects.
pub(crate) fn to_recover(
    conn: &Connection,
    after: Option<&AgentId>,
    count: usize,
) -> Result<Vec<AgentId>, Error> {
    let after = after.map_or("", AgentId::as_str);
    let page = |sql| {
        all(conn, sql, params![after, limit(count)], |row| {
            Ok(valid_name(parse_id(
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

/// Lists the first temporary agents that were put aside, by name. An agent with unreadable settings is not known to be
/// temporary and stays.
pub(crate) fn temporary_aside(conn: &Connection, count: usize) -> Result<Vec<AgentId>, Error> {
    let found = all(conn, ASIDE_PRIVATE, [limit(count)], |row| {
        let id = valid_name(parse_id(row.get_ref(0)?.as_str().unwrap_or_default()));
        let settings: Result<AgentSettings, Error> = json(row, 1, "agents", "settings");
        let run = settings.ok().and_then(|settings| settings.run);
        Ok(id.filter(|_| run.is_some_and(|run| run.when_over == RunEnd::Remove)))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// An agent in the list of all agents. An unreadable row does not hide the others.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedAgent {
    pub agent_id: AgentId,
    /// Number of queued messages.
    pub pending: u64,
    /// The record, or the error that makes it unreadable.
    pub record: Result<AgentRecord, Error>,
    /// Reason for which it was put aside; absent if it was not.
    pub aside: Option<String>,
    /// Its soonest entries in the due-queue. Empty if its row names every time that may wake it.
    pub soonest: Vec<PlannedDue>,
}

/// Lists the visible agents by name.
pub(crate) fn list_visible(conn: &Connection) -> Result<Vec<ListedAgent>, Error> {
    list(conn, VISIBLE)
}

/// Lists every agent by name, private ones too.
pub(crate) fn list_every(conn: &Connection) -> Result<Vec<ListedAgent>, Error> {
    list(conn, EVERY)
}

fn list(conn: &Connection, query: &str) -> Result<Vec<ListedAgent>, Error> {
    let listed = all(conn, query, [], |row| {
        let name: String = row.get(1)?;
        let pending: i64 = row.get(0)?;
        let Some(agent_id) = valid_name(parse_id(&name)) else {
            return Ok(None);
        };
        let record = read(row);
        let may_wake = |record: &AgentRecord| record.work.may_have_due();
        // An entry that cannot be read is left out of the list; the due loop puts its agent aside.
        let soonest = match record.as_ref().is_ok_and(may_wake) {
            true => effects::soonest(conn, AgentNo(row.get(NUMBER)?)).unwrap_or_default(),
            false => Vec::new(),
        };
        Ok(Some(ListedAgent {
            agent_id,
            pending: u64::try_from(pending).unwrap_or(0),
            record,
            aside: row.get(ASIDE)?,
            soonest,
        }))
    })?;
    Ok(listed.into_iter().flatten().collect())
}

/// Returns a stored name if it is valid. Other rows are skipped, because they cannot be reported by name.
fn valid_name(name: Result<AgentId, Error>) -> Option<AgentId> {
    name.inspect_err(|error| tracing::warn!(%error, "an agent is passed over"))
        .ok()
}

fn is_visible(settings: &AgentSettings) -> bool {
    settings.identity.visibility == Visibility::Public
}

/// Returns true if boot must recover the agent: it has open or queued work, or is in a transition.
pub(crate) fn needs_attention(record: &AgentRecord, pending: u64) -> bool {
    let in_passing = match record.lifecycle {
        Lifecycle::Booting | Lifecycle::Deleting => true,
        Lifecycle::Runnable | Lifecycle::Stopped => false,
    };
    in_passing || pending > 0 || record.open_turn.is_some() || record.is_removed_with_process()
}

#[cfg(test)]
mod tests;
