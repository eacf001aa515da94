//! The index as a whole: files that are not what they should be, steps from the store, scopes and hostile queries.

use super::samples::{document, owner, put};
use super::{
    IndexFault, IndexOwner, IndexPosition, IndexState, MemoryBatch, MemoryIndex, examine_index,
};
use crate::db::Db;
use crate::samples::{Scribe, id, work_item};
use holon_domain::brief::BriefText;
use holon_domain::decision::Fact;
use holon_domain::limits::{MEMORY_CATCH_UP_STEP, MEMORY_QUERY_BYTES, MEMORY_REBUILD_STEP};
use holon_domain::memory::{CuratedFile, MemoryKind, MemorySearch, SourceRef};
use holon_domain::{AgentId, BriefId, Timestamp, WorkspaceId};
use proptest::prelude::*;
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

const NOW: Timestamp = Timestamp::from_millis(1_794_700_000_000);

fn brief(number: usize) -> SourceRef {
    SourceRef::brief(&BriefId::from_stored(format!("brief_{number}")))
}

fn file(home: &Path) -> PathBuf {
    home.join(".holon/indexes/memory.sqlite3")
}

fn open(home: &Path) -> MemoryIndex {
    MemoryIndex::open(home, &owner())
        .expect("opens")
        .expect("a home")
}

fn ask(index: &mut MemoryIndex, query: &str) -> Vec<String> {
    let search = MemorySearch {
        query: query.to_owned(),
        limit: 10,
        include_all_workspaces: false,
    };
    let found = index.search(&search, &WorkspaceId::from_stored("ws-1"), NOW);
    let hits = found.expect("searches").hits;
    hits.iter()
        .map(|hit| hit.provenance.source_ref.key())
        .collect()
}

/// An index with one brief, written to a home.
fn filled(home: &Path) {
    put(
        &mut open(home),
        vec![document(brief(1), 1, "the lease was renewed")],
    );
}

#[test]
fn an_index_is_kept_and_a_home_that_is_not_there_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    assert!(
        MemoryIndex::open(&dir.path().join("none"), &owner())
            .unwrap()
            .is_none()
    );
    assert!(!dir.path().join("none").exists());
    filled(dir.path());
    assert_eq!(ask(&mut open(dir.path()), "lease"), ["brief:brief_1"]);
    assert!(!dir.path().join(".holon/indexes/memory.dirty").exists());
}

#[test]
fn briefs_with_the_same_text_are_one_result() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let same = |number, at| document(brief(number), at, "the lease was renewed");
    let other = document(brief(3), 3, "the lease was renewed again");
    put(&mut index, vec![same(1, 1), same(2, 2), other]);
    let found = ask(&mut index, "lease renewed");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.contains(&"brief:brief_1".to_owned()), "the newer one");
}

#[test]
fn a_look_at_an_index_tells_its_state_and_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(examine_index(dir.path()), Ok(IndexState::Absent));
    assert!(!dir.path().join(".holon").exists());
    filled(dir.path());
    assert_eq!(examine_index(dir.path()), Ok(IndexState::Complete));
    let marker = dir.path().join(".holon/indexes/memory.dirty");
    fs::write(&marker, "").unwrap();
    assert_eq!(examine_index(dir.path()), Ok(IndexState::Unfinished));
    fs::remove_file(&marker).unwrap();
    for suffix in ["-wal", "-shm"] {
        let beside = format!(".holon/indexes/memory.sqlite3{suffix}");
        drop(fs::remove_file(dir.path().join(beside)));
    }
    fs::write(file(dir.path()), "x".repeat(8_192)).unwrap();
    let fault = examine_index(dir.path());
    assert!(
        matches!(fault, Err(IndexFault::Unsound { .. })),
        "{fault:?}"
    );
    fs::remove_file(file(dir.path())).unwrap();
    symlink("elsewhere", file(dir.path())).unwrap();
    let fault = examine_index(dir.path());
    assert!(
        matches!(fault, Err(IndexFault::Unsound { .. })),
        "{fault:?}"
    );
}

