//! The children table: the agents that other agents made, for the limits of a tree and for removals. The spawns table: how
//! often each tree made one in the last hour. Belongs to the host, because a removed child was made all the same.
//!
//! Invariant: a row of a child exists from the decision of the parent that makes the agent until the agent's own row is
//! removed. `live` is an index: the agent's own decision to end clears it.

use crate::error::Error;
use crate::row::{AgentNo, Unreadable, all, all_readable, first, json, limit, readable, run};
use crate::{agents, aside, briefs, tasks, work_items};
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::brief::BriefKind;
use holon_domain::delegation::{ChildFacts, SpawnRecord, TreeStanding};
use holon_domain::limits::{
    ENDED_CHILDREN_KEPT, EVENT_PREVIEW_BYTES, LIVE_CHILDREN, SPAWNS_PER_HOUR,
};
use holon_domain::{Timestamp, text};
use rusqlite::{Connection, Row, params};
use serde::Deserialize;

const INSERT: &str = "INSERT INTO children (root, parent, child, depth, supervised, live, spawned_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)";
pub(crate) const END: &str = "UPDATE children SET live = 0 WHERE child = ?1 AND live = 1";
/// Only a row of the agent's own parent counts: an agent that exists is also named by spawns that were refused for it.
/// An agent that owns itself has no depth, whatever an earlier build wrote.
pub(crate) const DEPTH: &str = "SELECT depth FROM children WHERE child = ?1 AND +parent = ?2 AND supervised = 1 \
     ORDER BY spawn_no DESC LIMIT 1";
pub(crate) const IS_LIVE_CHILD: &str =
    "SELECT 1 FROM children WHERE child = ?1 AND supervised = 1 AND live = 1";
pub(crate) const LIVE: &str =
    "SELECT count(*) FROM children WHERE root = ?1 AND supervised = 1 AND live = 1";
pub(crate) const NEWEST: &str =
    "SELECT spawned_at FROM spawns WHERE root = ?1 ORDER BY spawn_no DESC LIMIT ?2";
const COUNT: &str = "INSERT INTO spawns (root, spawned_at) VALUES (?1, ?2)";
/// Each spawn forgets a few that lie more than an hour back, or ahead of a clock that was set back.
pub(crate) const FORGET: &str = "DELETE FROM spawns WHERE spawn_no IN \
     (SELECT spawn_no FROM spawns WHERE spawned_at <= ?1 ORDER BY spawned_at LIMIT 4)";
pub(crate) const FORGET_AHEAD: &str = "DELETE FROM spawns WHERE spawn_no IN \
     (SELECT spawn_no FROM spawns WHERE spawned_at >= ?1 ORDER BY spawned_at DESC LIMIT 4)";
const HOUR_MS: i64 = 3_600_000;
pub(crate) const OF_PARENT: &str = "SELECT child, live FROM children WHERE parent = ?1 AND supervised = 1 \
     ORDER BY spawn_no LIMIT ?2";
/// Supervised children whose parent has no row. Boot walks the index of parents once.
pub(crate) const ORPHANS: &str = "SELECT c.child, c.parent, c.spawn_no FROM children c \
     WHERE c.supervised = 1 AND c.spawn_no > ?1 \
     AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = c.parent) \
     AND EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = c.child) ORDER BY c.spawn_no LIMIT ?2";
/// Every row of an agent with the name it is found by and the settings that name it too; `record` only of the rows of an
/// earlier build, which have the settings in it.
const NAMES: &str = "SELECT agent_no, agent_id, aside IS NOT NULL, settings, \
     CASE WHEN settings IS NULL THEN record END FROM agents";
/// Most children in one read: the kept ones, and those that a few spawns have not removed yet.
const CHILDREN_READ: usize = 2 * (ENDED_CHILDREN_KEPT + LIVE_CHILDREN as usize);
/// Briefs that are searched for the newest notice and outcome of a child.
const BRIEFS_SEARCHED: usize = 8;

/// Writes a new agent of another one.
pub(crate) fn write(conn: &Connection, spawn: &SpawnRecord) -> Result<(), Error> {
    let row = params![
        spawn.root.as_str(),
        spawn.parent.as_str(),
        spawn.child.as_str(),
        spawn.depth,
        spawn.supervised,
        spawn.spawned_at.as_millis()
    ];
    run(conn, INSERT, row)?;
    let at = spawn.spawned_at.as_millis();
    run(conn, FORGET, [at.saturating_sub(HOUR_MS)])?;
    run(conn, FORGET_AHEAD, [at.saturating_add(HOUR_MS)])?;
    run(conn, COUNT, params![spawn.root.as_str(), at])?;
    Ok(())
}

