//! The four wire protocols as pure functions: a provider-neutral request to JSON, and JSON back to blocks.
//!
//! A codec knows its protocol and nothing of addresses, headers, time or sockets. `dialogue` does once what all of them
//! need: it makes any stored transcript valid for any protocol.

pub(crate) mod anthropic;
mod body;
pub(crate) mod chat;
pub(crate) mod codex;
mod dialogue;
pub(crate) mod json;
mod reported;
pub(crate) mod responses;
pub(crate) mod stream;

#[cfg(test)]
mod images;
#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod sample;

pub(crate) use body::{Body, Item, Member};

use holon_domain::model::{ModelFailureKind, ModelReply, ModelRequest, ReplyBlock, StopReason};
use holon_domain::provider::{ProviderSpec, Transport};
use holon_domain::tool::OfferedTool;
use serde_json::{Map, Value};

/// The decoded answer of one round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecodedReply {
    pub(crate) reply: ModelReply,
    /// Id under which the provider stores the answer; absent if it does not store it or did not say so.
    pub(crate) stored_id: Option<String>,
}

/// Reason why a response with a success status holds no usable answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// The body does not match the protocol.
    Malformed {
        /// Short description of the mismatch.
        what: String,
    },
    /// The body is no JSON.
    NotJson {
        /// Short description of what it is instead.
        what: String,
    },
    /// The body itself reports a failure.
    Reported {
        /// Failure class that the provider's code or message maps to.
        kind: ModelFailureKind,
        /// The provider's message, of any length.
        message: String,
    },
    /// The stream ended before its terminal event.
    CutOff,
}

impl Fault {
    fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed { what: what.into() }
    }
}

/// Encodes a request in the provider's protocol, as a stream.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Body {
    match provider.transport {
        Transport::OpenaiResponses => responses::encode(provider, request),
        Transport::OpenaiCodexResponses => codex::encode(provider, request),
        Transport::AnthropicMessages => anthropic::encode(provider, request),
        Transport::OpenaiChatCompletions => chat::encode(provider, request),
    }
}

/// Decodes the body of a successful response. `tools` are those the request offered.
pub(crate) fn decode(
    transport: Transport,
    tools: &[OfferedTool],
    body: &[u8],
) -> Result<DecodedReply, Fault> {
    answer(transport, tools, &Value::Object(json_object(body)?))
}

/// Decodes a document that came as a body or from a stream.
pub(crate) fn answer(
    transport: Transport,
    tools: &[OfferedTool],
    document: &Value,
) -> Result<DecodedReply, Fault> {
    match transport {
        Transport::OpenaiResponses | Transport::OpenaiCodexResponses => {
            responses::answer(tools, document)
        }
        Transport::AnthropicMessages => anthropic::answer(document),
        Transport::OpenaiChatCompletions => chat::answer(document),
    }
}

/// Parses a body as a JSON object.
fn json_object(body: &[u8]) -> Result<Map<String, Value>, Fault> {
    match json::parse_answer(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Fault::malformed("the answer is JSON but no object")),
        Err(error) if error.is_data() => Err(Fault::malformed(format!(
            "the answer is JSON that is too large to be one: {error}"
        ))),
        Err(error) => Err(Fault::NotJson {
            what: format!("the answer is not JSON: {error}"),
        }),
    }
}

/// Parses arguments that were written as text. Text that is not JSON, or needs too much memory, stays text: the tool
/// then refuses it and the model can correct itself.
fn parse_arguments(raw: &str) -> Value {
    if raw.trim().is_empty() {
        return Value::Object(Map::new());
    }
    json::parse(raw.as_bytes()).unwrap_or_else(|_| Value::String(raw.to_owned()))
}

/// Removes the calls of a refused answer, so that none of them is run.
fn remove_calls(mut blocks: Vec<ReplyBlock>) -> Vec<ReplyBlock> {
    blocks.retain(|block| !matches!(block, ReplyBlock::Call(_)));
    blocks
}

/// Returns the stop reason of an answer that was not cut off: tool use if it has calls, else the end of the turn.
fn natural_stop_reason(blocks: &[ReplyBlock]) -> StopReason {
    let calls = |block: &ReplyBlock| matches!(block, ReplyBlock::Call(_));
    if blocks.iter().any(calls) {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    }
}
