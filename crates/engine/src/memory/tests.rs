//! The service on a real home: curated files, a damaged index, and what a search says about what it left out.

use super::{Memory, MemorySubject};
use crate::ports::{
    Clock, CuratedContent, EpisodeExport, ExportedEpisode, MemoryFiles, ProfiledWorkspace,
};
use async_trait::async_trait;
use holon_domain::agent::{AgentRecord, AgentRow, Counters};
use holon_domain::decision::{Decision, Fact};
use holon_domain::limits::EPISODES_EXPORT_STEP;
use holon_domain::memory::{
    CuratedFile, EpisodeRecord, MemoryFault, MemoryGet, MemorySearch, SourceRef, WorkspaceProfile,
};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, Timestamp};
use holon_store::{Db, Inline, Store as _};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Curated files that the test sets, and the export of episodes.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    curated: Mutex<Vec<(CuratedFile, CuratedContent)>>,
    exported: Mutex<Vec<String>>,
}

#[async_trait]
impl MemoryFiles for Shelf {
    async fn curated(&self, _: &str) -> Vec<(CuratedFile, CuratedContent)> {
        self.curated.lock().unwrap().clone()
    }

    async fn has_home(&self, agent_home: &str) -> bool {
        Path::new(agent_home).is_dir()
    }

    async fn profile(&self, _: ProfiledWorkspace) -> Option<WorkspaceProfile> {
        None
    }

    async fn exported_episode(&self, _: &str) -> Option<ExportedEpisode> {
        let exported = self.exported.lock().unwrap();
        let last: EpisodeRecord = serde_json::from_str(exported.last()?).ok()?;
        Some(ExportedEpisode {
            seq: last.seq,
            id: last.id,
        })
    }

    async fn export_episodes(&self, _: &str, export: EpisodeExport) -> Result<(), String> {
        let mut exported = self.exported.lock().unwrap();
        if export.restarts {
            exported.clear();
        }
        exported.extend(export.lines);
        Ok(())
    }
}

/// A clock that stands still.
#[derive(Debug)]
struct Still;

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_794_700_000_000)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep_until(&self, _: Duration) {}
}

pub(super) fn agent(home: &str) -> AgentRecord {
    let fields = serde_json::json!({
        "identity": {
            "agent_id": "main",
            "kind": "named",
            "visibility": "public",
            "ownership": "self_owned",
            "profile_preset": "public_named",
        },
        "created_at": Timestamp::from_millis(0),
        "lifecycle": "runnable",
        "generation": 1,
        "counters": Counters::default(),
        "agent_home": home,
        "workspace": WorkspaceEntry::agent_home(home),
    });
    let row = AgentRow {
        record: &fields.to_string(),
        settings: None,
        counters: None,
    };
    AgentRecord::from_row(row).unwrap()
}

/// The service for agent `main` with this home.
fn service(home: &Path) -> (Memory, Arc<Shelf>, MemorySubject) {
    service_with(home, 0)
}

fn episode(seq: u64) -> EpisodeRecord {
    serde_json::from_value(serde_json::json!({
        "id": format!("ep_{seq}"), "seq": seq, "agent_id": "main", "created_at": Timestamp::from_millis(0),
        "boundary_reason": "hard_turn_cap", "workspace_id": "agent_home",
        "start_turn_index": seq, "end_turn_index": seq, "start_message_count": 0, "end_message_count": seq,
        "summary": format!("the lantern was lit, {seq}"),
    }))
    .unwrap()
}

/// The service for an agent with so many episodes.
fn service_with(home: &Path, episodes: u64) -> (Memory, Arc<Shelf>, MemorySubject) {
    let agent = agent(&home.to_string_lossy());
    let shelf = Arc::<Shelf>::default();
    let memory = memory_on(store_with(&agent, episodes), &shelf);
    (memory, shelf, MemorySubject::of(&agent))
}

/// A store with this agent and so many episodes of it.
pub(super) fn store_with(agent: &AgentRecord, episodes: u64) -> Arc<Inline> {
    let mut db = Db::in_memory().unwrap();
    let no = db.write(|tx| tx.create_agent(agent)).unwrap();
    let archived = (1..=episodes).map(|seq| Fact::EpisodeArchived(Box::new(episode(seq))));
    let decision = Decision {
        agent: agent.clone(),
        facts: archived.collect(),
        more: false,
    };
    db.write(|tx| tx.apply(no, &decision)).unwrap();
    Arc::new(Inline::new(db))
}

