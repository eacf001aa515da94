//! Common beginnings of the tests of commands and tasks, and the parts of a request they check.

use crate::house::{House, briefs, prompt};
use holon_domain::model::{ConversationItem, ModelRequest, PromptBlock};
use holon_engine::Host;
use holon_testkit::ports::{FakeCommand, calls, says};
use serde_json::{Value, json};

/// A host whose agent `main` got these calls from its model.
pub(crate) async fn calling(house: &House, of: &[(&str, Value)]) -> Host {
    let host = house.with_main().await;
    prompt(&host, "main", "go on").await;
    house.model.next().await.answer(calls(of));
    host
}

/// A host whose agent `main` rests while one of its commands runs as a task. One second has passed since.
pub(crate) async fn with_task(house: &House, cmd: &str) -> (Host, FakeCommand) {
    with_task_of(house, json!({ "cmd": cmd, "yield_time_ms": 0 })).await
}

/// The same with all arguments of the command; the call must not wait for it.
pub(crate) async fn with_task_of(house: &House, command: Value) -> (Host, FakeCommand) {
    let host = calling(house, &[("ExecCommand", command)]).await;
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it is started"));
    briefs(&host, "main", 1).await;
    task.watched().await;
    house.clock.advance(1_000);
    (host, task)
}

/// The tool results in a request.
pub(crate) fn results(request: &ModelRequest) -> Vec<String> {
    let result = |item: &ConversationItem| match item {
        ConversationItem::ToolResult { content, .. } => Some(content.clone()),
        ConversationItem::Assistant { .. }
        | ConversationItem::User { .. }
        | ConversationItem::Image(_) => None,
    };
    request.conversation.iter().filter_map(result).collect()
}

/// The id with this prefix that a text names first.
pub(crate) fn id_in(text: &str, prefix: &str) -> String {
    let (_, rest) = text.split_once(prefix).expect("an id");
    let is_id = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let id: String = rest.chars().take_while(is_id).collect();
    format!("{prefix}{id}")
}

/// The interjections in a request.
pub(crate) fn interjected(request: &ModelRequest) -> Vec<String> {
    let words = |item: &ConversationItem| match item {
        ConversationItem::User { text } => Some(text.clone()),
        ConversationItem::Assistant { .. }
        | ConversationItem::ToolResult { .. }
        | ConversationItem::Image(_) => None,
    };
    request.conversation.iter().filter_map(words).collect()
}

/// The message that the turn answers.
/// All texts of a request behind the system text, in their order: those of earlier turns, the context of this one, and
/// its rounds.
pub(crate) fn texts(request: &ModelRequest) -> Vec<String> {
    let earlier = request.thread.iter().flat_map(|turn| &turn.items);
    let context = request.frame.context_blocks.iter();
    let json = |item: &ConversationItem| serde_json::to_string(item).expect("an item");
    let user = |block: &PromptBlock| {
        json(&ConversationItem::User {
            text: block.text.clone(),
        })
    };
    earlier
        .map(json)
        .chain(context.map(user))
        .chain(request.conversation.iter().map(json))
        .collect()
}

pub(crate) fn current(request: &ModelRequest) -> String {
    let block = request.frame.context_blocks.last();
    block.expect("a current input").text.clone()
}
