//! Memory over the shell: a model finds what it was told in an earlier turn, and reads it exactly.

use crate::house::{House, at_rest, prompt};
use holon_domain::model::{ConversationItem, ModelRequest};
use holon_testkit::ports::{calls, says};
use serde_json::json;

/// The last tool result of a conversation, as the model reads it.
fn last_result(request: &ModelRequest) -> String {
    let results = request.conversation.iter().rev();
    let mut results = results.filter_map(|item| match item {
        ConversationItem::ToolResult { content, .. } => Some(content.clone()),
        ConversationItem::User { .. } | ConversationItem::Assistant { .. } => None,
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
    asked.answer(calls(&[(
        "MemoryGet",
        json!({"source_ref": "brief:brief_none"}),
    )]));
    let asked = house.model.next().await;
    let missing = last_result(&asked.request);
    assert!(missing.contains("memory_source_not_found"), "{missing}");
    asked.answer(says("in ImagePool"));
    at_rest(&host, "main").await;
    host.shut_down().await.expect("ends");
}