/// Notes that an agent has ended.
pub(crate) fn end(conn: &Connection, child: &AgentId) -> Result<(), Error> {
    run(conn, END, [child.as_str()])?;
    Ok(())
}

/// Reads the place of an agent in its tree.
pub(crate) fn standing(conn: &Connection, no: AgentNo) -> Result<TreeStanding, Error> {
    let id = agents::id_of(conn, no)?;
    let identity = agents::settings(conn, &id)?.map(|settings| settings.identity);
    let (root, parent) = identity.map_or((None, None), |identity| {
        (identity.root_agent_id, identity.lineage_parent_agent_id)
    });
    let root = root.unwrap_or_else(|| id.clone());
    let depth: Option<u32> = match parent {
        Some(parent) => first(conn, DEPTH, [id.as_str(), parent.as_str()], |row| {
            Ok(row.get(0)?)
        })?,
        None => None,
    };
    let live: Option<u32> = first(conn, LIVE, [root.as_str()], |row| Ok(row.get(0)?))?;
    let newest = params![root.as_str(), limit(SPAWNS_PER_HOUR)];
    let spawned = all(conn, NEWEST, newest, |row| {
        Ok(Timestamp::from_millis(row.get(0)?))
    })?;
    Ok(TreeStanding {
        depth: depth.unwrap_or(0),
        live: live.unwrap_or(0),
        spawned,
        children: of_parent(conn, &id)?,
    })
}

/// Lists the supervised children of an agent in the order they were made, each with true if it has not ended.
pub(crate) fn of_parent(conn: &Connection, id: &AgentId) -> Result<Vec<(AgentId, bool)>, Error> {
    let bounds = params![id.as_str(), limit(CHILDREN_READ)];
    all_readable(conn, OF_PARENT, bounds, |row| {
        let name: String = row.get(0)?;
        Ok((agents::parse_id(&name)?, row.get(1)?))
    })
}

/// Returns true if an agent is a supervised child that has not ended.
pub(crate) fn is_live_child(conn: &Connection, id: &AgentId) -> Result<bool, Error> {
    let found = first(conn, IS_LIVE_CHILD, [id.as_str()], |_| Ok(()))?;
    Ok(found.is_some())
}

/// Lists the children that go with an agent: each has a row and was made by it. A child whose settings cannot be read
/// counts by the row of the tree alone.
pub(crate) fn removed_with(conn: &Connection, id: &AgentId) -> Result<Vec<AgentId>, Error> {
    let mut found = Vec::new();
    for (child, _) in of_parent(conn, id)? {
        if is_child_of(conn, &child, id)? {
            found.push(child);
        }
    }
    Ok(found)
}

/// A page of the supervised children whose parent has no row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrphanPage {
    /// Children whose parent is gone.
    pub children: Vec<AgentId>,
    /// Children whose parent may be an agent with a damaged row. They must be kept.
    pub kept: Vec<AgentId>,
    /// Where the next page begins; absent behind the last one.
    pub next: Option<i64>,
}

/// Lists children whose parent has no row. A row of the tree that contradicts the settings of the child is damaged, so
/// it does not count. While any agent cannot be told by its row, no parent is known to be gone: a removal cannot be
/// undone.
pub(crate) fn orphans(conn: &Connection, after: i64, count: usize) -> Result<OrphanPage, Error> {
    let rows = all_readable(conn, ORPHANS, params![after, limit(count)], |row| {
        let (child, parent): (String, String) = (row.get(0)?, row.get(1)?);
        let named = agents::valid_name(agents::parse_id(&child))
            .zip(agents::valid_name(agents::parse_id(&parent)));
        let spawn_no: i64 = row.get(2)?;
        Ok((named, spawn_no))
    })?;
    let last = rows.last().map(|(_, spawn_no)| *spawn_no);
    let next = last.filter(|_| rows.len() >= count);
    let mut children = Vec::new();
    for (child, parent) in rows.into_iter().filter_map(|(named, _)| named) {
        if is_child_of(conn, &child, &parent)? {
            children.push(child);
        }
    }
    let mut page = OrphanPage {
        next,
        ..OrphanPage::default()
    };
    if !children.is_empty() && is_any_agent_doubtful(conn)? {
        page.kept = children;
    } else {
        page.children = children;
    }
    Ok(page)
}

