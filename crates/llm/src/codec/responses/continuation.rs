//! A request in its shorter form: the id of an earlier answer and only what is new since.
//!
//! Owns the test whether the shorter form means the same. Keeping snapshots, and sending the full form when the
//! provider has lost the answer, is the caller's. Invariant: whatever is not known to be equal is unequal, and then
//! there is no shorter form.

use super::input::assistant;
use crate::codec::Decoded;
use crate::codec::dialogue::{Step, steps};
use holon_domain::CallId;
use holon_domain::block::{Block, OpaqueData, ToolCall};
use holon_domain::model::{ConversationItem, ModelRequest, ReplyBlock, StopReason};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

type Hash = [u8; 32];

/// What a provider knows after an answer that it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Of everything in the request but its input.
    surroundings: Hash,
    /// How many items it knows: those of the request and those of its answer.
    items: usize,
    /// Of these items.
    known: Hash,
    /// The answer's id.
    response_id: String,
}

impl Snapshot {
    /// What the provider knows after it answered `request`, sent as `full`, with `decoded`; none if it does not keep
    /// the answer, or if the answer may not come back word by word.
    pub(crate) fn of(request: &ModelRequest, full: &Value, decoded: &Decoded) -> Option<Self> {
        let stored = full.get("store").and_then(Value::as_bool) == Some(true);
        let response_id = decoded.stored_id.clone().filter(|_| stored)?;
        match decoded.reply.stop_reason {
            StopReason::EndTurn | StopReason::ToolUse => {}
            // Cut off or refused: what the provider kept of it is not known.
            StopReason::MaxOutputTokens | StopReason::Refusal => return None,
        }
        let said = lowered(request, &decoded.reply.blocks);
        let sent = full.get("input")?.as_array()?;
        Some(Self {
            surroundings: surroundings(full)?,
            items: sent.len() + said.len(),
            known: hash(sent.iter().chain(&said)),
            response_id,
        })
    }
}

/// The shorter form of the full request `full`, if it only adds to what `previous` saw.
pub(crate) fn continuation(full: &Value, previous: &Snapshot) -> Option<Value> {
    let input = full.get("input")?.as_array()?;
    let (known, new) = input.split_at_checked(previous.items)?;
    let extends = !new.is_empty()
        && surroundings(full)? == previous.surroundings
        && hash(known) == previous.known;
    if !extends {
        return None;
    }
    let mut body: Map<String, Value> = rest(full)?
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    body.insert("input".into(), Value::Array(new.to_vec()));
    body.insert("previous_response_id".into(), json!(previous.response_id));
    Some(Value::Object(body))
}

/// The items an answer comes back as in the next full request, where its ids can go back at all and the same tools are
/// offered; with other tools the surroundings differ.
fn lowered(request: &ModelRequest, blocks: &[ReplyBlock]) -> Vec<Value> {
    let lineage = request.model.to_string();
    let sealed = |data: &Option<String>| {
        data.clone().map(|data| OpaqueData {
            lineage: lineage.clone(),
            data,
        })
    };
    let blocks = blocks.iter().map(|block| match block {
        ReplyBlock::Text { text } => Block::Text { text: text.clone() },
        ReplyBlock::Reasoning { text, opaque } => Block::Reasoning {
            text: text.clone(),
            opaque: sealed(opaque),
        },
        // The runtime's own id is not known yet. A call that needs it on the wire will differ from this one, and
        // the next request is then sent in full.
        ReplyBlock::Call(call) => Block::ToolCall(ToolCall {
            id: CallId::from_stored(""),
            name: call.name.clone(),
            input: call.input.clone(),
            provider_id: sealed(&call.provider_id),
        }),
    });
    let item = ConversationItem::Assistant {
        model_ref: lineage.clone(),
        blocks: blocks.collect(),
    };
    steps(&[item], &request.model)
        .iter()
        .flat_map(|step| match step {
            Step::Assistant(said) => assistant(said, &request.tools),
            Step::Results(_) | Step::User(_) => Vec::new(),
        })
        .collect()
}

/// Everything in a request but its input.
fn rest(full: &Value) -> Option<impl Iterator<Item = (&String, &Value)>> {
    let members = full.as_object()?.iter();
    Some(members.filter(|(name, _)| *name != "input"))
}

fn surroundings(full: &Value) -> Option<Hash> {
    let mut hasher = Sha256::new();
    for (name, value) in rest(full)? {
        add(&mut hasher, name);
        add(&mut hasher, &value.to_string());
    }
    Some(hasher.finalize().into())
}

fn hash<'a>(items: impl IntoIterator<Item = &'a Value>) -> Hash {
    let mut hasher = Sha256::new();
    for item in items {
        add(&mut hasher, &item.to_string());
    }
    hasher.finalize().into()
}

/// Adds a text and where it ends.
fn add(hasher: &mut Sha256, text: &str) {
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}
