//! Shortens a request to the id of an earlier answer and the items added since.
//!
//! Owns the test that the shorter form means the same. The caller stores the snapshots and sends the full form if the
//! provider has lost the answer. Invariant: if equality with the earlier request is not certain, there is no shorter
//! form.

use super::INPUT;
use super::input::assistant;
use crate::codec::dialogue::{Step, steps_of};
use crate::codec::{Body, DecodedReply, Item};
use holon_domain::CallId;
use holon_domain::block::{Block, OpaqueData, ToolCall};
use holon_domain::model::{ConversationItem, ModelRequest, ReplyBlock, StopReason};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

type Hash = [u8; 32];

/// Hashes of what a provider has stored after an answer, to compare the next request with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Hash of every member of the request except its input.
    surroundings: Hash,
    /// Number of stored items: those of the request and those of its answer.
    items: usize,
    /// Hash of the stored items.
    known: Hash,
    response_id: String,
}

impl Snapshot {
    /// Takes the snapshot after `request`, sent as `full`, was answered with `decoded`. Returns `None` if the provider
    /// does not store the answer, or if the answer may not be sent back unchanged.
    pub(crate) fn of(request: &ModelRequest, full: &Body, decoded: &DecodedReply) -> Option<Self> {
        let stored = full.get("store").and_then(Value::as_bool) == Some(true);
        let response_id = decoded.stored_id.clone().filter(|_| stored)?;
        match decoded.reply.stop_reason {
            StopReason::EndTurn | StopReason::ToolUse => {}
            // For an answer that was cut off or refused, it is unknown how much the provider stored.
            StopReason::MaxOutputTokens | StopReason::Refusal | StopReason::ContentFilter => {
                return None;
            }
        }
        let answer = encode_reply(request, &decoded.reply.blocks);
        let sent = full.conversation();
        Some(Self {
            surroundings: surroundings(full),
            items: sent.len() + answer.len(),
            known: hash(sent.iter().chain(&answer)),
            response_id,
        })
    }
}

/// Returns the shorter form of the request `full`, if it only adds items to those of `previous`.
pub(crate) fn continuation(full: &Body, previous: &Snapshot) -> Option<Body> {
    let (known, new) = full.conversation().split_at_checked(previous.items)?;
    let extends = !new.is_empty()
        && surroundings(full) == previous.surroundings
        && hash(known) == previous.known;
    if !extends {
        return None;
    }
    let mut body = full
        .without_conversation()
        .with_conversation(INPUT, new.to_vec());
    let id = json!(previous.response_id);
    body.members_mut().insert("previous_response_id".into(), id);
    Some(body)
}

/// Encodes an answer as it will appear in the next full request, provided its ids can be sent back and the same tools
/// are offered. With other tools the surroundings differ anyway.
fn encode_reply(request: &ModelRequest, blocks: &[ReplyBlock]) -> Vec<Item> {
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
        // The runtime's id of the call is not known yet. A call that needs it on the wire will differ from this one,
        // and the next request is then sent in full.
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
    steps_of(&[item], &request.model)
        .iter()
        .flat_map(|step| match step {
            Step::Assistant(parts) => assistant(parts, &request.tools),
            Step::Results(_) | Step::User(_) | Step::Image(_) => Vec::new(),
        })
        .collect()
}

/// Hashes every member of a request except its input.
fn surroundings(full: &Body) -> Hash {
    let mut hasher = Sha256::new();
    for (name, member) in full.members().filter(|(name, _)| *name != INPUT) {
        add(&mut hasher, name.as_bytes());
        let mut json = Vec::new();
        member.write(&mut json);
        add(&mut hasher, &json);
    }
    hasher.finalize().into()
}

fn hash<'a>(items: impl IntoIterator<Item = &'a Item>) -> Hash {
    let mut hasher = Sha256::new();
    for item in items {
        let mut json = Vec::new();
        item.write(&mut json);
        add(&mut hasher, &json);
    }
    hasher.finalize().into()
}

/// Adds bytes and their number to a hash.
fn add(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}
