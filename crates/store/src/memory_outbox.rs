//! The memory_outbox table: which sources of memory changed, for the background feeding of each agent's index.
//!
//! An entry is written in the commit of its source. A source has at most one entry, so an outbox that nobody reads is no
//! longer than the tables it speaks of.

use crate::error::Error;
use crate::row::{AgentNo, all, first, limit, run};
use holon_domain::decision::{BriefSeq, Fact};
use holon_domain::memory::{EpisodeSeq, MemoryKind};
use holon_domain::{BriefId, WorkItemId};
use rusqlite::{Connection, params};

/// The next position is above every entry and every removed one, so none is given out twice.
const ADD: &str = "INSERT OR REPLACE INTO memory_outbox (agent_no, position, kind, source) VALUES (?1, 1 + max( \
     coalesce((SELECT max(position) FROM memory_outbox WHERE agent_no = ?1), 0), \
     coalesce((SELECT memory_taken FROM agents WHERE agent_no = ?1), 0)), ?2, ?3)";
pub(crate) const NEWEST: &str = "SELECT max(position) FROM memory_outbox WHERE agent_no = ?1";
pub(crate) const TAKEN: &str = "SELECT memory_taken FROM agents WHERE agent_no = ?1";
pub(crate) const AFTER: &str = "SELECT position, kind, source FROM memory_outbox \
     WHERE agent_no = ?1 AND position > ?2 ORDER BY position LIMIT ?3";
pub(crate) const WAITING: &str =
    "SELECT count(*) FROM memory_outbox WHERE agent_no = ?1 AND position > ?2";
pub(crate) const REMOVE: &str = "DELETE FROM memory_outbox WHERE agent_no = ?1 AND position IN \
     (SELECT position FROM memory_outbox WHERE agent_no = ?1 AND position <= ?2 ORDER BY position LIMIT ?3)";
pub(crate) const NOTE_TAKEN: &str =
    "UPDATE agents SET memory_taken = max(memory_taken, ?2) WHERE agent_no = ?1";
/// Agents with an entry, each found by one step over the key.
const AGENTS: &str = "SELECT agent_id FROM agents a WHERE EXISTS \
     (SELECT 1 FROM memory_outbox o WHERE o.agent_no = a.agent_no) ORDER BY agent_id LIMIT ?1";

const EVERY_AGENT: &str =
    "SELECT agent_id FROM agents WHERE agent_id > ?1 AND aside IS NULL ORDER BY agent_id LIMIT ?2";

/// Key of a source in its own table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemorySource {
    Brief(BriefSeq),
    WorkItem(WorkItemId),
    Episode(EpisodeSeq),
    /// A brief that retention removed. Its row is gone, so the entry holds its id.
    RemovedBrief(BriefId),
}

impl MemorySource {
    /// Returns the source that a fact writes; `None` for facts that memory does not hold.
    pub(crate) fn of(fact: &Fact) -> Option<Self> {
        match fact {
            Fact::BriefWritten { seq, .. } => Some(Self::Brief(*seq)),
            Fact::WorkItemWritten(item) => Some(Self::WorkItem(item.id.clone())),
            Fact::EpisodeArchived(episode) => Some(Self::Episode(episode.seq)),
            _ => None,
        }
    }

    const fn code(&self) -> i64 {
        match self {
            Self::Brief(_) => 2,
            Self::Episode(_) => 3,
            Self::WorkItem(_) => 4,
            Self::RemovedBrief(_) => 5,
        }
    }

    fn key(&self) -> String {
        match self {
            Self::Brief(seq) | Self::Episode(seq) => seq.to_string(),
            Self::WorkItem(id) => id.as_str().to_owned(),
            Self::RemovedBrief(id) => id.as_str().to_owned(),
        }
    }

