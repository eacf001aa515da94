//! Turns a stored transcript into a conversation that every protocol accepts.
//!
//! The protocols share a grammar: a call is answered exactly once, right after the turn that made it; an id is returned
//! to a provider only if that provider assigned it; sealed reasoning is returned only to the model that sealed it;
//! nothing empty is sent; the last turn is not the assistant's. `steps` makes a sequence with these properties from any
//! stored transcript and loses no text.

mod wire;

#[cfg(test)]
mod tests;

pub(crate) use wire::object;

use holon_domain::CallId;
use holon_domain::block::{Block, calls_of};
use holon_domain::image::ShownImage;
use holon_domain::model::{ConversationItem, ModelRef, ModelRequest, PromptBlock};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use wire::WireIds;

/// User text for requests in which a protocol requires a user message and the conversation has none.
pub(crate) const GO_ON: &str = "Go on.";
/// Result of a call that has no result in the transcript.
const NO_RESULT: &str = "No result of this call was recorded.";
/// Replaces the content of an empty result.
const EMPTY_RESULT: &str = "(empty)";
/// Prefix of the result of a failed call.
const FAILED: &str = "[the call failed]";
/// Prefix of a result whose call is not in the conversation.
const STRAY_RESULT: &str = "A tool result without a call in this conversation:";

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step<'a> {
    /// Output of the model; never empty.
    Assistant(Vec<ReplyPart<'a>>),
    /// The results of all calls of the assistant step right before, in the order of the calls; never empty.
    Results(Vec<CallResult<'a>>),
    /// Text from outside the model; never empty.
    User(Cow<'a, str>),
    /// Image that belongs to the user text before it.
    Image(&'a ShownImage),
}

/// One part of the model's output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReplyPart<'a> {
    /// A text that is never empty.
    Text(&'a str),
    /// Reasoning that this model sealed; it is returned unchanged.
    Sealed {
        /// The readable part; may be empty.
        text: &'a str,
        /// The sealed form, as the codec that made it stored it.
        data: &'a str,
    },
    Call {
        /// The id on the wire: the provider's own if it may be returned, else the runtime's.
        id: String,
        /// The tool's name, in characters every protocol accepts.
        name: Cow<'a, str>,
        /// The arguments: an object in every well-formed call. `object` converts the others.
        input: &'a Value,
    },
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallResult<'a> {
    /// Id of the call on the wire.
    pub(crate) id: String,
    /// The tool's name, spelled as in the call.
    pub(crate) name: Cow<'a, str>,
    /// A text that is never empty.
    pub(crate) content: &'a str,
    pub(crate) is_error: bool,
    /// Image that the call viewed.
    pub(crate) image: Option<&'a ShownImage>,
}

/// Recorded result of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Recorded<'a> {
    content: &'a str,
    is_error: bool,
    image: Option<&'a ShownImage>,
}

impl CallResult<'_> {
    /// Returns the content with a prefix if the call failed, for protocols without a member for that.
    pub(crate) fn marked_content(&self) -> Cow<'_, str> {
        if self.is_error {
            Cow::Owned(format!("{FAILED}\n{}", self.content))
        } else {
            Cow::Borrowed(self.content)
        }
    }
}

/// Returns true if a text is empty or only whitespace; protocols refuse such texts.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control())
}

/// Iterates over the blocks of a prompt that are not blank.
pub(crate) fn nonblank_blocks(blocks: &[PromptBlock]) -> impl Iterator<Item = &PromptBlock> {
    blocks.iter().filter(|block| !is_blank(&block.text))
}

/// One piece of a dialogue: an item, or a text that a user message holds.
#[derive(Debug, Clone, Copy)]
enum Piece<'a> {
    Item(&'a ConversationItem),
    Text(&'a str),
}

/// Converts a request to steps in the shared grammar: the earlier turns, the context of this one, and what was said since.
/// A past turn is converted as it was when it was the current one, so a request begins with the bytes of the one before.
pub(crate) fn steps(request: &ModelRequest) -> Vec<Step<'_>> {
    let earlier = request.thread.iter().flat_map(|turn| &turn.items);
    let context = nonblank_blocks(&request.frame.context_blocks);
    let pieces: Vec<Piece<'_>> = earlier
        .map(Piece::Item)
        .chain(context.map(|block| Piece::Text(&block.text)))
        .chain(request.conversation.iter().map(Piece::Item))
        .collect();
    arrange(&pieces, &request.model)
}

/// Converts items alone to steps, for a request to `model`.
pub(crate) fn steps_of<'a>(items: &'a [ConversationItem], model: &ModelRef) -> Vec<Step<'a>> {
    let pieces: Vec<Piece<'a>> = items.iter().map(Piece::Item).collect();
    arrange(&pieces, model)
}

