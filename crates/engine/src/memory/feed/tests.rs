//! The feeder on a real store: builds that take many steps, indexes that were left unfinished, and missed notices.

use super::{Feeder, StartLook};
use crate::memory::MemorySubject;
use crate::memory::tests::{Hasty, Shelf, agent, asked, memory_on, store_with};
use holon_domain::AgentId;
use holon_domain::agent::{AgentRecord, Lifecycle, Visibility};
use holon_domain::feed::FeedNotice;
use holon_domain::limits::STREAM_LAG;
use holon_store::{Inline, MemoryIndex, Store as _};
use std::path::Path;
use std::sync::Arc;

/// A feeder whose uses of an index take one step each.
fn feeder(store: &Arc<Inline>) -> Feeder {
    let mut memory = memory_on(Arc::clone(store), &Arc::<Shelf>::default());
    memory.clock = Arc::new(Hasty::default());
    Feeder::new(Arc::clone(store) as Arc<_>, memory)
}

/// Feeds until nothing waits. Returns how often an agent was fed.
async fn run(feeder: &mut Feeder) -> usize {
    let mut fed = 0;
    feeder.take_notices().await;
    loop {
        while let Some(agent_id) = feeder.queue.next() {
            feeder.feed(&agent_id).await;
            feeder.take_notices().await;
            fed += 1;
            assert!(fed < 100, "no end");
        }
        if !feeder.look_further().await {
            return fed;
        }
    }
}

fn notice(name: &str, newest_seq: u64, changes_memory: bool) -> FeedNotice {
    FeedNotice {
        agent_id: AgentId::parse_stored(name).unwrap(),
        newest_seq,
        visibility: Visibility::Public,
        changes_memory,
    }
}

fn agent_in(home: &Path) -> AgentRecord {
    agent(&home.to_string_lossy())
}

#[tokio::test]
async fn a_build_that_takes_many_shares_of_time_is_finished_without_a_further_change() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent_in(home.path());
    let store = store_with(&agent, 3);
    let mut feeder = feeder(&store);
    feeder.look = StartLook::Done;
    feeder.find_changed().await;
    assert!(run(&mut feeder).await > 1, "the clock allows one step");
    assert!(!MemoryIndex::is_unfinished(home.path()));
    // What is complete is not looked at again.
    assert_eq!(run(&mut feeder).await, 0);
}

#[tokio::test]
async fn a_start_finds_an_index_that_is_missing_or_unfinished_though_nothing_waits() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent_in(home.path());
    let store = store_with(&agent, 3);
    // The outbox is empty, as after an index had taken everything.
    let subject = MemorySubject::of(&agent);
    let pruned = store.prune_memory_outbox(&subject.agent_id, 1_000);
    pruned.await.unwrap();
    for begun in [false, true] {
        drop(std::fs::remove_dir_all(home.path().join(".holon")));
        let mut feeder = feeder(&store);
        if begun {
            feeder.memory.rebuild(&subject, true).await.unwrap();
            feeder.memory.unfinished.take();
        }
        assert!(MemoryIndex::is_unfinished(home.path()));
        feeder.find_changed().await;
        assert!(run(&mut feeder).await > 0, "{begun}");
        assert!(!MemoryIndex::is_unfinished(home.path()), "{begun}");
    }
    // An agent without a home gets none.
    std::fs::remove_dir_all(home.path()).unwrap();
    assert_eq!(run(&mut feeder(&store)).await, 0);
    assert!(!home.path().exists());
}

#[tokio::test]
async fn an_index_that_cannot_be_used_is_left_if_its_agent_is_being_removed() {
    for (lifecycle, is_skipped) in [(Lifecycle::Runnable, true), (Lifecycle::Deleting, false)] {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".holon"), "no directory").unwrap();
        let mut agent = agent_in(home.path());
        agent.lifecycle = lifecycle;
        let mut feeder = feeder(&store_with(&agent, 3));
        feeder.look = StartLook::Done;
        feeder.find_changed().await;
        assert!(run(&mut feeder).await > 0);
        assert_eq!(
            feeder.skipped.commits.is_some(),
            is_skipped,
            "{lifecycle:?}"
        );
    }
}

#[tokio::test]
async fn an_agent_whose_home_comes_later_is_fed_without_a_further_change() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("main");
    let store = store_with(&agent_in(&home), 3);
    let mut feeder = feeder(&store);
    feeder.find_changed().await;
    run(&mut feeder).await;
    assert!(!home.exists());
    std::fs::create_dir(&home).unwrap();
    // A commit that holds nothing of memory, after one of another agent.
    let (sender, commits) = tokio::sync::broadcast::channel(4);
    feeder.skipped.commits = Some(commits);
    for name in ["other", "main"] {
        sender.send(notice(name, 1, false)).unwrap();
    }
    assert!(feeder.wait().await, "the agent is looked at again");
    run(&mut feeder).await;
    assert!(!MemoryIndex::is_unfinished(&home));
}

#[tokio::test]
async fn a_build_that_a_search_began_is_finished_in_the_background() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent_in(home.path());
    let store = store_with(&agent, 3);
    let mut feeder = feeder(&store);
    run(&mut feeder).await;
    std::fs::remove_dir_all(home.path().join(".holon")).unwrap();
    let subject = MemorySubject::of(&agent);
    let page = feeder.memory.search(&subject, asked("lantern")).await;
    assert!(page.unwrap().lag.rebuilding);
    assert!(feeder.wait().await, "the search is noticed");
    run(&mut feeder).await;
    let page = feeder.memory.search(&subject, asked("lantern")).await;
    let page = page.unwrap();
    assert_eq!(page.results.len(), 3, "{page:?}");
    assert!(!page.lag.is_behind(), "{page:?}");
}

#[tokio::test]
async fn agents_whose_notices_were_missed_are_found_in_the_store() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent_in(home.path());
    let store = store_with(&agent, 3);
    let mut feeder = feeder(&store);
    let (sender, notices) = tokio::sync::broadcast::channel(STREAM_LAG);
    feeder.notices = notices;
    for newest_seq in 0..=STREAM_LAG as u64 {
        sender.send(notice("other", newest_seq, true)).unwrap();
    }
    feeder.take_notices().await;
    let mut found = Vec::new();
    while let Some(agent_id) = feeder.queue.next() {
        found.push(agent_id.to_string());
    }
    assert_eq!(found, ["main", "other"]);
}
