//! What tests of commands and tasks say and hear: beginnings they share, and what a request tells the model.

use crate::house::{House, briefs, prompt};
use holon_domain::model::{ConversationItem, ModelRequest};
use holon_engine::Host;
use holon_testkit::ports::{FakeCommand, calls, says};
use serde_json::{Value, json};

/// A host whose agent `main` was answered with these calls.
pub(crate) async fn calling(house: &House, of: &[(&str, Value)]) -> Host {
    let host = house.with_main().await;
    prompt(&host, "main", "go on").await;
    house.model.next().await.answer(calls(of));
    host
}

/// A host whose agent `main` is at rest while a command of its runs as a task. A second has passed since.
pub(crate) async fn with_task(house: &House, cmd: &str) -> (Host, FakeCommand) {
    with_task_of(house, json!({ "cmd": cmd, "yield_time_ms": 0 })).await
}

/// The same with all arguments of the command; it must not be waited for.
pub(crate) async fn with_task_of(house: &House, command: Value) -> (Host, FakeCommand) {
    let host = calling(house, &[("ExecCommand", command)]).await;
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it is started"));
    briefs(&host, "main", 1).await;
    task.watched().await;
    house.clock.advance(1_000);
    (host, task)
}

/// What a request tells of finished calls.
pub(crate) fn results(request: &ModelRequest) -> Vec<String> {
    let result = |item: &ConversationItem| match item {
        ConversationItem::ToolResult { content, .. } => Some(content.clone()),
        ConversationItem::Assistant { .. } | ConversationItem::User { .. } => None,
    };
    request.conversation.iter().filter_map(result).collect()
}

/// What came into the turn while it ran.
pub(crate) fn interjected(request: &ModelRequest) -> Vec<String> {
    let words = |item: &ConversationItem| match item {
        ConversationItem::User { text } => Some(text.clone()),
        ConversationItem::Assistant { .. } | ConversationItem::ToolResult { .. } => None,
    };
    request.conversation.iter().filter_map(words).collect()
}

/// What the turn answers.
pub(crate) fn current(request: &ModelRequest) -> String {
    let block = request.frame.context_blocks.last();
    block.expect("a current input").text.clone()
}
