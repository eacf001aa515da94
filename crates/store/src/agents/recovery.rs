//! The agents that boot must look at: with open or queued work, with open effects, in a transition, or temporary and
//! put aside.

use super::{parse_id, valid_name};
use crate::error::Error;
use crate::row::{AgentNo, all, first, json, limit};
use holon_domain::AgentId;
use holon_domain::agent::{AgentRecord, AgentSettings, Lifecycle, RunEnd};
use rusqlite::{Connection, params};

pub(crate) const ATTENTION: &str = "SELECT agent_no FROM agents WHERE attention = 1 AND agent_no > ?1 \
     AND agent_no <= ?2 ORDER BY agent_no LIMIT ?3";
/// Agents with open effects, for boot. The table holds open effects only, and a page begins where the last one ended.
pub(crate) const WITH_EFFECT: &str = "SELECT DISTINCT agent_no FROM effects WHERE agent_no > ?1 AND agent_no <= ?2 ORDER BY agent_no LIMIT ?3";
const NEWEST_NO: &str = "SELECT max(agent_no) FROM agents";
pub(crate) const UNLESS_ASIDE: &str =
    "SELECT agent_id FROM agents WHERE agent_no = ?1 AND aside IS NULL";
pub(crate) const ASIDE_PRIVATE: &str = "SELECT agent_id, settings FROM agents WHERE attention = 1 AND visible = 0 \
     AND aside IS NOT NULL ORDER BY agent_no LIMIT ?1";

/// A page of the agents that boot must recover.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecoveryPage {
    pub agents: Vec<AgentId>,
    /// Where the next page begins; absent behind the last one. A page may be shorter than asked for and not the last.
    pub next: Option<RecoveryCursor>,
}

/// A position between two pages of the agents that boot must recover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryCursor {
    after: AgentNo,
    /// Newest agent when the first page was read. Agents that recovery itself makes are not recovered.
    through: AgentNo,
}

/// Returns a page of the agents that boot must recover, by number: with open or queued work, in a transition, or with
/// open effects. The pages together read each row once. An agent whose name cannot be read is passed over.
pub(crate) fn to_recover(
    conn: &Connection,
    from: Option<RecoveryCursor>,
    count: usize,
) -> Result<RecoveryPage, Error> {
    let cursor = match from {
        Some(cursor) => cursor,
        None => {
            let newest = first(conn, NEWEST_NO, [], |row| Ok(row.get(0)?))?;
            RecoveryCursor {
                after: AgentNo(i64::MIN),
                through: AgentNo(newest.flatten().unwrap_or(0)),
            }
        }
    };
    let page = |sql| {
        let bounds = params![cursor.after.0, cursor.through.0, limit(count)];
        all(conn, sql, bounds, |row| Ok(AgentNo(row.get(0)?)))
    };
    let mut found = page(ATTENTION)?;
    found.extend(page(WITH_EFFECT)?);
    found.sort_unstable();
    found.dedup();
    found.truncate(count);
    let last = found.last().filter(|_| found.len() >= count);
    let next = last.map(|last| RecoveryCursor {
        after: *last,
        ..cursor
    });
    let mut agents = Vec::new();
    for no in found {
        let name = first(conn, UNLESS_ASIDE, [no.0], |row| {
            Ok(valid_name(parse_id(
                row.get_ref(0)?.as_str().unwrap_or_default(),
            )))
        })?;
        agents.extend(name.flatten());
    }
    Ok(RecoveryPage { agents, next })
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

/// Returns true if boot must recover the agent: it has open or queued work, or is in a transition.
pub(crate) fn needs_attention(record: &AgentRecord, pending: u64) -> bool {
    let in_passing = match record.lifecycle {
        Lifecycle::Booting | Lifecycle::Deleting => true,
        Lifecycle::Runnable | Lifecycle::Stopped => false,
    };
    // What an archived agent has queued is never taken up.
    let has_queued = pending > 0 && record.archived_at.is_none();
    in_passing || has_queued || record.open_turn.is_some() || record.is_removed_with_process()
}
