//! The memory_outbox table: which sources of memory changed, for the background feeding of each agent's index.
//!
//! An entry is written in the commit of its source. A source has at most one entry, so an outbox that nobody reads is no
//! longer than the tables it speaks of.

use crate::error::Error;
use crate::row::{AgentNo, all, first, limit, run};
use crate::work_items;
use holon_domain::decision::{BriefSeq, Fact};
use holon_domain::limits::EPISODES_OF_COMPLETED_ITEM;
use holon_domain::memory::{EpisodeSeq, MemoryKind};
use holon_domain::work_item::WorkItemState;
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

pub(crate) const EPISODES_OF_ITEM: &str = "SELECT seq FROM episodes \
     WHERE agent_no = ?1 AND work_item_id = ?2 ORDER BY seq DESC LIMIT ?3";

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
    fn of(fact: &Fact) -> Option<Self> {
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

/// Lists the sources whose documents a fact is about to change. An item that is completed takes the open ends of its
/// episodes back, so their documents change with it.
pub(crate) fn changed_by(
    conn: &Connection,
    no: AgentNo,
    fact: &Fact,
) -> Result<Vec<MemorySource>, Error> {
    let mut sources: Vec<MemorySource> = MemorySource::of(fact).into_iter().collect();
    if let Fact::WorkItemWritten(item) = fact
        && item.state == WorkItemState::Completed
        && !work_items::is_completed(conn, no, &item.id)?
    {
        let most = limit(EPISODES_OF_COMPLETED_ITEM);
        let values = params![no.0, item.id.as_str(), most];
        sources.extend(all(conn, EPISODES_OF_ITEM, values, |row| {
            Ok(MemorySource::Episode(row.get(0)?))
        })?);
    }
    Ok(sources)
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
    use super::*;
    use crate::db::Db;
    use crate::memory_index::MemoryIndex;
    use crate::samples::{Scribe, at, id, work_item};
    use holon_domain::memory::{
        EpisodeBoundary, EpisodeContent, EpisodeRecord, MemorySearch, SourceRef,
    };
    use holon_domain::work_item::WorkItemRecord;
    use holon_domain::{AgentId, EpisodeId};

    fn follow(db: &Db, index: &mut MemoryIndex, agent: &AgentId) {
        let owner = db.reader().memory_owner(agent).unwrap().expect("an agent");
        while let Some(batch) = db.reader().memory_batch(agent, index.position()).unwrap() {
            index.apply(&owner, batch).unwrap();
        }
    }

    /// An episode that ended with open work.
    fn episode(seq: EpisodeSeq, item: &WorkItemRecord) -> EpisodeRecord {
        EpisodeRecord {
            id: EpisodeId::from_stored(format!("ep_{seq}")),
            seq,
            agent_id: item.agent_id.clone(),
            created_at: at(1_000),
            boundary_reason: EpisodeBoundary::ActiveWorkSwitched,
            content: EpisodeContent {
                workspace_id: item.workspace_id.clone(),
                start_turn_index: seq,
                end_turn_index: seq,
                start_message_count: 0,
                end_message_count: 1,
                current_work_item_id: Some(item.id.clone()),
                objective: Some("the lantern".to_owned()),
                work_summary: None,
                scope_hints: Vec::new(),
                working_set_files: Vec::new(),
                commands: Vec::new(),
                verification: Vec::new(),
                decisions: Vec::new(),
                carry_forward: vec!["light the lantern".to_owned()],
                waiting_on: Vec::new(),
            },
            summary: "turn 1: the lantern\nleft to do: light the lantern".to_owned(),
        }
    }

    #[test]
    fn the_memory_of_an_episode_follows_the_later_completion_of_its_item() {
        let mut db = Db::in_memory().unwrap();
        let mut scribe = Scribe::new("a");
        let no = db.write(|tx| tx.create_agent(&scribe.record)).unwrap();
        let (agent, mut item) = (id("a"), work_item(&id("a"), "lantern"));
        let archived = episode(1, &item);
        let source = SourceRef::episode(&archived.id);
        scribe.fact(Fact::WorkItemWritten(Box::new(item.clone())));
        scribe.fact(Fact::EpisodeArchived(Box::new(archived)));
        let decision = scribe.event().decide();
        db.write(|tx| tx.apply(no, &decision)).unwrap();

        let owner = db.reader().memory_owner(&agent).unwrap().expect("an agent");
        let mut index = MemoryIndex::in_memory(&owner).unwrap();
        follow(&db, &mut index, &agent);
        let search = MemorySearch {
            query: "lantern".to_owned(),
            limit: 10,
            include_all_workspaces: true,
        };
        let workspace = item.workspace_id.clone();
        let told = |index: &mut MemoryIndex| {
            let found = index.search(&search, &workspace, at(2_000));
            let hits = found.unwrap().hits;
            let hit = hits.iter().find(|hit| hit.provenance.source_ref == source);
            let snippet = hit.expect("the episode is found").snippet.clone();
            (index.get(&source).unwrap().unwrap().body, snippet)
        };
        let (body, snippet) = told(&mut index);
        assert!(body.contains("light the lantern"), "{body}");
        assert!(snippet.contains("light the lantern"), "{snippet}");

        item.state = WorkItemState::Completed;
        for revision in 2..4 {
            item.revision = revision;
            scribe.fact(Fact::WorkItemWritten(Box::new(item.clone())));
            let decision = scribe.event().decide();
            db.write(|tx| tx.apply(no, &decision)).unwrap();
            let pending = db.reader().memory_pending(&agent, index.position());
            let expected = if revision == 2 { 2 } else { 1 };
            assert_eq!(pending, Ok(expected), "the completion alone changes it");
            follow(&db, &mut index, &agent);
            let (body, snippet) = told(&mut index);
            assert!(body.contains("the lantern"), "{body}");
            for text in [body, snippet] {
                assert!(!text.contains("light the lantern"), "{text}");
                assert!(!text.to_lowercase().contains("left to do"), "{text}");
            }
        }
    }

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
