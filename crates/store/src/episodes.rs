//! The tables working_memory and episodes: what an agent remembers of its own work.

use crate::error::Error;
use crate::row::{AgentNo, Unreadable, all, first, json, limit, run, short_text};
use crate::work_items;
use holon_domain::WorkItemId;
use holon_domain::limits::EPISODE_CANDIDATES;
use holon_domain::memory::{EpisodeRecord, EpisodeSeq, WorkingMemoryState};
use holon_domain::work_item::WorkItemState;
use rusqlite::{Connection, Row, params};

const REPLACE: &str = "INSERT INTO working_memory (agent_no, record) VALUES (?1, ?2) \
     ON CONFLICT (agent_no) DO UPDATE SET record = ?2";
pub(crate) const MEMORY: &str = "SELECT record FROM working_memory WHERE agent_no = ?1";
const ARCHIVE: &str =
    "INSERT INTO episodes (agent_no, seq, work_item_id, record) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const ONE: &str = "SELECT seq, record FROM episodes WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const BEFORE: &str =
    "SELECT seq, record FROM episodes WHERE agent_no = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
pub(crate) const AFTER: &str =
    "SELECT seq, record FROM episodes WHERE agent_no = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
pub(crate) const OF_ITEM: &str = "SELECT seq, record FROM episodes \
     WHERE agent_no = ?1 AND work_item_id = ?2 ORDER BY seq DESC LIMIT ?3";

/// Replaces the working memory of an agent.
pub(crate) fn write_memory(
    conn: &Connection,
    no: AgentNo,
    state: &WorkingMemoryState,
) -> Result<(), Error> {
    run(conn, REPLACE, params![no.0, short_text(state)?])?;
    Ok(())
}

/// Returns the working memory of an agent, empty before the first turn has ended.
pub(crate) fn memory(conn: &Connection, no: AgentNo) -> Result<WorkingMemoryState, Error> {
    let found = first(conn, MEMORY, [no.0], |row| {
        json(row, 0, "working_memory", no.0)
    })?;
    Ok(found.unwrap_or_default())
}

/// Writes an episode. A position that is taken is an error of the decision.
pub(crate) fn archive(
    conn: &Connection,
    no: AgentNo,
    episode: &EpisodeRecord,
) -> Result<(), Error> {
    let item = episode.content.current_work_item_id.as_ref();
    let item = item.map(WorkItemId::as_str);
    let text = short_text(episode)?;
    run(conn, ARCHIVE, params![no.0, episode.seq, item, text])?;
    Ok(())
}

pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    seq: EpisodeSeq,
) -> Result<Option<EpisodeRecord>, Error> {
    first(conn, ONE, params![no.0, seq], |row| {
        settled(conn, no, read(row)?)
    })
}

/// Returns episodes before a position, the newest first.
pub(crate) fn before(
    conn: &Connection,
    no: AgentNo,
    before: EpisodeSeq,
    count: usize,
) -> Result<Vec<EpisodeRecord>, Error> {
    all(
        conn,
        BEFORE,
        params![no.0, limit(before), limit(count)],
        |row| settled(conn, no, read(row)?),
    )
}

/// Returns episodes behind a position, the oldest first.
pub(crate) fn after(
    conn: &Connection,
    no: AgentNo,
    after: EpisodeSeq,
    count: usize,
) -> Result<Vec<EpisodeRecord>, Error> {
    let range = params![no.0, limit(after), limit(count)];
    all(conn, AFTER, range, |row| settled(conn, no, read(row)?))
}

/// Returns the episodes that a prompt may show: the newest ones, and the newest ones of a work item. Newest first, each
/// once. A row that cannot be read is left out, because a prompt does without it.
pub(crate) fn candidates(
    conn: &Connection,
    no: AgentNo,
    item: Option<&WorkItemId>,
) -> Result<Vec<EpisodeRecord>, Error> {
    let most = limit(EPISODE_CANDIDATES);
    let mut found: Vec<EpisodeRecord> = Vec::new();
    let mut take = |rows: Vec<Option<EpisodeRecord>>| {
        for row in rows.into_iter().flatten() {
            if found.iter().all(|known| known.seq != row.seq) {
                found.push(row);
            }
        }
    };
    take(all(conn, BEFORE, params![no.0, i64::MAX, most], lenient)?);
    if let Some(item) = item {
        take(all(
            conn,
            OF_ITEM,
            params![no.0, item.as_str(), most],
            lenient,
        )?);
    }
    found.sort_by_key(|episode| std::cmp::Reverse(episode.seq));
    let found = found.into_iter();
    found.map(|episode| settled(conn, no, episode)).collect()
}

