//! The conversation as every protocol can take it.
//!
//! Protocols differ in words and agree on grammar: a call is answered exactly once, right after the turn that made
//! it; an id goes back to a provider only if that provider gave it; sealed reasoning returns only to the model that
//! sealed it; nothing empty is sent; the last word is not the assistant's. Whatever the store holds, `steps` makes a
//! sequence with these properties and loses no words.

mod wire;

#[cfg(test)]
mod tests;

pub(crate) use wire::object;

use holon_domain::CallId;
use holon_domain::block::{Block, calls_of};
use holon_domain::model::{ConversationItem, ModelRef, PromptBlock};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use wire::WireIds;

/// Said where a protocol wants the user's word and nobody has one.
pub(crate) const GO_ON: &str = "Go on.";
/// Said for a call whose result is not in the transcript.
const NO_RESULT: &str = "No result of this call was recorded.";
/// Said for a result without words.
const EMPTY_RESULT: &str = "(empty)";
/// Stands before what a failed call said.
const FAILED: &str = "[the call failed]";
/// Stands before a result that no call is left for.
const STRAY_RESULT: &str = "A tool result without a call in this conversation:";

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step<'a> {
    /// What the model said; never empty.
    Assistant(Vec<Said<'a>>),
    /// The answers to all calls of the assistant step right before, in the order of the calls; never empty.
    Results(Vec<Answered<'a>>),
    /// Words from outside; never empty.
    User(Cow<'a, str>),
}

/// One piece of what the model said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said<'a> {
    /// Words; never empty.
    Text(&'a str),
    /// Reasoning that this very model sealed; goes back as it came.
    Sealed {
        /// What of it may be read.
        text: &'a str,
        /// The sealed form, as the codec that made it left it.
        data: &'a str,
    },
    /// A call.
    Call {
        /// The id on the wire: the provider's own where it is ours to return, else the runtime's.
        id: String,
        /// The tool, in letters every protocol takes.
        name: Cow<'a, str>,
        /// The arguments; an object in every well-formed call, for the others see `object`.
        input: &'a Value,
    },
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered<'a> {
    /// The id of the call on the wire.
    pub(crate) id: String,
    /// The tool, as the call names it.
    pub(crate) name: Cow<'a, str>,
    /// What it said; never empty.
    pub(crate) content: &'a str,
    /// Whether it failed.
    pub(crate) is_error: bool,
}

impl Answered<'_> {
    /// What it said, marked if it failed: for protocols that have no other place for that.
    pub(crate) fn marked(&self) -> Cow<'_, str> {
        if self.is_error {
            Cow::Owned(format!("{FAILED}\n{}", self.content))
        } else {
            Cow::Borrowed(self.content)
        }
    }
}

/// Whether a text has nothing to read; protocols refuse such texts.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control())
}

/// The blocks of a prompt that say something.
pub(crate) fn spoken(blocks: &[PromptBlock]) -> impl Iterator<Item = &PromptBlock> {
    blocks.iter().filter(|block| !is_blank(&block.text))
}

/// The conversation in the grammar every protocol shares, for `model`.
pub(crate) fn steps<'a>(conversation: &'a [ConversationItem], model: &ModelRef) -> Vec<Step<'a>> {
    let lineage = model.to_string();
    let mut ids = WireIds::new(&lineage);
    let mut results = Results::of(conversation);
    let mut steps = Vec::new();
    for (index, item) in conversation.iter().enumerate() {
        match item {
            ConversationItem::Assistant { blocks, .. } => {
                assistant(blocks, &mut ids, &mut results, &mut steps);
            }
            ConversationItem::User { text } if is_blank(text) => {}
            ConversationItem::User { text } => steps.push(Step::User(Cow::Borrowed(text))),
            // A result stands with its call; one that has none is still something the model should know.
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

/// Which result belongs to which call: the first result of an id to its first call, the second to its second.
struct Results<'a> {
    waiting: HashMap<&'a CallId, std::vec::IntoIter<(&'a str, bool)>>,
    stray: Vec<usize>,
}

impl<'a> Results<'a> {
    fn of(conversation: &'a [ConversationItem]) -> Self {
        let mut calls: HashMap<&CallId, usize> = HashMap::new();
        for item in conversation {
            if let ConversationItem::Assistant { blocks, .. } = item {
                for call in calls_of(blocks) {
                    *calls.entry(&call.id).or_default() += 1;
                }
            }
        }
        let mut found: HashMap<&CallId, Vec<(&str, bool)>> = HashMap::new();
        let mut stray = Vec::new();
        for (index, item) in conversation.iter().enumerate() {
            if let ConversationItem::ToolResult {
                call_id,
                content,
                is_error,
            } = item
            {
                let of_call = found.entry(call_id).or_default();
                if of_call.len() < calls.get(call_id).copied().unwrap_or_default() {
                    of_call.push((content, *is_error));
                } else if !of_call.contains(&(content, *is_error)) {
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

    fn take(&mut self, call: &CallId) -> (&'a str, bool) {
        match self.waiting.get_mut(call).and_then(Iterator::next) {
            Some((content, is_error)) if is_blank(content) => (EMPTY_RESULT, is_error),
            Some(result) => result,
            None => (NO_RESULT, true),
        }
    }
}

fn assistant<'a>(
    blocks: &'a [Block],
    ids: &mut WireIds<'_>,
    results: &mut Results<'a>,
    steps: &mut Vec<Step<'a>>,
) {
    let (mut said, mut answered) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text { text } if is_blank(text) => {}
            Block::Text { text } => said.push(Said::Text(text)),
            Block::Reasoning { text, opaque } => {
                if let Some(data) = ids.own(opaque.as_ref()) {
                    said.push(Said::Sealed { text, data });
                }
            }
            Block::ToolCall(call) => {
                let id = ids.of(call);
                let name = wire::name(&call.name);
                let (content, is_error) = results.take(&call.id);
                said.push(Said::Call {
                    id: id.clone(),
                    name: name.clone(),
                    input: &call.input,
                });
                answered.push(Answered {
                    id,
                    name,
                    content,
                    is_error,
                });
            }
        }
    }
    // Reasoning alone is no turn: a protocol would refuse it, and it led to nothing.
    if said
        .iter()
        .all(|piece| matches!(piece, Said::Sealed { .. }))
    {
        return;
    }
    steps.push(Step::Assistant(said));
    if !answered.is_empty() {
        steps.push(Step::Results(answered));
    }
}