pub(super) fn memory_on(store: Arc<Inline>, shelf: &Arc<Shelf>) -> Memory {
    Memory {
        reads: store,
        files: Arc::<Shelf>::clone(shelf),
        clock: Arc::new(Still),
        locks: Arc::default(),
        homeless: Arc::default(),
        unfinished: Arc::default(),
    }
}

/// A clock that is past every limit when it is asked again, so that each use of an index takes one step.
#[derive(Debug, Default)]
pub(super) struct Hasty(Mutex<Duration>);

#[async_trait]
impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        Still.now()
    }

    fn elapsed(&self) -> Duration {
        let mut elapsed = self.0.lock().unwrap();
        *elapsed += Duration::from_secs(3_600);
        *elapsed
    }

    async fn sleep_until(&self, _: Duration) {}
}

fn set(shelf: &Shelf, content: CuratedContent) {
    *shelf.curated.lock().unwrap() = vec![(CuratedFile::SelfModel, content)];
}

fn text(words: &str) -> CuratedContent {
    CuratedContent::Text {
        text: words.to_owned(),
        changed_at: Timestamp::from_millis(1_794_000_000_000),
    }
}

pub(super) fn asked(query: &str) -> MemorySearch {
    MemorySearch {
        query: query.to_owned(),
        limit: 10,
        include_all_workspaces: false,
    }
}

fn read() -> MemoryGet {
    MemoryGet {
        source_ref: SourceRef::curated(CuratedFile::SelfModel),
        max_chars: 5,
    }
}

#[tokio::test]
async fn a_curated_file_is_searched_as_it_is_now() {
    let home = tempfile::tempdir().unwrap();
    let (memory, shelf, subject) = service(home.path());
    set(&shelf, text("the lease lasts an hour"));
    let page = memory.search(&subject, asked("lease")).await.unwrap();
    assert_eq!(page.results.len(), 1);
    assert!(!page.lag.is_behind(), "{page:?}");
    let content = memory.get(&subject, read()).await.unwrap();
    assert_eq!(
        (content.content.as_str(), content.truncated),
        ("the l", true)
    );
    set(&shelf, text("the contract lasts a year"));
    let page = memory.search(&subject, asked("lease")).await.unwrap();
    assert_eq!(page.results, []);
    let page = memory.search(&subject, asked("contract")).await.unwrap();
    assert_eq!(page.results.len(), 1);
    assert!(home.path().join(".holon/indexes/memory.sqlite3").exists());
}

#[tokio::test]
async fn a_file_that_is_not_read_is_told_with_every_search_and_is_no_result_any_more() {
    let home = tempfile::tempdir().unwrap();
    let (memory, shelf, subject) = service(home.path());
    set(&shelf, text("the lease"));
    memory.search(&subject, asked("lease")).await.unwrap();
    let reason = "it is a symbolic link".to_owned();
    set(&shelf, CuratedContent::Unreadable { reason });
    for _ in 0..2 {
        let page = memory.search(&subject, asked("lease")).await.unwrap();
        assert_eq!(page.results, []);
        assert_eq!(
            page.notes,
            ["memory/self.md is not searched: it is a symbolic link"]
        );
    }
    let refused = memory.get(&subject, read()).await.unwrap_err();
    assert!(refused.to_string().contains("memory/self.md"), "{refused}");
    assert!(
        refused.to_string().contains("it is a symbolic link"),
        "{refused}"
    );
    set(&shelf, CuratedContent::Absent);
    let gone = memory.get(&subject, read()).await;
    assert!(
        matches!(gone, Err(MemoryFault::NotFound { .. })),
        "{gone:?}"
    );
}

