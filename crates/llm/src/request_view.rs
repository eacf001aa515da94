//! Views of a request that scripts can use, and token estimates.
//!
//! Pure functions of the request and the answer.

use crate::placeholder::IdKind;
use holon_domain::model::{ConversationItem, ModelRequest, ReplyBlock};
use holon_domain::text;

/// Characters of an id after its prefix.
const RANDOM_CHARS: usize = 20;

/// Returns the frame's last context block, which holds the current input by contract.
pub(crate) fn current_input(request: &ModelRequest) -> &str {
    request
        .frame
        .context_blocks
        .last()
        .map_or("", |block| block.text.as_str())
}

/// Returns the newest tool result the model is shown; empty if there is none.
pub(crate) fn last_tool_result(request: &ModelRequest) -> &str {
    let mut newest_first = dialogue(request).rev();
    let result = newest_first.find_map(|item| match item {
        ConversationItem::ToolResult { content, .. } => Some(content.as_str()),
        ConversationItem::Assistant { .. }
        | ConversationItem::User { .. }
        | ConversationItem::Image(_) => None,
    });
    result.unwrap_or_default()
}

/// Finds the newest id of a kind: in the conversation of the turn, else in the input, else the first one in the prompt,
/// newest block first, else in earlier turns. Returns an empty text if no id is found.
pub(crate) fn newest_id<'a>(request: &'a ModelRequest, kind: IdKind) -> &'a str {
    let newest_first = request.conversation.iter().rev();
    let mut sources = newest_first
        .filter_map(shown_text)
        .chain([current_input(request)]);
    let prefix = kind.prefix();
    let last = |words: &'a str| {
        let mut places = words.rmatch_indices(prefix);
        places.find_map(|(at, _)| id_at(words, at, prefix))
    };
    let first = |words: &'a str| {
        let mut places = words.match_indices(prefix);
        places.find_map(|(at, _)| id_at(words, at, prefix))
    };
    let blocks = request.frame.context_blocks.iter().rev();
    let mut shown = blocks.map(|block| block.text.as_str());
    let earlier = request.thread.iter().rev();
    let mut earlier = earlier.flat_map(|turn| turn.items.iter().rev().filter_map(shown_text));
    sources
        .find_map(last)
        .or_else(|| shown.find_map(first))
        .or_else(|| earlier.find_map(last))
        .unwrap_or_default()
}

/// Returns the text of an item that the model did not write.
const fn shown_text(item: &ConversationItem) -> Option<&str> {
    match item {
        ConversationItem::ToolResult { content, .. } => Some(content.as_str()),
        ConversationItem::User { text } => Some(text.as_str()),
        ConversationItem::Assistant { .. } | ConversationItem::Image(_) => None,
    }
}

/// Iterates over the items of earlier turns and of this one.
fn dialogue(request: &ModelRequest) -> impl DoubleEndedIterator<Item = &ConversationItem> {
    let earlier = request.thread.iter().flat_map(|turn| turn.items.iter());
    earlier.chain(&request.conversation)
}

/// Names like `task_output` begin like an id but are shorter.
fn id_at<'a>(words: &'a str, at: usize, prefix: &str) -> Option<&'a str> {
    let id = words.get(at..at + prefix.len() + RANDOM_CHARS)?;
    let is_id = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let random = id.strip_prefix(prefix)?;
    random.bytes().all(is_id).then_some(id)
}

/// Returns the current input and the user text inserted after it.
pub(crate) fn input_texts(request: &ModelRequest) -> String {
    let mut texts = current_input(request).to_owned();
    for item in &request.conversation {
        match item {
            ConversationItem::User { text } => {
                texts.push('\n');
                texts.push_str(text);
            }
            ConversationItem::Assistant { .. }
            | ConversationItem::ToolResult { .. }
            | ConversationItem::Image(_) => {}
        }
    }
    texts
}

/// Estimates the tokens of an answer.
pub(crate) fn estimate_tokens(blocks: &[ReplyBlock]) -> u64 {
    let tokens = |block: &ReplyBlock| match block {
        ReplyBlock::Text { text } | ReplyBlock::Reasoning { text, .. } => {
            text::estimate_tokens(text)
        }
        ReplyBlock::Call(call) => {
            text::estimate_tokens(&call.name) + text::estimate_tokens(&call.input.to_string())
        }
    };
    u64::try_from(blocks.iter().map(tokens).sum::<usize>()).unwrap_or(u64::MAX)
}
