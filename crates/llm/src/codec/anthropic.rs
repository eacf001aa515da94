//! Encodes requests for Anthropic's Messages API as one JSON document. The answer is read in `decode`.
//!
//! Owns what only this protocol has: text blocks with cache breakpoints (`cache`), roles that alternate and begin with
//! the user, thinking that is returned with its signature, and clearing of old tool results by the server (`clearing`).

mod cache;
mod clearing;
mod decode;
mod stream;

#[cfg(test)]
mod tests;

pub(crate) use decode::answer;
pub(crate) use stream::Assembler;

use super::Body;
use super::dialogue::{self, CallResult, GO_ON, ReplyPart, Step};
use cache::{BlockPosition, Marks};
use holon_domain::model::{ModelRequest, PromptBlock, PromptFrame};
use holon_domain::provider::{PromptCapability, ProviderSpec};
use holon_domain::tool::OfferedTool;
use serde_json::{Map, Value, json};

/// Encodes a request as the body of a Messages call.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Body {
    let least = cache::least_cached_tokens(request.model.model());
    let mut marks = Marks::new(request.tools.estimated_tokens(), least);
    let mut system = system(&request.frame, &mut marks);
    let mut messages = messages(request, &mut marks);
    if provider.can(PromptCapability::PromptCacheBlocks) {
        for position in marks.positions(&messages.0) {
            if let Some(block) = block_at(position, &mut system, &mut messages.0) {
                block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
            }
        }
    }
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", json!(request.model.model()));
    put("max_tokens", json!(request.max_output_tokens.max(1)));
    if !system.is_empty() {
        put("system", Value::Array(system));
    }
    if let Some(management) = &provider.context_management {
        clearing::log_eligible(management, &messages);
        let order = clearing::request_member(management, &request.tools);
        put("context_management", order);
    }
    let thinking = request
        .reasoning
        .thinking_within(request.max_output_tokens)
        .filter(|_| messages.may_think());
    put("messages", messages.into_value());
    // Effort needs neither a beta header nor a token budget, and every model with an effort setting accepts it.
    if let Some(effort) = request.reasoning_effort.or(provider.reasoning_effort) {
        put("output_config", json!({"effort": effort}));
    }
    if let Some(tokens) = thinking {
        put(
            "thinking",
            json!({"type": "enabled", "budget_tokens": tokens}),
        );
    }
    put("stream", json!(true));
    Body::new(body).with_tools(&request.tools, provider.transport, tool)
}

/// The speaker of a turn on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// Turns in which consecutive blocks of one role are merged.
#[derive(Default)]
struct Messages(Vec<(Role, Vec<Value>)>);

impl Messages {
    fn push(&mut self, role: Role, block: Value) {
        match self.0.last_mut() {
            Some((last, blocks)) if *last == role => blocks.push(block),
            Some(_) | None => self.0.push((role, vec![block])),
        }
    }

    /// Returns false in the middle of tool calls that began without thinking, for example by another model. The API
    /// then refuses thinking until the next message of the user.
    fn may_think(&self) -> bool {
        let kind = |block: &Value, kinds: &[&str]| {
            let kind = block.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| kinds.contains(&kind))
        };
        let mut turns = self.0.iter().rev();
        match (turns.next(), turns.next()) {
            (Some((Role::User, results)), Some((Role::Assistant, said))) => {
                let is_open = results.iter().any(|block| kind(block, &["tool_result"]));
                let thought = said.first();
                !is_open
                    || thought.is_some_and(|first| kind(first, &["thinking", "redacted_thinking"]))
            }
            _ => true,
        }
    }

    fn into_value(self) -> Value {
        let turn = |(role, content)| match role {
            Role::User => json!({"role": "user", "content": Value::Array(content)}),
            Role::Assistant => json!({"role": "assistant", "content": Value::Array(content)}),
        };
        self.0.into_iter().map(turn).collect()
    }
}

fn system(frame: &PromptFrame, marks: &mut Marks) -> Vec<Value> {
    let mut blocks = Vec::new();
    for block in dialogue::nonblank_blocks(&frame.system_blocks) {
        marks.note(block, BlockPosition::System(blocks.len()));
        blocks.push(text(&block.text));
    }
    if blocks.is_empty() && !dialogue::is_blank(&frame.system_prompt) {
        blocks.push(text(&frame.system_prompt));
    }
    blocks
}

fn messages(request: &ModelRequest, marks: &mut Marks) -> Messages {
    let mut messages = Messages::default();
    let context: Vec<&PromptBlock> =
        dialogue::nonblank_blocks(&request.frame.context_blocks).collect();
    for (index, block) in context.iter().enumerate() {
        marks.note(block, BlockPosition::Turn(0, index));
        messages.push(Role::User, text(&block.text));
    }
    for step in dialogue::steps(&request.conversation, &request.model) {
        match step {
            Step::Assistant(parts) => {
                if messages.0.is_empty() {
                    messages.push(Role::User, text(GO_ON));
                }
                for block in assistant(&parts) {
                    messages.push(Role::Assistant, block);
                }
            }
            Step::Results(answered) => {
                for answer in &answered {
                    messages.push(Role::User, result(answer));
                }
            }
            Step::User(words) => messages.push(Role::User, text(&words)),
        }
    }
    if messages.0.is_empty() {
        messages.push(Role::User, text(GO_ON));
    }
    messages
}

fn assistant(parts: &[ReplyPart<'_>]) -> Vec<Value> {
    let open = parts
        .iter()
        .rposition(|piece| !matches!(piece, ReplyPart::Sealed { .. }))
        .map_or(0, |last| last + 1);
    // The API refuses a turn that ends in thinking, and such thinking led to no call and no text.
    parts.iter().take(open).filter_map(piece).collect()
}

fn piece(piece: &ReplyPart<'_>) -> Option<Value> {
    match piece {
        ReplyPart::Text(words) => Some(text(words)),
        ReplyPart::Sealed { data, .. } => decode::unseal(data),
        ReplyPart::Call { id, name, input } => Some(json!({
            "type": "tool_use",
            "id": id,
            "name": name,
            "input": dialogue::object(input),
        })),
    }
}

fn result(answer: &CallResult<'_>) -> Value {
    let content = match answer.image {
        None => json!(answer.content),
        Some(image) => {
            let source = json!({
                "type": "base64",
                "media_type": image.media_type,
                "data": image.data,
            });
            json!([text(answer.content), {"type": "image", "source": source}])
        }
    };
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": answer.id,
        "content": content,
    });
    if answer.is_error {
        block["is_error"] = Value::Bool(true);
    }
    block
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn tool(tool: &OfferedTool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    })
}

fn block_at<'a>(
    position: BlockPosition,
    system: &'a mut [Value],
    messages: &'a mut [(Role, Vec<Value>)],
) -> Option<&'a mut Map<String, Value>> {
    let block = match position {
        BlockPosition::System(index) => system.get_mut(index),
        BlockPosition::Turn(turn, index) => messages
            .get_mut(turn)
            .and_then(|(_, blocks)| blocks.get_mut(index)),
    };
    block.and_then(Value::as_object_mut)
}
