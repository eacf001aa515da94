//! What of a request a script can see, and what both sides are estimated to cost.
//!
//! Pure functions of the request and the answer; nothing here knows about scripts.

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
    u64::try_from(blocks.iter().map(tokens).sum::<usize>()).unwrap_or(u64::MAX)
}
