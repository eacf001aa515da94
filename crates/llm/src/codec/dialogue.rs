//! The conversation as every protocol can take it.
//!
//! Protocols differ in words and agree on grammar: a call is answered exactly once, right after the turn that made
//! it; an id goes back to a provider only if that provider gave it; sealed reasoning returns only to the model that
//! sealed it; nothing empty is sent; the last word is not the assistant's. Whatever the store holds, `steps` makes a
//! sequence with these properties and loses no words.

use holon_domain::CallId;
use holon_domain::block::{Block, Opaque, ToolCall};
use holon_domain::model::{ConversationItem, ModelRef};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Said for a call whose result is not in the transcript.
const NO_RESULT: &str = "No result of this call was recorded.";
/// Said when a transcript ends with the assistant's own words.
const GO_ON: &str = "Go on.";
/// Longest id every protocol takes.
const ID_CHARS: usize = 64;

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step<'a> {
    /// What the model said; never empty.
    Assistant(Vec<Said<'a>>),
    /// The answers to all calls of the assistant step right before, in the order of the calls; never empty.
    Results(Vec<Answered<'a>>),
    /// Words from outside; never empty.
    User(&'a str),
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
        /// The tool.
        name: &'a str,
        /// The arguments; an object in every well-formed call.
        input: &'a Value,
    },
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answered<'a> {
    /// The id of the call on the wire.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: &'a str,
    /// What it said; never empty.
    pub(crate) content: &'a str,
    /// Whether it failed.
    pub(crate) is_error: bool,
}

/// The conversation in the grammar every protocol shares, for `model`.
pub(crate) fn steps<'a>(conversation: &'a [ConversationItem], model: &ModelRef) -> Vec<Step<'a>> {
    let lineage = model.to_string();
    let results = results(conversation);
    let mut ids = WireIds::new(&lineage);
    let mut steps = Vec::new();
    for item in conversation {
        match item {
            ConversationItem::Assistant { blocks, .. } => {
                assistant(blocks, &mut ids, &results, &mut steps);
            }
            ConversationItem::User { text } if !text.trim().is_empty() => {
                steps.push(Step::User(text));
            }
            // A result stands with its call.
            ConversationItem::User { .. } | ConversationItem::ToolResult { .. } => {}
        }
    }
    if let Some(Step::Assistant(_)) = steps.last() {
        steps.push(Step::User(GO_ON));
    }
    steps
}

/// The first result of each call.
fn results(conversation: &[ConversationItem]) -> HashMap<&CallId, (&str, bool)> {
    let mut results = HashMap::new();
    for item in conversation {
        match item {
            ConversationItem::ToolResult {
                call_id,
                content,
                is_error,
            } => {
                results
                    .entry(call_id)
                    .or_insert((content.as_str(), *is_error));
            }
            ConversationItem::Assistant { .. } | ConversationItem::User { .. } => {}
        }
    }
    results
}

fn assistant<'a>(
    blocks: &'a [Block],
    ids: &mut WireIds<'_>,
    results: &HashMap<&CallId, (&'a str, bool)>,
    steps: &mut Vec<Step<'a>>,
) {
    let (mut said, mut answered) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text { text } if !text.trim().is_empty() => said.push(Said::Text(text)),
            Block::Reasoning { text, opaque } => {
                if let Some(data) = ids.own(opaque.as_ref()) {
                    said.push(Said::Sealed { text, data });
                }
            }
            Block::ToolCall(call) => {
                let id = ids.of(call);
                let (content, is_error) = match results.get(&call.id) {
                    Some((content, is_error)) if !content.trim().is_empty() => {
                        (*content, *is_error)
                    }
                    Some((_, is_error)) => ("(empty)", *is_error),
                    None => (NO_RESULT, true),
                };
                said.push(Said::Call {
                    id: id.clone(),
                    name: &call.name,
                    input: &call.input,
                });
                answered.push(Answered {
                    id,
                    name: &call.name,
                    content,
                    is_error,
                });
            }
            Block::Text { .. } => {}
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

/// Which id each call has on the wire.
struct WireIds<'m> {
    lineage: &'m str,
    taken: HashSet<String>,
}

impl<'m> WireIds<'m> {
    fn new(lineage: &'m str) -> Self {
        Self {
            lineage,
            taken: HashSet::new(),
        }
    }

    /// Data that may go back to this model.
    fn own<'a>(&self, opaque: Option<&'a Opaque>) -> Option<&'a str> {
        opaque
            .filter(|opaque| opaque.lineage == self.lineage)
            .map(|opaque| opaque.data.as_str())
    }

    /// The provider's own id if it may go back, is one every protocol takes and no other call has it.
    fn of(&mut self, call: &ToolCall) -> String {
        let own = self
            .own(call.provider_id.as_ref())
            .filter(|id| is_plain(id) && !self.taken.contains(*id));
        let id = own.map_or_else(|| call.id.to_string(), str::to_owned);
        self.taken.insert(id.clone());
        id
    }
}

fn is_plain(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=ID_CHARS).contains(&id.len()) && id.chars().all(plain)
}