    /// Reads an entry. `None` for a kind of a later build.
    fn read(code: i64, key: String) -> Option<Self> {
        match code {
            2 => key.parse().ok().map(Self::Brief),
            3 => key.parse().ok().map(Self::Episode),
            4 => Some(Self::WorkItem(WorkItemId::from_stored(key))),
            5 => Some(Self::RemovedBrief(BriefId::from_stored(key))),
            _ => None,
        }
    }

    pub(crate) const fn kind(&self) -> MemoryKind {
        match self {
            Self::Brief(_) | Self::RemovedBrief(_) => MemoryKind::Brief,
            Self::WorkItem(_) => MemoryKind::WorkItem,
            Self::Episode(_) => MemoryKind::Episode,
        }
    }
}

/// Notes in the commit of a source that it was written.
pub(crate) fn add(conn: &Connection, no: AgentNo, source: &MemorySource) -> Result<(), Error> {
    run(conn, ADD, params![no.0, source.code(), source.key()])?;
    Ok(())
}

/// Newest position that was ever given out, and the newest one whose entry was removed.
pub(crate) fn ends(conn: &Connection, no: AgentNo) -> Result<(u64, u64), Error> {
    let taken = first(conn, TAKEN, [no.0], |row| Ok(row.get::<_, u64>(0)?))?.unwrap_or(0);
    let newest = first(
        conn,
        NEWEST,
        [no.0],
        |row| Ok(row.get::<_, Option<u64>>(0)?),
    )?;
    Ok((newest.flatten().unwrap_or(0).max(taken), taken))
}

/// Reads entries behind a position, oldest first.
pub(crate) fn after(
    conn: &Connection,
    no: AgentNo,
    position: u64,
    count: usize,
) -> Result<Vec<(u64, Option<MemorySource>)>, Error> {
    all(conn, AFTER, params![no.0, position, limit(count)], |row| {
        Ok((row.get(0)?, MemorySource::read(row.get(1)?, row.get(2)?)))
    })
}

/// Counts the entries behind a position.
pub(crate) fn waiting(conn: &Connection, no: AgentNo, position: u64) -> Result<u64, Error> {
    let count = first(
        conn,
        WAITING,
        params![no.0, position],
        |row| Ok(row.get(0)?),
    )?;
    Ok(count.unwrap_or(0))
}

/// Removes the oldest entries up to a position that the index has taken, at most `bound`. Returns their number.
pub(crate) fn prune(
    conn: &Connection,
    no: AgentNo,
    position: u64,
    bound: u64,
) -> Result<u64, Error> {
    let (newest, _) = ends(conn, no)?;
    run(conn, NOTE_TAKEN, params![no.0, position.min(newest)])?;
    let removed = run(conn, REMOVE, params![no.0, position, limit(bound)])?;
    Ok(removed as u64)
}

/// Lists agents with entries, by name.
pub(crate) fn agents(conn: &Connection, count: usize) -> Result<Vec<String>, Error> {
    all(conn, AGENTS, [limit(count)], |row| Ok(row.get(0)?))
}

/// Lists agents behind a name, by name. Those that are aside are left out.
pub(crate) fn every_agent(
    conn: &Connection,
    after: &str,
    count: usize,
) -> Result<Vec<String>, Error> {
    all(conn, EVERY_AGENT, params![after, limit(count)], |row| {
        Ok(row.get(0)?)
    })
}

#[cfg(test)]
mod tests {
    use crate::db::Db;
    use crate::samples::{Scribe, id};

    #[test]
    fn every_agent_is_listed_in_pages_by_name() {
        let mut db = Db::in_memory().unwrap();
        for name in ["c", "a", "b"] {
            let record = Scribe::new(name).record;
            db.write(|tx| tx.create_agent(&record)).unwrap();
        }
        let reader = db.reader();
        let page = |after: Option<&str>| {
            let after = after.map(id);
            reader.memory_agents(after.as_ref(), 2).unwrap()
        };
        assert_eq!(page(None), [id("a"), id("b")]);
        assert_eq!(page(Some("b")), [id("c")]);
        assert_eq!(page(Some("c")), []);
    }
}