#[test]
fn a_damaged_foreign_or_linked_file_is_replaced_and_nothing_else_is_touched() {
    let garbage: fn(&Path) = |path| fs::write(path, "x".repeat(8_192)).unwrap();
    let empty: fn(&Path) = |path| fs::write(path, "").unwrap();
    let cut: fn(&Path) = |path| {
        let whole = fs::read(path).unwrap();
        fs::write(path, &whole[..whole.len() / 2]).unwrap();
    };
    let trigger: fn(&Path) = |path| {
        let conn = Connection::open(path).unwrap();
        let sql = "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END";
        conn.execute_batch(sql).unwrap();
    };
    let other_version: fn(&Path) = |path| {
        Connection::open(path)
            .unwrap()
            .execute_batch("PRAGMA user_version = 99")
            .unwrap();
    };
    let link: fn(&Path) = |path| {
        let target = path.with_file_name("target");
        fs::rename(path, &target).unwrap();
        symlink(&target, path).unwrap();
    };
    for spoil in [garbage, empty, cut, trigger, other_version, link] {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path());
        for suffix in ["-wal", "-shm"] {
            drop(fs::remove_file(
                dir.path()
                    .join(format!(".holon/indexes/memory.sqlite3{suffix}")),
            ));
        }
        spoil(&file(dir.path()));
        let mut index = open(dir.path());
        assert_eq!(index.position(), &IndexPosition::Empty);
        assert_eq!(index.documents().unwrap(), 0);
        assert!(dir.path().join(".holon/indexes/memory.dirty").exists());
        put(&mut index, vec![document(brief(2), 1, "lease again")]);
        assert_eq!(ask(&mut index, "lease"), ["brief:brief_2"]);
        let linked = dir.path().join(".holon/indexes/target");
        if linked.exists() {
            let rows = Connection::open(linked).unwrap();
            let count: i64 = rows
                .query_row("SELECT count(*) FROM documents", [], |row| row.get(0))
                .unwrap();
            assert_eq!(count, 1, "the target of the link was not changed");
        }
    }
}

#[test]
fn a_pipe_beside_the_index_is_replaced_with_it_and_not_waited_for() {
    for companion in ["-journal", "-wal", "-shm"] {
        let home = tempfile::tempdir().unwrap();
        drop(open(home.path()));
        let mut name = file(home.path()).into_os_string();
        name.push(companion);
        let pipe = PathBuf::from(name);
        fs::remove_file(&pipe).ok();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        drop(open(home.path()));
        let kind = fs::symlink_metadata(&pipe).map(|found| found.is_file());
        assert!(kind.unwrap_or(true), "{companion} is no pipe any more");
    }
}

#[test]
fn pages_damaged_in_the_middle_are_told_as_an_unsound_index() {
    let dir = tempfile::tempdir().unwrap();
    let documents =
        (0..400).map(|n| document(brief(n), 1, &format!("lease number {n} of many words")));
    put(&mut open(dir.path()), documents.collect());
    let path = file(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    let half = bytes.len() / 4;
    bytes[half..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let search = MemorySearch {
        query: "lease".to_owned(),
        limit: 10,
        include_all_workspaces: true,
    };
    let outcome = MemoryIndex::open(dir.path(), &owner()).and_then(|index| {
        index
            .expect("a home")
            .search(&search, &WorkspaceId::from_stored("ws-1"), NOW)
    });
    // Either the open has replaced it, or the search has noticed.
    match outcome {
        Ok(found) => assert!(found.hits.is_empty()),
        Err(fault) => assert!(matches!(fault, IndexFault::Unsound { .. }), "{fault}"),
    }
    MemoryIndex::discard(dir.path()).unwrap();
    assert_eq!(open(dir.path()).documents().unwrap(), 0);
}

#[test]
fn an_index_that_another_process_holds_is_reported_as_locked_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let holder = Connection::open(file(dir.path())).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM state WHERE key = 'none'").unwrap();
    let mut index = match MemoryIndex::open(dir.path(), &owner()) {
        Ok(index) => index.unwrap(),
        Err(fault) => {
            assert_eq!(fault, IndexFault::Locked);
            drop(holder);
            assert_eq!(ask(&mut open(dir.path()), "lease"), ["brief:brief_1"]);
            return;
        }
    };
    let change = super::SourceChange {
        source_ref: brief(1),
        document: None,
    };
    assert_eq!(index.write(&[change]), Err(IndexFault::Locked));
    drop(holder);
    assert_eq!(ask(&mut index, "lease"), ["brief:brief_1"]);
}

#[test]
fn an_index_of_another_agent_or_store_is_built_anew() {
    let dir = tempfile::tempdir().unwrap();
    let others = [
        IndexOwner {
            birth: 2,
            ..owner()
        },
        IndexOwner {
            epoch: "other".to_owned(),
            ..owner()
        },
        IndexOwner {
            agent_id: AgentId::parse_stored("other").unwrap(),
            ..owner()
        },
    ];
    for other in others {
        filled(dir.path());
        let index = MemoryIndex::open(dir.path(), &other).unwrap().unwrap();
        assert_eq!(index.documents().unwrap(), 0, "{other:?}");
        drop(index);
    }
}

#[test]
fn a_marker_that_somebody_puts_beside_a_complete_index_asks_for_a_rebuild() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    assert!(matches!(
        open(dir.path()).position(),
        IndexPosition::Following { .. }
    ));
    fs::write(dir.path().join(".holon/indexes/memory.dirty"), "").unwrap();
    assert_eq!(open(dir.path()).position(), &IndexPosition::Empty);
}

