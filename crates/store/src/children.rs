//! The children table: the agents that other agents made, for the limits of a tree and for removals.
//!
//! Invariant: a row exists from the decision of the parent that makes the agent until the agent's own row is removed.
//! `live` is an index: the agent's own decision to end clears it.

use crate::error::Error;
use crate::row::{AgentNo, all, first, limit, run};
use crate::{agents, briefs, tasks, work_items};
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::brief::BriefKind;
use holon_domain::delegation::{ChildFacts, SpawnRecord, TreeStanding};
use holon_domain::limits::{
    ENDED_CHILDREN_KEPT, EVENT_PREVIEW_BYTES, LIVE_CHILDREN, SPAWNS_PER_HOUR,
};
use holon_domain::{Timestamp, text};
use rusqlite::{Connection, params};

const INSERT: &str = "INSERT INTO children (root, parent, child, depth, supervised, live, spawned_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)";
pub(crate) const END: &str = "UPDATE children SET live = 0 WHERE child = ?1 AND live = 1";
/// Only a row of the agent's own parent counts: an agent that exists is also named by spawns that were refused for it.
pub(crate) const DEPTH: &str = "SELECT depth FROM children WHERE child = ?1 AND parent = ?2 \
     ORDER BY spawn_no DESC LIMIT 1";
pub(crate) const LIVE: &str =
    "SELECT count(*) FROM children WHERE root = ?1 AND supervised = 1 AND live = 1";
pub(crate) const NEWEST: &str =
    "SELECT spawned_at FROM children WHERE root = ?1 ORDER BY spawn_no DESC LIMIT ?2";
pub(crate) const OF_PARENT: &str = "SELECT child, live FROM children WHERE parent = ?1 AND supervised = 1 \
     ORDER BY spawn_no LIMIT ?2";
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
    let found = all(conn, OF_PARENT, bounds, |row| {
        let name: String = row.get(0)?;
        let live: bool = row.get(1)?;
        Ok(AgentId::parse_stored(&name).ok().map(|child| (child, live)))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Reads what an agent is shown of its child; `None` if it has no such child, or the child's rows cannot be read.
pub(crate) fn facts(
    conn: &Connection,
    parent: AgentNo,
    child: &AgentId,
) -> Result<Option<Box<ChildFacts>>, Error> {
    let found = match agents::by_id(conn, child) {
        Ok(found) => found,
        Err(error) if error.concerns_one_agent() => None,
        Err(error) => return Err(error),
    };
    let parent = agents::id_of(conn, parent)?;
    let is_own =
        |agent: &AgentRecord| agent.identity.lineage_parent_agent_id.as_ref() == Some(&parent);
    let Some((no, agent)) = found.filter(|(_, agent)| is_own(agent)) else {
        return Ok(None);
    };
    read_facts(conn, no, agent).map(|facts| Some(Box::new(facts)))
}

/// Reads the rows of a child beside its own.
fn read_facts(conn: &Connection, no: AgentNo, agent: AgentRecord) -> Result<ChildFacts, Error> {
    let current = agent.work.current.as_ref();
    let item = match current {
        Some(current) => work_items::one(conn, no, &current.id)?,
        None => None,
    };
    let task = match agent.active_tasks {
        0 => None,
        _ => tasks::active(conn, no)?.first().map(|task| task.status),
    };
    let (mut progress, mut result) = (None, None);
    for row in briefs::newest_rows(conn, no, BRIEFS_SEARCHED)? {
        let newest = match row.kind {
            BriefKind::Ack => &mut progress,
            BriefKind::Result | BriefKind::Failure => &mut result,
        };
        if newest.is_none() {
            let words = briefs::words_of(conn, no, row.text)?;
            *newest = Some(text::preview(words.trim(), EVENT_PREVIEW_BYTES));
        }
    }
    Ok(ChildFacts {
        pending: agents::tally(conn, no)?.pending,
        task,
        objective: item.map(|item| item.objective),
        last_progress_brief: progress,
        last_result_brief: result,
        agent,
    })
}
