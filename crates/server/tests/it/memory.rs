//! Working memory and episodes over the wire.

use crate::seq_pages::prompt;
use crate::world::World;
use holon_domain::limits::EPISODE_TURNS;
use holon_testkit::engine::agent;

#[tokio::test]
async fn episodes_are_listed_found_and_counted_in_the_state() {
    let world = World::start().await;
    let none = world.local().episodes(&agent("main"), None, 5).await;
    assert_eq!(none.unwrap().episodes, []);
    prompt(&world, "main", 2 * EPISODE_TURNS as usize).await;

    let first = world.local().episodes(&agent("main"), None, 1).await;
    let first = first.unwrap();
    assert_eq!((first.episodes[0].seq, first.next_before_seq), (2, Some(2)));
    let rest = world.local().episodes(&agent("main"), Some(2), 1).await;
    let rest = rest.unwrap();
    assert_eq!((rest.episodes[0].seq, rest.next_before_seq), (1, None));
    let content = &rest.episodes[0].content;
    let turns = u64::from(EPISODE_TURNS);
    assert_eq!(
        (content.start_turn_index, content.end_turn_index),
        (1, turns)
    );

    let id = &rest.episodes[0].id;
    let target = format!("/agents/main/memory/get?source_ref=episode:{id}");
    let read = world.ask("GET", &target, "").await.json();
    assert_eq!(read["kind"], "episode", "{read}");
    assert!(
        read["content"]
            .as_str()
            .unwrap()
            .starts_with("turns 1 to 12")
    );

    let state = world.ask("GET", "/agents/main/state", "").await.json();
    let shown = &state["agent"]["agent"];
    assert_eq!(shown["working_memory"]["archived_episode_count"], 2);
    assert_eq!(shown["working_memory"]["working_memory_revision"], 0);
    // The thread still shows every turn.
    assert_eq!(shown["compacted_message_count"], 0);
    let listed = world.ask("GET", "/agents/list", "").await;
    assert!(!listed.body.contains("current_working_memory"));
}

#[tokio::test]
async fn a_page_of_episodes_has_a_bound_and_belongs_to_an_agent() {
    let world = World::start().await;
    for (target, status) in [
        ("/agents/main/memory/episodes?limit=200", 200),
        ("/agents/main/memory/episodes?limit=201", 400),
        ("/agents/main/memory/episodes?limit=0", 400),
        ("/agents/main/memory/episodes?after=1", 400),
        ("/agents/nobody/memory/episodes", 404),
    ] {
        let reply = world.ask("GET", target, "").await;
        assert_eq!(reply.status, status, "{target}: {reply:?}");
    }
}