/// Takes steps until there is nothing to do. Returns their number.
fn catch_up(db: &Db, index: &mut MemoryIndex, agent: &AgentId) -> usize {
    let reader = db.reader();
    let owner = reader.memory_owner(agent).unwrap().expect("an agent");
    let mut steps = 0;
    while let Some(batch) = reader.memory_batch(agent, index.position()).unwrap() {
        index.apply(&owner, batch).unwrap();
        steps += 1;
        assert!(steps < 100, "no end");
    }
    steps
}

fn with_briefs(count: usize) -> (Db, crate::AgentNo, Scribe) {
    let mut scribe = Scribe::new("a");
    let mut db = Db::in_memory().unwrap();
    let no = db.write(|tx| tx.create_agent(&scribe.record)).unwrap();
    for number in 0..count {
        scribe.brief(BriefText::Words(format!("brief about topic{number}")));
    }
    let decision = scribe.decide();
    db.write(|tx| tx.apply(no, &decision)).unwrap();
    (db, no, scribe)
}

#[test]
fn an_index_is_built_in_bounded_steps_and_then_follows_every_commit() {
    let total = MEMORY_REBUILD_STEP * 2 + 10;
    let (mut db, no, mut scribe) = with_briefs(total);
    let agent = id("a");
    let owner = db.reader().memory_owner(&agent).unwrap().unwrap();
    let mut index = MemoryIndex::in_memory(&owner).unwrap();
    let reader = db.reader();
    let first = reader
        .memory_batch(&agent, index.position())
        .unwrap()
        .unwrap();
    assert!(first.restarts && first.changes.is_empty());
    index.apply(&owner, first).unwrap();
    while let Some(batch) = reader.memory_batch(&agent, index.position()).unwrap() {
        assert!(batch.changes.len() <= MEMORY_REBUILD_STEP);
        index.apply(&owner, batch).unwrap();
    }
    assert_eq!(index.documents().unwrap(), total as u64);
    assert!(matches!(index.position(), IndexPosition::Following { .. }));
    // The newest are found, and a changed work item replaces its document.
    let mut item = work_item(&agent, "x");
    item.objective = "Renew the lease".to_owned();
    scribe.fact(Fact::WorkItemWritten(Box::new(item.clone())));
    scribe.brief(BriefText::Words("the quarterly figures".to_owned()));
    let decision = scribe.decide();
    db.write(|tx| tx.apply(no, &decision)).unwrap();
    assert_eq!(
        db.reader()
            .memory_pending(&agent, index.position())
            .unwrap(),
        2
    );
    assert_eq!(catch_up(&db, &mut index, &agent), 1);
    assert_eq!(ask_all(&mut index, "quarterly figures").len(), 1);
    assert_eq!(
        ask_all(&mut index, "renew lease"),
        [SourceRef::work_item(&item.id).key()]
    );
    item.objective = "Renew the contract".to_owned();
    scribe.fact(Fact::WorkItemWritten(Box::new(item)));
    let decision = scribe.decide();
    db.write(|tx| tx.apply(no, &decision)).unwrap();
    catch_up(&db, &mut index, &agent);
    assert_eq!(ask_all(&mut index, "lease"), Vec::<String>::new());
    assert_eq!(ask_all(&mut index, "renew contract").len(), 1);
}