fn arrange<'a>(pieces: &[Piece<'a>], model: &ModelRef) -> Vec<Step<'a>> {
    let lineage = model.to_string();
    let mut ids = WireIds::new(&lineage);
    let mut results = Results::of(pieces);
    let mut steps = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let item = match piece {
            Piece::Item(item) => item,
            Piece::Text(text) => {
                steps.push(Step::User(Cow::Borrowed(text)));
                continue;
            }
        };
        match item {
            ConversationItem::Assistant { blocks, .. } => {
                assistant(blocks, &mut ids, &mut results, &mut steps);
            }
            ConversationItem::User { text } if is_blank(text) => {}
            ConversationItem::User { text } => steps.push(Step::User(Cow::Borrowed(text))),
            // One that is not read has a text in its place.
            ConversationItem::Image(attached) => {
                steps.extend(attached.shown.as_ref().map(Step::Image));
            }
            // A result is sent with its call. A result without a call becomes user text, so that the model still sees
            // it.
            ConversationItem::ToolResult { content, .. } => {
                if results.is_stray(index) && !is_blank(content) {
                    steps.push(Step::User(format!("{STRAY_RESULT}\n{content}").into()));
                }
            }
        }
    }
    if let Some(Step::Assistant(_)) = steps.last() {
        steps.push(Step::User(Cow::Borrowed(GO_ON)));
    }
    steps
}

/// Pairs results with calls: the first result of an id belongs to its first call, the second to its second.
struct Results<'a> {
    waiting: HashMap<&'a CallId, std::vec::IntoIter<Recorded<'a>>>,
    stray: Vec<usize>,
}

impl<'a> Results<'a> {
    fn of(pieces: &[Piece<'a>]) -> Self {
        let mut calls: HashMap<&CallId, usize> = HashMap::new();
        for piece in pieces {
            if let Piece::Item(ConversationItem::Assistant { blocks, .. }) = piece {
                for call in calls_of(blocks) {
                    *calls.entry(&call.id).or_default() += 1;
                }
            }
        }
        let mut found: HashMap<&CallId, Vec<Recorded<'_>>> = HashMap::new();
        let mut stray = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            if let Piece::Item(ConversationItem::ToolResult {
                call_id,
                content,
                is_error,
                image,
            }) = piece
            {
                let result = Recorded {
                    content,
                    is_error: *is_error,
                    image: image.as_ref(),
                };
                let of_call = found.entry(call_id).or_default();
                if of_call.len() < calls.get(call_id).copied().unwrap_or_default() {
                    of_call.push(result);
                } else if !of_call.contains(&result) {
                    stray.push(index);
                }
            }
        }
        let waiting = found
            .into_iter()
            .map(|(id, results)| (id, results.into_iter()))
            .collect();
        Self { waiting, stray }
    }

    fn is_stray(&self, index: usize) -> bool {
        self.stray.binary_search(&index).is_ok()
    }

    fn take(&mut self, call: &CallId) -> Recorded<'a> {
        match self.waiting.get_mut(call).and_then(Iterator::next) {
            Some(result) if is_blank(result.content) => Recorded {
                content: EMPTY_RESULT,
                ..result
            },
            Some(result) => result,
            None => Recorded {
                content: NO_RESULT,
                is_error: true,
                image: None,
            },
        }
    }
}

fn assistant<'a>(
    blocks: &'a [Block],
    ids: &mut WireIds<'_>,
    results: &mut Results<'a>,
    steps: &mut Vec<Step<'a>>,
) {
    let (mut parts, mut answered) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text { text } if is_blank(text) => {}
            Block::Text { text } => parts.push(ReplyPart::Text(text)),
            Block::Reasoning { text, opaque } => {
                if let Some(data) = ids.own(opaque.as_ref()) {
                    parts.push(ReplyPart::Sealed { text, data });
                }
            }
            Block::ToolCall(call) => {
                let id = ids.of(call);
                let name = wire::name(&call.name);
                let result = results.take(&call.id);
                parts.push(ReplyPart::Call {
                    id: id.clone(),
                    name: name.clone(),
                    input: &call.input,
                });
                answered.push(CallResult {
                    id,
                    name,
                    content: result.content,
                    is_error: result.is_error,
                    image: result.image,
                });
            }
        }
    }
    // Reasoning alone is not a turn: protocols refuse it, and it led to nothing.
    if parts
        .iter()
        .all(|piece| matches!(piece, ReplyPart::Sealed { .. }))
    {
        return;
    }
    steps.push(Step::Assistant(parts));
    if !answered.is_empty() {
        steps.push(Step::Results(answered));
    }
}
