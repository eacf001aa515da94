//! The four wire protocols as pure functions: a provider-neutral request to JSON, and JSON back to blocks.
//!
//! A codec knows its protocol and nothing of addresses, headers, time or sockets. What all of them must do with a
//! conversation, so that any stored transcript is valid for any of them, is done once in `dialogue`.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod codex;
mod dialogue;
pub(crate) mod json;
mod reported;
pub(crate) mod responses;

#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod sample;

use holon_domain::model::{ModelFailureKind, ModelReply, ReplyBlock, StopReason};
use serde_json::{Map, Value};

/// A decoded answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decoded {
    /// What was said.
    pub(crate) reply: ModelReply,
    /// The answer as the provider keeps it, when it does and said so.
    pub(crate) stored_id: Option<String>,
}

/// Why an answer with a good status is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// It is not what the protocol describes.
    Malformed {
        /// What is wrong, in a few words.
        what: String,
    },
    /// The provider says inside the answer that it failed.
    Reported {
        /// The class of its code.
        kind: ModelFailureKind,
        /// Its words, unbounded as they came.
        message: String,
    },
    /// The stream ended before the provider said that it was done.
    CutOff,
}

impl Fault {
    fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed { what: what.into() }
    }
}

/// The object an answer consists of.
fn json_object(body: &[u8]) -> Result<Map<String, Value>, Fault> {
    match json::parse(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Fault::malformed("the answer is JSON but no object")),
        Err(error) if error.is_data() => Err(Fault::malformed(format!(
            "the answer is JSON that is too large to be one: {error}"
        ))),
        Err(error) => Err(Fault::malformed(format!("the answer is not JSON: {error}"))),
    }
}

/// The arguments of a call that were written as text; text that is no JSON, or too much of it, stays text, and the tool
/// answers for it, so that the model can correct itself.
fn written_arguments(raw: &str) -> Value {
    if raw.trim().is_empty() {
        return Value::Object(Map::new());
    }
    json::parse(raw.as_bytes()).unwrap_or_else(|_| Value::String(raw.to_owned()))
}

/// An answer that was refused: what was said stays, and no call of it may be run.
fn without_calls(mut blocks: Vec<ReplyBlock>) -> Vec<ReplyBlock> {
    blocks.retain(|block| !matches!(block, ReplyBlock::Call(_)));
    blocks
}

/// How an answer ended that was not cut off: with calls, or for good.
fn finished(blocks: &[ReplyBlock]) -> StopReason {
    let calls = |block: &ReplyBlock| matches!(block, ReplyBlock::Call(_));
    if blocks.iter().any(calls) {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    }
}
