//! The work_items table: every item of an agent, with the columns that lists and the scheduler use.

use crate::error::Error;
use crate::reader::Reader;
use crate::row::{AgentNo, Unreadable, all, first, json, limit, readable, run};
use holon_domain::intent::WorkItemFilter;
use holon_domain::limits::RECHECKS_PER_TICK;
use holon_domain::work_item::{
    STALLED_AFTER, WorkItemCursor, WorkItemRecord, WorkItemSchedulingState,
};
use holon_domain::{MessageId, Timestamp, WorkItemId};
use rusqlite::{Connection, Row, params};
use serde::Deserialize;

pub(crate) const WRITE: &str = "INSERT INTO work_items \
     (agent_no, work_item_id, class, changed, idle, wake_count, recheck_at, record) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (agent_no, work_item_id) DO UPDATE SET \
     class = ?3, changed = ?4, idle = ?5, wake_count = ?6, recheck_at = ?7, record = ?8";
/// Looks into the index of each agent that clients may see. No row is parsed.
const IS_PUBLIC: &str = "SELECT 1 FROM agents a CROSS JOIN work_items w ON w.agent_no = a.agent_no \
     AND w.work_item_id = ?1 WHERE a.visible = 1 LIMIT 1";
pub(crate) const ONE: &str = "SELECT work_item_id, record, changed, item_no FROM work_items \
     WHERE agent_no = ?1 AND work_item_id = ?2";
pub(crate) const NEXT: &str = "SELECT work_item_id, record FROM work_items \
     WHERE agent_no = ?1 AND class = 0 AND idle = ?2 AND wake_count BETWEEN ?3 AND ?4 \
     ORDER BY wake_count, changed LIMIT ?5";
pub(crate) const RECHECKS: &str = "SELECT work_item_id, record FROM work_items \
     WHERE agent_no = ?1 AND recheck_at IS NOT NULL ORDER BY recheck_at LIMIT ?2";
pub(crate) const LIST: &str = "SELECT work_item_id, record, changed, item_no FROM work_items \
     WHERE agent_no = ?1 AND (changed, item_no) < (?3, ?4) ORDER BY changed DESC, item_no DESC LIMIT ?2";
pub(crate) const LIST_CLASS: &str = "SELECT work_item_id, record, changed, item_no FROM work_items \
     WHERE agent_no = ?1 AND class = ?5 AND (changed, item_no) < (?3, ?4) \
     ORDER BY changed DESC, item_no DESC LIMIT ?2";
pub(crate) const OLDEST_RUNNABLE: &str = "SELECT work_item_id, record FROM work_items \
     WHERE agent_no = ?1 AND class = 0 ORDER BY changed LIMIT ?2";
pub(crate) const EXISTS: &str =
    "SELECT 1 FROM work_items WHERE agent_no = ?1 AND work_item_id = ?2";
pub(crate) const CLASS: &str =
    "SELECT class FROM work_items WHERE agent_no = ?1 AND work_item_id = ?2";
const COUNT: &str = "SELECT count(*) FROM work_items WHERE agent_no = ?1";
const COUNT_CLASS: &str = "SELECT count(*) FROM work_items WHERE agent_no = ?1 AND class = ?2";

/// Group of an item in lists, independent of its count of idle turns.
const fn class_of(state: WorkItemSchedulingState) -> i64 {
    match state {
        WorkItemSchedulingState::Runnable | WorkItemSchedulingState::Stalled => 0,
        WorkItemSchedulingState::WaitingOperator => 1,
        WorkItemSchedulingState::WaitingTask
        | WorkItemSchedulingState::WaitingExternal
        | WorkItemSchedulingState::WaitingTimer
        | WorkItemSchedulingState::Blocked => 2,
        WorkItemSchedulingState::Completed => 3,
    }
}

fn read(row: &Row<'_>) -> Result<WorkItemRecord, Error> {
    let id: String = row.get(0)?;
    json(row, 1, "work_items", id)
}

/// Writes a new or changed item.
pub(crate) fn write(conn: &Connection, no: AgentNo, item: &WorkItemRecord) -> Result<(), Error> {
    let counted = item.idle_turns;
    let recheck = item.recheck.as_ref();
    let come = recheck.filter(|recheck| recheck.due.is_none() && recheck.consumed_at.is_none());
    run(
        conn,
        WRITE,
        params![
            no.0,
            item.id.as_str(),
            class_of(item.scheduling_state(counted.wake_count)),
            item.updated_at.as_millis(),
            counted.count.min(STALLED_AFTER),
            counted.wake_count,
            come.map(|recheck| recheck.at.as_millis()),
            serde_json::to_string(item)?,
        ],
    )?;
    Ok(())
}