/// Returns an episode as it is told today: nothing is left to do of an item that was completed since.
fn settled(
    conn: &Connection,
    no: AgentNo,
    mut episode: EpisodeRecord,
) -> Result<EpisodeRecord, Error> {
    let item = episode.content.current_work_item_id.as_ref();
    let item = item
        .map(|id| work_items::one(conn, no, id, Unreadable::Fails))
        .transpose();
    let state = match item {
        Ok(item) => item.flatten().map(|item| item.state),
        Err(error) if error.concerns_one_agent() => None,
        Err(error) => return Err(error),
    };
    if state == Some(WorkItemState::Completed) {
        episode.forget_open_ends();
    }
    Ok(episode)
}

fn read(row: &Row<'_>) -> Result<EpisodeRecord, Error> {
    let seq: EpisodeSeq = row.get(0)?;
    json(row, 1, "episodes", seq)
}

fn lenient(row: &Row<'_>) -> Result<Option<EpisodeRecord>, Error> {
    match read(row) {
        Err(error) if error.concerns_one_agent() => Ok(None),
        read => read.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::memory_index::IndexPosition;
    use crate::memory_reads::EpisodeRange;
    use crate::samples::{Scribe, at, id};
    use holon_domain::WorkspaceId;
    use holon_domain::decision::Fact;
    use holon_domain::memory::{EpisodeBoundary, EpisodeContent, MemoryKind};

    fn episode(seq: EpisodeSeq, item: Option<&str>) -> EpisodeRecord {
        EpisodeRecord {
            id: holon_domain::EpisodeId::from_stored(format!("ep_{seq}")),
            seq,
            agent_id: id("a"),
            created_at: at(1_000),
            boundary_reason: EpisodeBoundary::WaitBoundary,
            content: EpisodeContent {
                workspace_id: WorkspaceId::from_stored("ws-1"),
                start_turn_index: seq,
                end_turn_index: seq,
                start_message_count: seq - 1,
                end_message_count: seq,
                current_work_item_id: item.map(WorkItemId::from_stored),
                objective: None,
                work_summary: None,
                scope_hints: Vec::new(),
                working_set_files: vec!["src/lantern.rs".to_owned()],
                commands: Vec::new(),
                verification: Vec::new(),
                decisions: Vec::new(),
                carry_forward: Vec::new(),
                waiting_on: Vec::new(),
            },
            summary: format!("the lantern was lit for the {seq}. time"),
        }
    }

    /// A store with an agent that has archived these episodes.
    fn stored(items: &[Option<&str>]) -> (Db, AgentNo) {
        let mut db = Db::in_memory().unwrap();
        let mut scribe = Scribe::new("a");
        let no = db.write(|tx| tx.create_agent(&scribe.record)).unwrap();
        for (place, item) in items.iter().enumerate() {
            let archived = episode(place as u64 + 1, *item);
            scribe.fact(Fact::EpisodeArchived(Box::new(archived)));
        }
        let decision = scribe.event().decide();
        db.write(|tx| tx.apply(no, &decision)).unwrap();
        (db, no)
    }

    fn seqs(episodes: &[EpisodeRecord]) -> Vec<EpisodeSeq> {
        episodes.iter().map(|episode| episode.seq).collect()
    }

    #[test]
    fn an_episode_of_a_completed_item_leaves_nothing_to_do() {
        let mut db = Db::in_memory().unwrap();
        let mut scribe = Scribe::new("a");
        let no = db.write(|tx| tx.create_agent(&scribe.record)).unwrap();
        let mut done = crate::samples::work_item(&id("a"), "done");
        done.state = WorkItemState::Completed;
        let open = crate::samples::work_item(&id("a"), "open");
        for (seq, item) in [(1, done), (2, open)] {
            let mut archived = episode(seq, Some(item.id.as_str()));
            archived.summary = "turn 1: the lantern\nleft to do: light it".to_owned();
            archived.content.carry_forward = vec!["light it".to_owned()];
            scribe.fact(Fact::WorkItemWritten(Box::new(item)));
            scribe.fact(Fact::EpisodeArchived(Box::new(archived)));
        }
        let decision = scribe.event().decide();
        db.write(|tx| tx.apply(no, &decision)).unwrap();
        let found = candidates(db.reader().conn(), no, None).unwrap();
        let left: Vec<_> = found
            .iter()
            .map(|episode| (episode.seq, episode.summary.contains("light it")))
            .collect();
        assert_eq!(left, [(2, true), (1, false)]);
    }

    #[test]
    fn the_working_memory_is_one_row_that_is_replaced() {
        let mut db = Db::in_memory().unwrap();
        let mut scribe = Scribe::new("a");
        let no = db.write(|tx| tx.create_agent(&scribe.record)).unwrap();
        assert_eq!(db.reader().working_memory(no).unwrap(), Default::default());
        for revision in 1..4 {
            let state = WorkingMemoryState {
                working_memory_revision: revision,
                ..WorkingMemoryState::default()
            };
            scribe.fact(Fact::WorkingMemoryWritten(Box::new(state.clone())));
            let decision = scribe.event().decide();
            db.write(|tx| tx.apply(no, &decision)).unwrap();
            assert_eq!(db.reader().working_memory(no).unwrap(), state);
        }
        let rows = "SELECT count(*) FROM working_memory";
        let count: u64 = db
            .reader()
            .conn()
            .query_row(rows, [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn episodes_are_read_in_pages_and_by_their_item() {
        let (db, no) = stored(&[Some("work_1"), None, Some("work_2"), None]);
        let reader = db.reader();
        let page = |range| seqs(&reader.episodes(&id("a"), range).unwrap());
        assert_eq!(page(EpisodeRange::Before(EpisodeSeq::MAX, 3)), [4, 3, 2]);
        assert_eq!(page(EpisodeRange::Before(2, 3)), [1]);
        assert_eq!(page(EpisodeRange::After(1, 2)), [2, 3]);
        assert_eq!(
            reader
                .episodes(&id("b"), EpisodeRange::After(0, 9))
                .unwrap(),
            []
        );
        let item = WorkItemId::from_stored("work_1");
        let many = vec![None; EPISODE_CANDIDATES];
        let long = [&[Some("work_1")][..], &many].concat();
        let (db, no_of_long) = stored(&long);
        assert_eq!(no, no_of_long);
        let chosen = candidates(db.reader().conn(), no, Some(&item)).unwrap();
        assert_eq!(
            chosen.len(),
            EPISODE_CANDIDATES + 1,
            "the oldest is of the item"
        );
        assert_eq!(chosen.last().unwrap().seq, 1);
        let chosen = candidates(db.reader().conn(), no, None).unwrap();
        assert_eq!(chosen.len(), EPISODE_CANDIDATES);
    }

    #[test]
    fn a_position_is_given_to_one_episode() {
        let (mut db, no) = stored(&[None]);
        let again = episode(1, None);
        assert!(db.write(|tx| archive(tx.conn(), no, &again)).is_err());
    }

    #[test]
    fn an_episode_is_a_source_of_memory_in_a_rebuild_and_as_a_change() {
        let (db, _) = stored(&[Some("work_1"), None]);
        let reader = db.reader();
        let batch = |position: &IndexPosition| reader.memory_batch(&id("a"), position).unwrap();
        let change = batch(&IndexPosition::Following { cursor: 0 }).unwrap();
        let building = IndexPosition::Building {
            cursor: 0,
            kind: MemoryKind::Episode,
            after: None,
        };
        for batch in [change, batch(&building).unwrap()] {
            let mut found: Vec<_> = batch
                .changes
                .into_iter()
                .filter_map(|c| c.document)
                .collect();
            found.sort_by_key(|document| document.provenance.source_ref.clone());
            let refs: Vec<String> = found
                .iter()
                .map(|document| document.provenance.source_ref.key())
                .collect();
            assert_eq!(refs, ["episode:ep_1", "episode:ep_2"]);
            assert!(found[0].body.contains("the lantern was lit"));
            assert!(found[0].body.contains("src/lantern.rs"));
            assert_eq!(found[0].provenance.metadata["work_item_id"], "work_1");
        }
    }
}