#[tokio::test]
async fn a_damaged_index_is_replaced_without_the_caller_noticing() {
    let home = tempfile::tempdir().unwrap();
    let (memory, shelf, subject) = service(home.path());
    set(&shelf, text("the lease"));
    memory.search(&subject, asked("lease")).await.unwrap();
    let file = home.path().join(".holon/indexes/memory.sqlite3");
    std::fs::write(&file, "not a database").unwrap();
    let page = memory.search(&subject, asked("lease")).await.unwrap();
    assert_eq!(page.results.len(), 1);
    let rebuilt = memory.rebuild(&subject, true).await.unwrap();
    assert!(rebuilt.done && rebuilt.documents == 1, "{rebuilt:?}");
}

#[tokio::test]
async fn an_agent_without_a_home_is_searched_and_gets_none() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("agents/main");
    let (memory, shelf, subject) = service(&home);
    set(&shelf, text("the lease"));
    let page = memory.search(&subject, asked("lease")).await.unwrap();
    assert_eq!(page.results.len(), 1);
    assert!(!home.exists());
    let other = MemorySubject {
        agent_id: AgentId::parse_stored("other").unwrap(),
        ..subject
    };
    let missing = memory.search(&other, asked("lease")).await;
    assert!(matches!(missing, Err(MemoryFault::Unavailable { .. })));
}

#[tokio::test]
async fn a_query_of_100_kb_is_cut_and_the_answer_says_so() {
    let home = tempfile::tempdir().unwrap();
    let (memory, shelf, subject) = service(home.path());
    set(&shelf, text("the lease"));
    let page = memory
        .search(&subject, asked(&"lease ".repeat(17_000)))
        .await
        .unwrap();
    assert_eq!(page.results.len(), 1);
    assert_eq!(page.notes.len(), 1, "{:?}", page.notes);
    let page = memory.search(&subject, asked("\" * (")).await.unwrap();
    assert_eq!(page.notes, ["the query holds no word, name or number"]);
}

#[tokio::test]
async fn an_export_is_continued_where_it_ends() {
    let home = tempfile::tempdir().unwrap();
    let all = EPISODES_EXPORT_STEP as u64 + 3;
    let (memory, shelf, subject) = service_with(home.path(), all);
    let exported = || {
        let lines = shelf.exported.lock().unwrap();
        let read = |line: &String| serde_json::from_str::<EpisodeRecord>(line).unwrap();
        lines.iter().map(read).collect::<Vec<_>>()
    };
    let expected: Vec<EpisodeRecord> = (1..=all).map(episode).collect();
    assert_eq!(memory.export_episodes(&subject, false).await.unwrap(), all);
    assert_eq!(exported(), expected);
    for left in [all, all - 2, 1, 0] {
        shelf.exported.lock().unwrap().truncate(left as usize);
        assert_eq!(memory.export_episodes(&subject, false).await.unwrap(), all);
        assert_eq!(exported(), expected, "{left} lines were left");
    }
}

#[tokio::test]
async fn the_export_of_another_agent_of_the_name_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let foreign = EpisodeRecord {
        id: holon_domain::EpisodeId::from_stored("ep_foreign"),
        ..episode(2)
    };
    let foreign = serde_json::to_string(&foreign).unwrap();
    for episodes in [3, 1, 0] {
        let (memory, shelf, subject) = service_with(home.path(), episodes);
        shelf.exported.lock().unwrap().push(foreign.clone());
        assert_eq!(
            memory.export_episodes(&subject, false).await.unwrap(),
            episodes
        );
        let lines = shelf.exported.lock().unwrap().len() as u64;
        assert_eq!(lines, episodes);
        assert!(!shelf.exported.lock().unwrap().contains(&foreign));
    }
}