/// The part of an agent's settings, and of the record of an earlier build, that names it.
#[derive(Deserialize)]
struct Named {
    identity: NamedIdentity,
}

#[derive(Deserialize)]
struct NamedIdentity {
    agent_id: AgentId,
}

/// Returns true if the row of any agent cannot tell whose it is: the agent is aside, or its settings name no agent or
/// another one. Such a row is kept for the operator.
fn is_any_agent_doubtful(conn: &Connection) -> Result<bool, Error> {
    let rows = all(conn, NAMES, [], |row| {
        Ok(readable(conn, read_name(row))?.is_some())
    })?;
    Ok(rows.contains(&false))
}

fn read_name(row: &Row<'_>) -> Result<(), Error> {
    let doubtful = |reason: &str| Error::Row {
        table: "agents",
        key: row.get::<_, i64>(0).unwrap_or_default().to_string(),
        reason: format!("{reason}, so children without a parent are kept"),
    };
    let name = row.get_ref(1)?.as_str();
    let name = name.map_err(|_| doubtful("its name is no text"))?;
    if row.get(2)? {
        return Err(doubtful("the agent is put aside"));
    }
    let column = if row
        .get_ref(3)?
        .as_str_or_null()
        .is_ok_and(|text| text.is_none())
    {
        4
    } else {
        3
    };
    let named: Named =
        json(row, column, "agents", name).map_err(|_| doubtful("its settings cannot be read"))?;
    if named.identity.agent_id.as_str() != name {
        return Err(doubtful("its settings name another agent"));
    }
    Ok(())
}

/// Returns true if a child named by a row of the tree has a row of its own, and its settings name the same parent or
/// cannot be read.
fn is_child_of(conn: &Connection, child: &AgentId, parent: &AgentId) -> Result<bool, Error> {
    if agents::number_of(conn, child)?.is_none() {
        return Ok(false);
    }
    let settings = readable(conn, agents::settings(conn, child))?.flatten();
    Ok(settings
        .is_none_or(|settings| settings.identity.lineage_parent_agent_id.as_ref() == Some(parent)))
}

/// Reads what an agent is shown of its child; `None` if it has no such child, or the child's own row cannot be read.
///
/// A fault in the rows of the child is never an error of its parent: what cannot be read is left out.
pub(crate) fn facts(
    conn: &Connection,
    parent: AgentNo,
    child: &AgentId,
) -> Result<Option<Box<ChildFacts>>, Error> {
    let found = readable(conn, agents::by_id(conn, child))?.flatten();
    let parent = agents::id_of(conn, parent)?;
    let is_own =
        |agent: &AgentRecord| agent.identity.lineage_parent_agent_id.as_ref() == Some(&parent);
    let Some((no, agent)) = found.filter(|(_, agent)| is_own(agent)) else {
        return Ok(None);
    };
    let facts = readable(conn, read_facts(conn, no, agent))?;
    Ok(facts.map(Box::new))
}

/// Reads the rows of a child beside its own. Those that cannot be read are left out.
fn read_facts(conn: &Connection, no: AgentNo, agent: AgentRecord) -> Result<ChildFacts, Error> {
    let current = agent.work.current.as_ref();
    let passed_over = Unreadable::IsPassedOver;
    let item = match current {
        Some(current) => work_items::one(conn, no, &current.id, passed_over)?,
        None => None,
    };
    let task = match agent.active_tasks {
        0 => None,
        _ => tasks::active(conn, no, passed_over)?
            .first()
            .map(|task| task.status),
    };
    let (mut progress, mut result) = (None, None);
    for row in briefs::newest_readable(conn, no, BRIEFS_SEARCHED)? {
        let newest = match row.kind {
            BriefKind::Ack => &mut progress,
            BriefKind::Result | BriefKind::Failure => &mut result,
        };
        if newest.is_none() {
            let words = readable(conn, briefs::words_of(conn, no, row.text))?;
            *newest = words.map(|words| text::preview(words.trim(), EVENT_PREVIEW_BYTES));
        }
    }
    Ok(ChildFacts {
        pending: agents::tally(conn, no)?.pending,
        task,
        objective: item.map(|item| item.objective),
        last_progress_brief: progress,
        last_result_brief: result,
        aside: aside::reason(conn, &agent.identity.agent_id)?,
        agent,
    })
}

#[cfg(test)]
mod tests;
