//! Encodes requests for Anthropic's Messages API as one JSON document. The answer is read in `decode`.
//!
//! Owns what only this protocol has: text blocks with cache breakpoints (`cache`), roles that alternate and begin with
//! the user, thinking that is returned with its signature, and clearing of old tool results by the server (`clearing`).

mod cache;
mod clearing;
mod decode;
mod message;
mod stream;

#[cfg(test)]
mod tests;

pub(crate) use decode::answer;
pub(crate) use stream::Assembler;

use super::dialogue::{self, CallResult, GO_ON, ReplyPart, Step};
use super::{Body, Item};
use cache::{BlockPosition, Marks};
use holon_domain::image::ShownImage;
use holon_domain::model::{CacheLife, ModelRequest, PromptFrame};
use holon_domain::provider::{PromptCapability, ProviderSpec};
use holon_domain::tool::OfferedTool;
use message::{Block, ImageSource, ResultContent, ResultPart, Role, Turn};
use serde_json::{Map, Value, json};

/// Encodes a request as the body of a Messages call.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Body {
    let least = cache::least_cached_tokens(request.model.model());
    let mut marks = Marks::new(request.tools.estimated_tokens(), least);
    let mut system = system(&request.frame, &mut marks);
    let steps = dialogue::steps(request);
    let messages = messages(&steps);
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", json!(request.model.model()));
    put("max_tokens", json!(request.max_output_tokens.max(1)));
    if let Some(management) = &provider.context_management {
        clearing::log_eligible(management, &messages);
        let order = clearing::request_member(management, &request.tools);
        put("context_management", order);
    }
    let thinking = request
        .reasoning
        .thinking_within(request.max_output_tokens)
        .filter(|_| messages.may_think());
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
    let positions = if provider.can(PromptCapability::PromptCacheBlocks) {
        marks.positions(&messages.0)
    } else {
        Vec::new()
    };
    for position in &positions {
        if let BlockPosition::System(index) = position
            && let Some(block) = system.get_mut(*index)
        {
            mark(block, request.frame.cache.life);
        }
    }
    if !system.is_empty() {
        put("system", Value::Array(system));
    }
    Body::new(body)
        .with_conversation(
            "messages",
            messages.into_items(&positions, request.frame.cache.life),
        )
        .with_tools(&request.tools, provider.transport, tool)
}

/// Most bytes of an image in base64. The API refuses a request with a larger one.
const IMAGE_DATA_BYTES: usize = 5 << 20;
/// Stands in place of a larger image.
const TOO_LARGE: &str =
    "[the image is not shown: this provider takes about 3.9 MB, and the file is larger]";

/// The turns of a request; no two in a row have the same role.
#[derive(Default)]
struct Messages<'a>(Vec<Turn<'a>>);

impl<'a> Messages<'a> {
    fn push(&mut self, role: Role, block: Block<'a>) {
        match self.0.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            Some(_) | None => self.0.push(Turn {
                role,
                content: vec![block],
            }),
        }
    }

    /// Returns false in the middle of tool calls that began without thinking, for example by another model. The API
    /// then refuses thinking until the next message of the user.
    fn may_think(&self) -> bool {
        let mut turns = self.0.iter().rev();
        match (turns.next(), turns.next()) {
            (Some(results), Some(said)) if results.role == Role::User => {
                let is_result = |block: &Block<'_>| matches!(block, Block::ToolResult { .. });
                let is_open = results.content.iter().any(is_result);
                !is_open || matches!(said.content.first(), Some(Block::Sealed(_)))
            }
            _ => true,
        }
    }

    /// Renders the turns. A turn with a cache breakpoint stays a value, because some servers refuse breakpoints.
    fn into_items(self, positions: &[BlockPosition], life: CacheLife) -> Vec<Item> {
        let turns = self.0.iter().enumerate();
        turns
            .map(|(index, turn)| {
                let marked: Vec<usize> = positions
                    .iter()
                    .filter_map(|position| match position {
                        BlockPosition::Turn(turn, block) if *turn == index => Some(*block),
                        BlockPosition::Turn(..) | BlockPosition::System(_) => None,
                    })
                    .collect();
                if marked.is_empty() {
                    return Item::text(turn);
                }
                let mut value = json!(turn);
                for block in marked {
                    mark(&mut value["content"][block], life);
                }
                Item::Value(value)
            })
            .collect()
    }
}

/// Puts a cache breakpoint on a block. All breakpoints of a request have one life.
fn mark(block: &mut Value, life: CacheLife) {
    block["cache_control"] = match life {
        CacheLife::Usual => json!({"type": "ephemeral"}),
        CacheLife::Long => json!({"type": "ephemeral", "ttl": "1h"}),
    };
}

fn system(frame: &PromptFrame, marks: &mut Marks) -> Vec<Value> {
    let text = |text: &str| json!(Block::Text { text });
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

fn messages<'a>(steps: &'a [Step<'a>]) -> Messages<'a> {
    let mut messages = Messages::default();
    for step in steps {
        match step {
            Step::Assistant(parts) => {
                if messages.0.is_empty() {
                    messages.push(Role::User, Block::Text { text: GO_ON });
                }
                for block in assistant(parts) {
                    messages.push(Role::Assistant, block);
                }
            }
            Step::Results(answered) => {
                for answer in answered {
                    messages.push(Role::User, result(answer));
                }
            }
            Step::User(text) => messages.push(Role::User, Block::Text { text }),
            Step::Image(image) => messages.push(Role::User, sent_image(image)),
        }
    }
    if messages.0.is_empty() {
        messages.push(Role::User, Block::Text { text: GO_ON });
    }
    messages
}

fn assistant<'a>(parts: &'a [ReplyPart<'a>]) -> impl Iterator<Item = Block<'a>> {
    let open = parts
        .iter()
        .rposition(|piece| !matches!(piece, ReplyPart::Sealed { .. }))
        .map_or(0, |last| last + 1);
    // The API refuses a turn that ends in thinking, and such thinking led to no call and no text.
    parts.iter().take(open).filter_map(piece)
}

fn piece<'a>(piece: &'a ReplyPart<'a>) -> Option<Block<'a>> {
    match piece {
        ReplyPart::Text(text) => Some(Block::Text { text }),
        ReplyPart::Sealed { data, .. } => decode::unseal(data).map(Block::Sealed),
        ReplyPart::Call { id, name, input } => Some(Block::ToolUse {
            id,
            name,
            input: dialogue::object(input),
        }),
    }
}

fn result<'a>(answer: &'a CallResult<'a>) -> Block<'a> {
    let text = answer.content;
    let content = match answer.image {
        None => ResultContent::Text(text),
        Some(image) => ResultContent::WithImage([
            ResultPart::Text { text },
            ResultPart::Image {
                source: source(image),
            },
        ]),
    };
    Block::ToolResult {
        tool_use_id: &answer.id,
        content,
        is_error: answer.is_error,
    }
}

/// Encodes an image of a message. One that the API would refuse, with the whole request, is only named.
fn sent_image(image: &ShownImage) -> Block<'_> {
    if image.data.len() > IMAGE_DATA_BYTES {
        return Block::Text { text: TOO_LARGE };
    }
    Block::Image {
        source: source(image),
    }
}

fn source(image: &ShownImage) -> ImageSource<'_> {
    ImageSource::Base64 {
        media_type: image.media_type,
        data: &image.data,
    }
}

fn tool(tool: &OfferedTool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    })
}
