//! Reads an answer of Anthropic's Messages API into blocks. It tolerates the differences of compatible servers and
//! skips content blocks of unknown types.

use super::clearing;
use crate::codec::{DecodedReply, Fault, json, natural_stop_reason, remove_calls, reported};
use holon_domain::attempt::TokenUsage;
use holon_domain::model::{ModelReply, ReplyBlock, RequestedCall, StopReason};
use serde_json::{Map, Value};

/// Decodes a message, whether it came as a body or from a stream.
pub(crate) fn answer(document: &Value) -> Result<DecodedReply, Fault> {
    let answer = document
        .as_object()
        .ok_or_else(|| Fault::malformed("the answer is JSON but no object"))?;
    if answer.get("type").and_then(Value::as_str) == Some("error") {
        return Err(reported::fault(answer.get("error").unwrap_or(&Value::Null)));
    }
    let Some(content) = answer.get("content").and_then(Value::as_array) else {
        return Err(Fault::malformed("the message has no content"));
    };
    let mut blocks: Vec<ReplyBlock> = content.iter().filter_map(block).collect();
    let stop_reason = stop_reason(answer.get("stop_reason"), &blocks);
    if stop_reason.voids_calls() {
        blocks = remove_calls(blocks);
    }
    Ok(DecodedReply {
        reply: ModelReply {
            blocks,
            stop_reason,
            usage: usage(answer.get("usage")),
            context_management: clearing::applied(answer),
        },
        stored_id: None,
    })
}

/// Returns the thinking block that `block` sealed, or `None` if this data was sealed by another codec.
pub(super) fn unseal(data: &str) -> Option<Value> {
    let block: Value = serde_json::from_str(data).ok()?;
    is_sealed(block.as_object()?).then_some(block)
}

/// Returns true if the API accepts this thinking back: it needs its signature, or the encrypted data of redacted
/// thinking.
fn is_sealed(block: &Map<String, Value>) -> bool {
    let has = |member: &str| block.get(member).is_some_and(Value::is_string);
    match block.get("type").and_then(Value::as_str) {
        Some("thinking") => has("thinking") && has("signature"),
        Some("redacted_thinking") => has("data"),
        Some(_) | None => false,
    }
}

fn block(block: &Value) -> Option<ReplyBlock> {
    let members = block.as_object()?;
    let words = |member: &str| members.get(member).and_then(Value::as_str);
    match words("type")? {
        "text" => words("text")
            .filter(|text| !text.is_empty())
            .map(|text| ReplyBlock::Text {
                text: text.to_owned(),
            }),
        "thinking" | "redacted_thinking" => {
            let text = words("thinking").unwrap_or_default().to_owned();
            let opaque = is_sealed(members).then(|| block.to_string());
            (opaque.is_some() || !text.is_empty()).then_some(ReplyBlock::Reasoning { text, opaque })
        }
        "tool_use" => Some(ReplyBlock::Call(RequestedCall {
            provider_id: words("id").map(str::to_owned),
            name: words("name").unwrap_or_default().to_owned(),
            input: members
                .get("input")
                .filter(|input| !input.is_null())
                .cloned()
                .unwrap_or_else(|| Value::Object(Map::new())),
        })),
        _ => None,
    }
}

fn stop_reason(reason: Option<&Value>, blocks: &[ReplyBlock]) -> StopReason {
    match reason.and_then(Value::as_str) {
        // A full context window cuts an answer off like a full output limit does.
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxOutputTokens,
        // Classifiers of the provider end an answer this way, also in the middle of a sentence.
        Some("refusal") => StopReason::ContentFilter,
        // The server paused its own tools, so the answer is not complete unless it calls one of the runtime's tools.
        Some("pause_turn") => match natural_stop_reason(blocks) {
            StopReason::EndTurn => StopReason::MaxOutputTokens,
            other @ (StopReason::ToolUse
            | StopReason::MaxOutputTokens
            | StopReason::Refusal
            | StopReason::ContentFilter) => other,
        },
        // For `end_turn`, `tool_use`, `stop_sequence` and the values of compatible servers, the blocks decide.
        Some(_) | None => natural_stop_reason(blocks),
    }
}

/// Adds cache reads and cache writes to the input: the wire reports them beside it, the runtime counts them as part of
/// it.
fn usage(usage: Option<&Value>) -> TokenUsage {
    let count = |member: &str| {
        usage
            .and_then(|usage| usage.get(member))
            .and_then(json::count)
            .unwrap_or_default()
    };
    let read = count("cache_read_input_tokens");
    let written = count("cache_creation_input_tokens");
    let input = count("input_tokens")
        .saturating_add(read)
        .saturating_add(written);
    TokenUsage {
        cache_read_tokens: read,
        cache_write_tokens: written,
        ..TokenUsage::new(input, count("output_tokens"))
    }
}
