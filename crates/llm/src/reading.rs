//! What of a request a script can see, and what both sides are estimated to cost.
//!
//! Pure functions of the request and the answer; nothing here knows about scripts.

use holon_domain::block::Block;
use holon_domain::model::{ConversationItem, ModelRequest, ReplyBlock};
use holon_domain::text;

/// The frame's last context block: by contract the current input stands there.
pub(crate) fn current_input(request: &ModelRequest) -> &str {
    request
        .frame
        .context_blocks
        .last()
        .map_or("", |block| block.text.as_str())
}

/// The newest tool result the model is shown; empty when there is none.
pub(crate) fn last_tool_result(request: &ModelRequest) -> &str {
    let mut newest_first = request.conversation.iter().rev();
    let result = newest_first.find_map(|item| match item {
        ConversationItem::ToolResult { content, .. } => Some(content.as_str()),
        ConversationItem::Assistant { .. } | ConversationItem::User { .. } => None,
    });
    result.unwrap_or_default()
}

/// The current input and what was put in after it.
pub(crate) fn everything_said(request: &ModelRequest) -> String {
    let mut said = current_input(request).to_owned();
    for item in &request.conversation {
        match item {
            ConversationItem::User { text } => {
                said.push('\n');
                said.push_str(text);
            }
            ConversationItem::Assistant { .. } | ConversationItem::ToolResult { .. } => {}
        }
    }
    said
}

/// Estimated tokens of the whole request.
pub(crate) fn tokens_read(request: &ModelRequest) -> u64 {
    let frame = text::estimate_tokens(&request.frame.system_prompt)
        + request
            .frame
            .context_blocks
            .iter()
            .map(|block| text::estimate_tokens(&block.text))
            .sum::<usize>();
    let conversation: usize = request.conversation.iter().map(item_tokens).sum();
    to_u64(frame + conversation)
}

fn item_tokens(item: &ConversationItem) -> usize {
    let block_tokens = |block: &Block| match block {
        Block::Text { text } | Block::Reasoning { text, .. } => text::estimate_tokens(text),
        Block::ToolCall(call) => {
            text::estimate_tokens(&call.name) + text::estimate_tokens(&call.input.to_string())
        }
    };
    match item {
        ConversationItem::Assistant { blocks, .. } => blocks.iter().map(block_tokens).sum(),
        ConversationItem::ToolResult { content, .. } => text::estimate_tokens(content),
        ConversationItem::User { text } => text::estimate_tokens(text),
    }
}

/// Estimated tokens of an answer.
pub(crate) fn tokens_written(blocks: &[ReplyBlock]) -> u64 {
    let tokens = |block: &ReplyBlock| match block {
        ReplyBlock::Text { text } | ReplyBlock::Reasoning { text, .. } => {
            text::estimate_tokens(text)
        }
        ReplyBlock::Call(call) => {
            text::estimate_tokens(&call.name) + text::estimate_tokens(&call.input.to_string())
        }
    };
    to_u64(blocks.iter().map(tokens).sum())
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