/// Returns true if an agent that clients may see has this item.
pub(crate) fn is_public(conn: &Connection, id: &WorkItemId) -> Result<bool, Error> {
    Ok(first(conn, IS_PUBLIC, [id.as_str()], |_| Ok(()))?.is_some())
}

/// Reads one item, open or completed.
pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    id: &WorkItemId,
    unreadable: Unreadable,
) -> Result<Option<WorkItemRecord>, Error> {
    unreadable.first(conn, ONE, params![no.0, id.as_str()], read)
}

/// Reads one item with its position in lists.
pub(crate) fn listed(
    reader: &Reader<'_>,
    no: AgentNo,
    id: &WorkItemId,
) -> Result<Option<ListedItem>, Error> {
    let values = params![no.0, id.as_str()];
    let read = |row: &Row<'_>| read_listed(reader, row);
    reader.unreadable().first(reader.conn(), ONE, values, read)
}

/// Returns true if an item with this id was ever created.
pub(crate) fn exists(conn: &Connection, no: AgentNo, id: &WorkItemId) -> Result<bool, Error> {
    let found = first(conn, EXISTS, params![no.0, id.as_str()], |_| Ok(()))?;
    Ok(found.is_some())
}

/// Returns true if an item is stored as completed.
pub(crate) fn is_completed(conn: &Connection, no: AgentNo, id: &WorkItemId) -> Result<bool, Error> {
    let class = first(conn, CLASS, params![no.0, id.as_str()], |row| {
        Ok(row.get::<_, i64>(0)?)
    })?;
    Ok(class == Some(class_of(WorkItemSchedulingState::Completed)))
}

/// Lists items that are neither blocked nor waiting, longest unchanged first, including stalled ones.
pub(crate) fn oldest_runnable(
    conn: &Connection,
    no: AgentNo,
    count: usize,
) -> Result<Vec<WorkItemRecord>, Error> {
    all(conn, OLDEST_RUNNABLE, params![no.0, limit(count)], read)
}

/// Items loaded for the next tick. One decision leaves out the current one and at most two that it changed.
const OFFERED: usize = 4;

/// Lists the items that a tick would offer first, fewest idle turns first and longest unchanged among those. Idle turns
/// counted before the agent's newest wake do not count.
pub(crate) fn next(
    conn: &Connection,
    no: AgentNo,
    wake_count: u64,
) -> Result<Vec<WorkItemRecord>, Error> {
    let before = i64::try_from(wake_count)
        .unwrap_or(i64::MAX)
        .saturating_sub(1);
    let now = before.saturating_add(1);
    // Number of idle turns, and the wakes at which they were counted.
    let fresh = std::iter::once((0, 0, now));
    let void = (1..=STALLED_AFTER).map(|idle| (idle, 0, before));
    let idle = (1..STALLED_AFTER).map(|idle| (idle, now, now));
    let mut found = Vec::new();
    for (idle, from, until) in fresh.chain(void).chain(idle) {
        let missing = limit(OFFERED - found.len());
        let values = params![no.0, idle, from, until, missing];
        found.extend(all(conn, NEXT, values, read)?);
        if found.len() >= OFFERED {
            break;
        }
    }
    Ok(found)
}

/// Lists the items whose recheck is due and was not shown yet, earliest first. Twice as many as one tick names: a
/// decision may learn that those were shown, and name the next.
pub(crate) fn due_rechecks(conn: &Connection, no: AgentNo) -> Result<Vec<WorkItemRecord>, Error> {
    all(
        conn,
        RECHECKS,
        params![no.0, limit(2 * RECHECKS_PER_TICK)],
        read,
    )
}

/// The classes that a filter shows; `None` for all.
const fn classes(filter: WorkItemFilter) -> Option<&'static [i64]> {
    match filter {
        WorkItemFilter::All => None,
        WorkItemFilter::Open | WorkItemFilter::Current => Some(&[0, 1, 2]),
        WorkItemFilter::Completed => Some(&[3]),
        // Of the items that wait or are blocked, the list keeps those without a blocker.
        WorkItemFilter::Queued => Some(&[0, 1, 2]),
        WorkItemFilter::Blocked => Some(&[2]),
        WorkItemFilter::WaitingForOperator => Some(&[1]),
        WorkItemFilter::Runnable => Some(&[0]),
    }
}