#[test]
fn a_step_that_begins_anew_leaves_an_empty_index_in_a_new_file() {
    let dir = tempfile::tempdir().unwrap();
    for home in [Some(dir.path()), None] {
        let mut index = match home {
            Some(home) => open(home),
            None => MemoryIndex::in_memory(&owner()).unwrap(),
        };
        let curated = SourceRef::curated(CuratedFile::SelfModel);
        put(
            &mut index,
            vec![
                document(brief(1), 1, "the lease"),
                document(curated, 1, "the lease"),
            ],
        );
        // Held open, so that the number of the old file is not given to the new one.
        let old = home.map(|home| fs::File::open(file(home)).unwrap());
        let position = IndexPosition::Building {
            cursor: 1,
            kind: MemoryKind::WorkItem,
            after: None,
        };
        let restart = MemoryBatch {
            restarts: true,
            changes: Vec::new(),
            position: position.clone(),
            pending: 0,
        };
        index.apply(&owner(), restart).unwrap();
        assert_eq!(index.documents().unwrap(), 0);
        let Some((home, old)) = home.zip(old) else {
            continue;
        };
        let number = |found: fs::Metadata| found.ino();
        let new = fs::metadata(file(home)).map(number).unwrap();
        assert_ne!(old.metadata().map(number).unwrap(), new);
        assert!(MemoryIndex::is_unfinished(home));
        drop(index);
        let mut index = open(home);
        assert_eq!(index.position(), &position);
        put(&mut index, vec![document(brief(2), 1, "the lease")]);
        assert_eq!(ask(&mut index, "lease"), ["brief:brief_2"]);
        assert!(!MemoryIndex::is_unfinished(home));
    }
    assert!(MemoryIndex::is_unfinished(&dir.path().join("none")));
}

fn ask_all(index: &mut MemoryIndex, query: &str) -> Vec<String> {
    let search = MemorySearch {
        query: query.to_owned(),
        limit: 10,
        include_all_workspaces: true,
    };
    let found = index
        .search(&search, &WorkspaceId::from_stored("none"), NOW)
        .unwrap();
    found
        .hits
        .iter()
        .map(|hit| hit.provenance.source_ref.key())
        .collect()
}

#[test]
fn entries_that_were_taken_are_removed_and_an_index_that_missed_some_is_built_anew() {
    let (mut db, no, mut scribe) = with_briefs(MEMORY_CATCH_UP_STEP);
    let agent = id("a");
    let owner = db.reader().memory_owner(&agent).unwrap().unwrap();
    let mut index = MemoryIndex::in_memory(&owner).unwrap();
    let mut stale = MemoryIndex::in_memory(&owner).unwrap();
    catch_up(&db, &mut stale, &agent);
    scribe.brief(BriefText::Words("one more".to_owned()));
    let decision = scribe.decide();
    db.write(|tx| tx.apply(no, &decision)).unwrap();
    catch_up(&db, &mut index, &agent);
    let IndexPosition::Following { cursor } = *index.position() else {
        panic!("{:?}", index.position());
    };
    let removed = db
        .write(|tx| tx.prune_memory_outbox(&agent, cursor, 10_000))
        .unwrap();
    assert_eq!(removed, MEMORY_CATCH_UP_STEP as u64 + 1);
    // A removed position is never given out again.
    scribe.brief(BriefText::Words("after the removal".to_owned()));
    let decision = scribe.decide();
    db.write(|tx| tx.apply(no, &decision)).unwrap();
    assert_eq!(catch_up(&db, &mut index, &agent), 1);
    assert_eq!(ask_all(&mut index, "after removal").len(), 1);
    let batch = db
        .reader()
        .memory_batch(&agent, stale.position())
        .unwrap()
        .unwrap();
    assert!(batch.restarts, "the stale index has missed an entry");
    catch_up(&db, &mut stale, &agent);
    assert_eq!(stale.documents().unwrap(), index.documents().unwrap());
}

#[test]
fn a_source_that_changes_often_has_one_entry() {
    let (mut db, no, mut scribe) = with_briefs(0);
    let agent = id("a");
    for revision in 1..50 {
        let mut item = work_item(&agent, "x");
        item.revision = revision;
        scribe.fact(Fact::WorkItemWritten(Box::new(item)));
        let decision = scribe.decide();
        db.write(|tx| tx.apply(no, &decision)).unwrap();
    }
    assert_eq!(
        db.reader()
            .memory_pending(&agent, &IndexPosition::Empty)
            .unwrap(),
        1
    );
}

#[test]
fn documents_of_other_workspaces_are_found_only_where_all_are_searched() {
    let mut index = MemoryIndex::in_memory(&owner()).unwrap();
    let mut other = document(brief(2), 1, "lease in another workspace");
    other.provenance.workspace_id = Some(WorkspaceId::from_stored("ws-2"));
    let curated = document(
        SourceRef::curated(CuratedFile::SelfModel),
        1,
        "lease of the agent",
    );
    put(
        &mut index,
        vec![document(brief(1), 1, "lease here"), other, curated],
    );
    let mut here = ask(&mut index, "lease");
    here.sort();
    assert_eq!(here, ["agent_memory:self", "brief:brief_1"]);
    assert_eq!(ask_all(&mut index, "lease").len(), 3);
}