#[tokio::test]
async fn a_rebuild_finds_episodes_and_writes_the_export() {
    let home = tempfile::tempdir().unwrap();
    let (memory, shelf, subject) = service_with(home.path(), 2);
    let page = memory.search(&subject, asked("lantern")).await.unwrap();
    assert_eq!(page.results.len(), 2, "{page:?}");
    let get = MemoryGet {
        source_ref: SourceRef::parse("episode:ep_2").unwrap(),
        max_chars: 100,
    };
    let content = memory.get(&subject, get).await.unwrap();
    assert_eq!(content.content, "the lantern was lit, 2");
    let rebuilt = memory.rebuild(&subject, true).await.unwrap();
    assert!(rebuilt.done, "{rebuilt:?}");
    assert_eq!(shelf.exported.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn an_index_whose_words_are_damaged_is_replaced_with_its_curated_files() {
    let home = tempfile::tempdir().unwrap();
    let (memory, shelf, subject) = service_with(home.path(), 3);
    set(&shelf, text("the lease of the lantern"));
    let page = memory.search(&subject, asked("lantern")).await.unwrap();
    assert_eq!(page.results.len(), 4);
    let file = home.path().join(".holon/indexes/memory.sqlite3");
    let sql = "UPDATE documents_fts_data SET block = zeroblob(64) WHERE id > 10";
    assert!(holon_testkit::damage::sql(&file, sql) > 0);
    let page = memory.search(&subject, asked("lantern")).await.unwrap();
    assert_eq!(page.results.len(), 4, "{page:?}");
    assert!(!page.lag.is_behind(), "{page:?}");
}

#[tokio::test]
async fn the_first_search_of_a_new_index_and_after_a_rebuild_finds_workspace_profiles() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(&home.path().to_string_lossy());
    let store = store_with(&agent, 1);
    let profile: WorkspaceProfile = serde_json::from_value(serde_json::json!({
        "workspace_id": "ws-1", "name": "lighthouse", "workspace_anchor": "/projects/lighthouse",
    }))
    .unwrap();
    let subject = MemorySubject {
        workspace_id: profile.workspace_id.clone(),
        workspaces: vec![profile.workspace_id.clone()],
        ..MemorySubject::of(&agent)
    };
    let written = store.write_workspace_profile(profile, Still.now());
    written.await.unwrap();
    let shelf = Arc::<Shelf>::default();
    let memory = memory_on(store, &shelf);
    set(&shelf, text("the lighthouse is far"));
    for _ in 0..2 {
        let page = memory.search(&subject, asked("lighthouse")).await.unwrap();
        assert_eq!(page.results.len(), 2, "{page:?}");
        assert!(!page.lag.is_behind(), "{page:?}");
        let rebuilt = memory.rebuild(&subject, true).await.unwrap();
        assert!(rebuilt.done && rebuilt.documents == 3, "{rebuilt:?}");
    }
}

#[tokio::test]
async fn an_index_of_an_agent_without_a_home_is_built_over_several_uses() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("agents/main");
    let (mut memory, _, subject) = service_with(&home, 2);
    memory.clock = Arc::new(Hasty::default());
    let mut steps = 1;
    while !memory.rebuild(&subject, steps == 1).await.unwrap().done {
        steps += 1;
        assert!(steps < 10, "no end");
    }
    assert!(steps > 1, "the clock allows one step");
    let page = memory.search(&subject, asked("lantern")).await.unwrap();
    assert_eq!(page.results.len(), 2, "{page:?}");
    assert!(!page.lag.is_behind(), "{page:?}");
    assert!(!home.exists());
    // The home that is there later gets an index of its own.
    std::fs::create_dir_all(&home).unwrap();
    let page = memory.search(&subject, asked("lantern")).await.unwrap();
    assert!(page.lag.rebuilding, "{page:?}");
    assert!(home.join(".holon/indexes/memory.sqlite3").exists());
}

#[tokio::test]
async fn a_rebuild_writes_the_export_anew_however_many_steps_it_takes() {
    let home = tempfile::tempdir().unwrap();
    let (mut memory, shelf, subject) = service_with(home.path(), 3);
    memory.export_episodes(&subject, false).await.unwrap();
    let whole = shelf.exported.lock().unwrap().clone();
    let clocks: [Arc<dyn Clock>; 2] = [Arc::new(Still), Arc::new(Hasty::default())];
    for clock in clocks {
        memory.clock = clock;
        // The last line is as it was, so a continued export would keep the others.
        shelf.exported.lock().unwrap()[0] = "torn".to_owned();
        let mut step = memory.rebuild(&subject, true).await.unwrap();
        for _ in 0..10 {
            if !step.done {
                step = memory.rebuild(&subject, false).await.unwrap();
            }
        }
        assert!(step.done, "{step:?}");
        assert_eq!(*shelf.exported.lock().unwrap(), whole);
    }
}