/// An item with its position in lists. Without the item, its record cannot be read.
pub(crate) type ListedItem = (WorkItemCursor, Option<WorkItemRecord>);

/// Reads an item. One that is passed over keeps its position, so that the next page begins where it would.
fn read_listed(reader: &Reader<'_>, row: &Row<'_>) -> Result<ListedItem, Error> {
    let cursor = WorkItemCursor {
        changed: Timestamp::from_millis(row.get(2)?),
        number: row.get(3)?,
    };
    let item = match reader.unreadable() {
        Unreadable::Fails => Some(read(row)?),
        Unreadable::IsPassedOver => readable(reader.conn(), read(row))?,
    };
    Ok((cursor, item))
}

/// Lists the items of a filter behind a position, newest change first.
pub(crate) fn behind(
    reader: &Reader<'_>,
    no: AgentNo,
    filter: WorkItemFilter,
    after: Option<WorkItemCursor>,
    count: usize,
) -> Result<Vec<ListedItem>, Error> {
    let (changed, number) = after.map_or((i64::MAX, i64::MAX), |after| {
        (after.changed.as_millis(), after.number)
    });
    let (conn, unreadable) = (reader.conn(), reader.unreadable());
    let read = |row: &Row<'_>| read_listed(reader, row);
    let Some(classes) = classes(filter) else {
        let values = params![no.0, limit(count), changed, number];
        return unreadable.all(conn, LIST, values, read);
    };
    let mut found = Vec::new();
    for class in classes {
        let values = params![no.0, limit(count), changed, number, class];
        found.extend(unreadable.all(conn, LIST_CLASS, values, read)?);
    }
    found.sort_by_key(|(cursor, _)| std::cmp::Reverse(*cursor));
    found.truncate(count);
    Ok(found)
}

/// The part of an item that names the message which asked for it.
#[derive(Deserialize)]
struct Origin {
    provenance: OriginMessage,
}

#[derive(Deserialize)]
struct OriginMessage {
    #[serde(default)]
    message_id: Option<MessageId>,
}

/// Lists the messages that asked for open items.
pub(crate) fn messages_of_open(conn: &Connection, no: AgentNo) -> Result<Vec<MessageId>, Error> {
    let mut found = Vec::new();
    for class in classes(WorkItemFilter::Open).into_iter().flatten() {
        let values = params![no.0, limit(i64::MAX), i64::MAX, i64::MAX, class];
        let of_class = all(conn, LIST_CLASS, values, |row| {
            let id: String = row.get(0)?;
            let origin: Origin = json(row, 1, "work_items", &id)?;
            Ok(origin.provenance.message_id)
        })?;
        found.extend(of_class.into_iter().flatten());
    }
    Ok(found)
}

/// Lists the items of a filter that changed last, newest first.
pub(crate) fn newest(
    reader: &Reader<'_>,
    no: AgentNo,
    filter: WorkItemFilter,
    count: usize,
) -> Result<Vec<WorkItemRecord>, Error> {
    let found = behind(reader, no, filter, None, count)?;
    Ok(found.into_iter().filter_map(|(_, item)| item).collect())
}

/// Reads a page of a list, newest change first, and the number of matching items. Counting reads an index entry for
/// each, so this is for requested lists and not for prompts.
pub(crate) fn list(
    reader: &Reader<'_>,
    no: AgentNo,
    filter: WorkItemFilter,
    count: usize,
) -> Result<(Vec<WorkItemRecord>, u64), Error> {
    let found = newest(reader, no, filter, count)?;
    Ok((found, count_matching(reader.conn(), no, filter)?))
}

/// Counts the items of a filter by an index entry for each.
pub(crate) fn count_matching(
    conn: &Connection,
    no: AgentNo,
    filter: WorkItemFilter,
) -> Result<u64, Error> {
    let Some(classes) = classes(filter) else {
        let total = first(conn, COUNT, [no.0], |row| Ok(row.get(0)?))?;
        return Ok(total.unwrap_or(0));
    };
    let mut total = 0_u64;
    for class in classes {
        let counted = first(conn, COUNT_CLASS, params![no.0, class], |row| {
            Ok(row.get::<_, u64>(0)?)
        })?;
        total += counted.unwrap_or(0);
    }
    Ok(total)
}