#[test]
fn accents_find_each_other_whether_they_are_composed_or_not() {
    let mut index = MemoryIndex::in_memory(&owner()).unwrap();
    let (composed, apart) = ("the na\u{ef}ve plan", "the nai\u{308}ve plan");
    put(
        &mut index,
        vec![
            document(brief(1), 1, composed),
            document(brief(2), 1, apart),
        ],
    );
    for query in ["na\u{ef}ve", "nai\u{308}ve", "naive"] {
        assert_eq!(ask(&mut index, query).len(), 2, "{query}");
    }
}

#[test]
fn an_exact_read_returns_the_text_as_it_was_written() {
    let mut index = MemoryIndex::in_memory(&owner()).unwrap();
    let bodies = [
        "使用数据库\n\n  getUserName()  ",
        "a\tb",
        "🙂 emoji ﬁ ＡＢＣ",
        "",
    ];
    let documents = bodies
        .iter()
        .enumerate()
        .map(|(n, body)| document(brief(n), 1, body));
    put(&mut index, documents.collect());
    for (number, body) in bodies.iter().enumerate() {
        assert_eq!(index.get(&brief(number)).unwrap().unwrap().body, *body);
    }
    assert_eq!(index.get(&brief(99)).unwrap(), None);
    let hit = index.search(
        &MemorySearch {
            query: "数据".to_owned(),
            limit: 1,
            include_all_workspaces: true,
        },
        &WorkspaceId::from_stored("none"),
        NOW,
    );
    assert_eq!(hit.unwrap().hits[0].snippet, "使用数据库 getUserName()");
}

#[test]
fn a_recent_and_a_curated_source_stand_ahead_of_old_logs_of_the_same_words() {
    let mut index = MemoryIndex::in_memory(&owner()).unwrap();
    let mut documents: Vec<_> = (0..300)
        .map(|n| document(brief(n), 200 + n as i64, "deploy of the gateway finished"))
        .collect();
    documents.push(document(
        brief(1_000),
        0,
        "deploy of the gateway finished, see the notes of today",
    ));
    let text = "Notes\nBefore a deploy of the gateway, drain it first. It takes ten minutes, and the gateway must be idle.";
    documents.push(document(
        SourceRef::curated(CuratedFile::SelfModel),
        90,
        text,
    ));
    put(&mut index, documents);
    let mut first: Vec<String> = ask(&mut index, "deploy gateway")
        .into_iter()
        .take(2)
        .collect();
    first.sort();
    assert_eq!(first, ["agent_memory:self", "brief:brief_1000"]);
}

#[test]
fn hostile_queries_are_bounded_and_answered() {
    let mut index = MemoryIndex::in_memory(&owner()).unwrap();
    put(
        &mut index,
        vec![document(
            brief(1),
            1,
            "the lease was renewed title body NEAR",
        )],
    );
    let long = "lease ".repeat(20_000);
    let deep = "(".repeat(50_000);
    let queries = [
        "lease\" OR \"x",
        "title:lease",
        "lease*",
        "NEAR(lease renewed, 2)",
        "^lease",
        "lease -renewed",
        "{title body}: lease",
        "lease AND",
        "NOT lease",
        "\"",
        "'; DROP TABLE documents; --",
        "\0lease\0",
        &long,
        &deep,
        "ليز",
        "аренда",
        "सदस्य",
        "สวัสดีชาวโลก",
        "🙂🙂",
        "\u{202e}lease",
    ];
    for query in queries {
        let search = MemorySearch {
            query: query.to_owned(),
            limit: 5,
            include_all_workspaces: true,
        };
        let found = index
            .search(&search, &WorkspaceId::from_stored("w"), NOW)
            .expect("answers");
        assert!(found.query.len() <= MEMORY_QUERY_BYTES);
        if query.contains("lease") {
            assert_eq!(found.hits.len(), 1, "{query:.40}");
        }
    }
    assert_eq!(index.documents().unwrap(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_can_be_stored_searched_for_and_read_back(text in "\\PC{0,400}", query in "\\PC{0,200}") {
        let mut index = MemoryIndex::in_memory(&owner()).unwrap();
        put(&mut index, vec![document(brief(1), 1, &text)]);
        for query in [&query, &text] {
            let search = MemorySearch { query: query.clone(), limit: 5, include_all_workspaces: true };
            let found = index.search(&search, &WorkspaceId::from_stored("w"), NOW);
            prop_assert!(found.is_ok(), "{found:?}");
        }
        prop_assert_eq!(index.get(&brief(1)).unwrap().unwrap().body, text);
    }
}
