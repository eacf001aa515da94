//! Memory over the shell: a model finds what it was told in an earlier turn and reads it exactly, and episodes are
//! exported.

use crate::house::{House, agent, at_rest, create, prompt, status};
use holon_domain::BriefId;
use holon_domain::memory::SourceRef;
use holon_domain::model::{ConversationItem, ModelRequest};
use holon_engine::Host;
use holon_testkit::ports::{EpisodeShelf, calls, says};
use serde_json::json;
use std::sync::Arc;

/// The last tool result of a conversation, as the model reads it.
fn last_result(request: &ModelRequest) -> String {
    let results = request.conversation.iter().rev();
    let mut results = results.filter_map(|item| match item {
        ConversationItem::ToolResult { content, .. } => Some(content.clone()),
        ConversationItem::User { .. }
        | ConversationItem::Assistant { .. }
        | ConversationItem::Image(_) => None,
    });
    results.next().expect("a result")
}

#[tokio::test]
async fn a_model_finds_a_brief_of_an_earlier_turn_and_reads_it_exactly() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "fix the resizer").await;
    let asked = house.model.next().await;
    asked.answer(says(
        "The leak was in ImagePool::release.\n\n数据库没有问题。",
    ));
    at_rest(&host, "main").await;
    prompt(&host, "main", "where was the leak?").await;
    let asked = house.model.next().await;
    asked.answer(calls(&[(
        "MemorySearch",
        json!({"query": "imagepool 数据库"}),
    )]));
    let asked = house.model.next().await;
    let found = last_result(&asked.request);
    assert!(found.starts_with("1 result\n"), "{found}");
    let source_ref = found
        .split_whitespace()
        .find(|word| word.starts_with("brief:"));
    let source_ref = source_ref.expect("a reference").to_owned();
    asked.answer(calls(&[("MemoryGet", json!({"source_ref": source_ref}))]));
    let asked = house.model.next().await;
    let read = last_result(&asked.request);
    assert!(
        read.contains("The leak was in ImagePool::release.\n\n数据库没有问题。"),
        "{read}"
    );
    // A reference that the agent made up is no reference, also if its record exists.
    let (made_up, _) = source_ref.split_once('~').expect("a check");
    asked.answer(calls(&[("MemoryGet", json!({"source_ref": made_up}))]));
    let asked = house.model.next().await;
    let refused = last_result(&asked.request);
    assert!(
        refused.contains("no search returned this source_ref"),
        "{refused}"
    );
    let gone = SourceRef::brief(&BriefId::from_stored("brief_none"));
    asked.answer(calls(&[("MemoryGet", json!({"source_ref": gone}))]));
    let asked = house.model.next().await;
    let missing = last_result(&asked.request);
    assert!(missing.contains("memory_source_not_found"), "{missing}");
    asked.answer(says("in ImagePool"));
    at_rest(&host, "main").await;
    host.shut_down().await.expect("ends");
}

/// Lets agent `main` create and complete an item in one turn.
async fn work(house: &House, host: &Host, objective: &str) {
    prompt(host, "main", "do it").await;
    let new = json!({"objective": objective, "plan": "look first"});
    let asked = house.model.next().await;
    asked.answer(calls(&[("CreateWorkItem", new)]));
    let asked = house.model.next().await;
    let id = crate::talk::id_in(&last_result(&asked.request), "work_");
    asked.answer(calls(&[("CompleteWorkItem", json!({"work_item_id": id}))]));
    house.model.next().await.answer(says("done"));
    at_rest(host, "main").await;
}

#[tokio::test]
async fn an_agent_made_anew_under_an_old_name_is_exported_from_its_first_episode() {
    let mut house = House::new();
    let shelf = Arc::new(EpisodeShelf::default());
    house.memory = shelf.clone();
    let host = house.with_main().await;
    for round in 0..3 {
        work(&house, &host, &format!("old work {round}")).await;
    }
    let old = shelf.holds(3).await;
    assert_eq!(old[0].content.objective.as_deref(), Some("old work 0"));
    host.control()
        .remove_agent(&agent("main"))
        .await
        .expect("removed");
    house.is_gone(&agent("main")).await;
    create(&host, "main").await;
    work(&house, &host, "new work").await;
    let new = shelf.holds(1).await;
    assert_eq!(new[0].content.objective.as_deref(), Some("new work"));
    host.shut_down().await.expect("ends");
}

#[tokio::test]
async fn an_open_episode_of_an_earlier_build_is_shown_with_the_time_of_its_first_turn() {
    let house = House::new();
    let host = house.with_main().await;
    house.clock.advance(5_000);
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(says("hello"));
    at_rest(&host, "main").await;
    let shown = async || {
        let agent = status(&host, "main").await.agent;
        let memory = agent.working_memory.expect("a working memory");
        let open = memory.active_episode_builder.expect("an open episode");
        (agent.created_at, open.builder.started_at)
    };
    let (created_at, begun) = shown().await;
    assert!(begun > Some(created_at), "the turn came later");
    // Rows are packed: the number of `started_at` among the words is `l`.
    let field = r#"instr(record, '"l":')"#;
    let rest = format!("substr(record, {field})");
    house.damage(&format!(
        "UPDATE working_memory SET record = \
         replace(record, substr({rest}, 1, instr({rest}, ',')), '') WHERE {field} > 0"
    ));
    assert_eq!(shown().await, (created_at, begun));
    house.damage("UPDATE log SET message_seq = NULL WHERE message_seq IS NOT NULL");
    assert_eq!(shown().await, (created_at, Some(created_at)));
}
