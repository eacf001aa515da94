//! Lists of agents by name.

use super::{aside_reason, parse_id, read, record_columns, valid_name};
use crate::effects;
use crate::error::Error;
use crate::row::{AgentNo, Unreadable, all, limit};
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::limits::AGENTS_READ_AT_ONCE;
use holon_domain::timer::PlannedDue;
use rusqlite::{Connection, Row, params};

/// Column of an agent's number in lists of all agents.
const NUMBER: usize = 11;

const VISIBLE: &str = concat!(
    "SELECT pending, agent_id, ",
    record_columns!(),
    ", aside, agent_no FROM agents WHERE visible = 1 ORDER BY agent_id"
);
pub(crate) const VISIBLE_AFTER: &str = concat!(
    "SELECT pending, agent_id, ",
    record_columns!(),
    ", aside, agent_no FROM agents WHERE visible = 1 AND agent_id > ?1 ORDER BY agent_id LIMIT ?2"
);
pub(crate) const EVERY_AFTER: &str = concat!(
    "SELECT pending, agent_id, ",
    record_columns!(),
    ", aside, agent_no FROM agents WHERE agent_id > ?1 ORDER BY agent_id LIMIT ?2"
);

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
    let listed = all(conn, VISIBLE, [], |row| read_listed(conn, row))?;
    Ok(listed.into_iter().flatten().collect())
}

/// A page of the list of agents.
#[derive(Debug)]
pub struct AgentPage {
    pub agents: Vec<ListedAgent>,
    /// Name after which the next page begins; absent on the last one.
    pub next: Option<String>,
}

/// Lists a page of the agents that clients may see, by name. A row whose name cannot be read takes its place on the page.
pub(crate) fn visible_after(
    conn: &Connection,
    after: &str,
    count: usize,
) -> Result<AgentPage, Error> {
    page(conn, VISIBLE_AFTER, after, count)
}

/// Lists a page of all agents by name, private ones too.
pub(crate) fn every_after(
    conn: &Connection,
    after: &str,
    count: usize,
) -> Result<AgentPage, Error> {
    page(conn, EVERY_AFTER, after, count)
}

fn page(
    conn: &Connection,
    sql: &'static str,
    after: &str,
    count: usize,
) -> Result<AgentPage, Error> {
    let rows = all(conn, sql, params![after, limit(count)], |row| {
        let name = row.get_ref(1)?.as_str().unwrap_or_default().to_owned();
        Ok((name, read_listed(conn, row)?))
    })?;
    let last = rows.last().map(|(name, _)| name.clone());
    // A name that is no text sorts behind all others, so no readable one is left.
    let next = last.filter(|name| rows.len() == count && !name.is_empty());
    let agents = rows.into_iter().filter_map(|(_, listed)| listed).collect();
    Ok(AgentPage { agents, next })
}

/// Lists every agent by name, private ones too.
pub(crate) fn list_every(conn: &Connection) -> Result<Vec<ListedAgent>, Error> {
    let mut listed = Vec::new();
    let mut after = Some(String::new());
    while let Some(from) = after {
        let page = every_after(conn, &from, AGENTS_READ_AT_ONCE)?;
        listed.extend(page.agents);
        after = page.next;
    }
    Ok(listed)
}

fn read_listed(conn: &Connection, row: &Row<'_>) -> Result<Option<ListedAgent>, Error> {
    let name = row.get_ref(1)?.as_str().unwrap_or_default();
    let pending: i64 = row.get(0)?;
    let Some(agent_id) = valid_name(parse_id(name)) else {
        return Ok(None);
    };
    let record = read(row);
    let may_wake = |record: &AgentRecord| record.work.may_have_due();
    // An entry that cannot be read is passed over; the due loop puts its agent aside.
    let soonest = match record.as_ref().is_ok_and(may_wake) {
        true => {
            let no = AgentNo(row.get(NUMBER)?);
            effects::soonest(conn, no, Unreadable::IsPassedOver)?
        }
        false => Vec::new(),
    };
    Ok(Some(ListedAgent {
        agent_id,
        pending: u64::try_from(pending).unwrap_or(0),
        record,
        aside: aside_reason(row),
        soonest,
    }))
}
