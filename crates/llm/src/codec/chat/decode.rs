//! Reads an answer of Chat Completions, in any of its dialects, into blocks.

use super::seal::Seal;
use crate::codec::{
    DecodedReply, Fault, json, natural_stop_reason, parse_arguments, remove_calls, reported,
};
use holon_domain::attempt::TokenUsage;
use holon_domain::model::{ModelFailureKind, ModelReply, ReplyBlock, RequestedCall, StopReason};
use serde_json::{Map, Value};

/// Decodes a completion, whether it came as a body or from a stream.
pub(crate) fn answer(document: &Value) -> Result<DecodedReply, Fault> {
    let answer = document
        .as_object()
        .ok_or_else(|| Fault::malformed("the answer is JSON but no object"))?;
    if let Some(error) = stated_error(answer) {
        return Err(reported::fault(&error));
    }
    let choice = answer
        .get("choices")
        .and_then(Value::as_array)
        .and_then(|choices| choices.first())
        .ok_or_else(|| Fault::malformed("the answer has no choices"))?;
    if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
        return Err(reported::fault(error));
    }
    let message = choice
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| Fault::malformed("the first choice has no message"))?;
    let mut decoded = DecodedMessage::of(message);
    let stop_reason = stop_reason(choice.get("finish_reason"), &decoded)?;
    if stop_reason.voids_calls() {
        decoded.blocks = remove_calls(decoded.blocks);
    }
    Ok(DecodedReply {
        reply: ModelReply {
            blocks: decoded.blocks,
            stop_reason,
            usage: usage(answer.get("usage")),
            context_management: None,
        },
        stored_id: None,
    })
}

/// Finds an error in place of choices: under `error`, or as the whole answer, which is how vLLM sends it.
pub(super) fn stated_error(answer: &Map<String, Value>) -> Option<Value> {
    match answer.get("error") {
        Some(Value::Null) | None => {}
        Some(error) => return Some(error.clone()),
    }
    (answer.get("object").and_then(Value::as_str) == Some("error"))
        .then(|| Value::Object(answer.clone()))
}

/// Content of a message, collected as blocks.
#[derive(Debug, Default)]
struct DecodedMessage {
    blocks: Vec<ReplyBlock>,
    refused: bool,
}

impl DecodedMessage {
    fn of(message: &Map<String, Value>) -> Self {
        let calls = calls_of(message);
        let mut decoded = Self::default();
        let (thoughts, words) = content(message.get("content"));
        let text = reasoning(message).or(thoughts);
        let opaque = Seal::of(message, &calls).and_then(|seal| seal.to_text());
        if text.is_some() || opaque.is_some() {
            let text = text.unwrap_or_default();
            decoded.blocks.push(ReplyBlock::Reasoning { text, opaque });
        }
        decoded.text(words);
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
            decoded.refused = !refusal.is_empty();
            decoded.text(Some(refusal.to_owned()));
        }
        decoded
            .blocks
            .extend(calls.iter().map(call).map(ReplyBlock::Call));
        decoded
    }

    fn text(&mut self, words: Option<String>) {
        if let Some(text) = words.filter(|text| !text.is_empty()) {
            self.blocks.push(ReplyBlock::Text { text });
        }
    }
}

/// Returns the calls of a message in wire form; an older server sends at most one, in `function_call`.
fn calls_of(message: &Map<String, Value>) -> Vec<Value> {
    match message.get("tool_calls") {
        Some(Value::Array(calls)) if !calls.is_empty() => calls
            .iter()
            .filter(|call| call.is_object())
            .cloned()
            .collect(),
        Some(_) | None => message
            .get("function_call")
            .filter(|call| call.is_object())
            .cloned()
            .into_iter()
            .collect(),
    }
}

fn call(call: &Value) -> RequestedCall {
    let function = call.get("function").unwrap_or(call);
    let words = |of: &Value, member: &str| of.get(member)?.as_str().map(str::to_owned);
    RequestedCall {
        provider_id: words(call, "id").filter(|id| !id.is_empty()),
        name: words(function, "name").unwrap_or_default(),
        input: arguments(function.get("arguments")),
    }
}

/// Reads arguments that are either JSON in a string or plain JSON.
fn arguments(arguments: Option<&Value>) -> Value {
    match arguments {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(Value::String(raw)) => parse_arguments(raw),
        Some(other) => other.clone(),
    }
}

/// Returns readable reasoning from the first of its known members that is not empty.
fn reasoning(message: &Map<String, Value>) -> Option<String> {
    ["reasoning_content", "reasoning", "thinking"]
        .iter()
        .filter_map(|member| message.get(*member)?.as_str())
        .find(|words| !words.is_empty())
        .map(str::to_owned)
}

/// Splits a message's content into its text and the reasoning among it.
pub(super) fn content(content: Option<&Value>) -> (Option<String>, Option<String>) {
    match content {
        Some(Value::String(words)) => (None, Some(words.clone())),
        Some(Value::Array(parts)) => {
            let is_thought = |part: &&Value| matches!(kind(part), Some("thinking" | "reasoning"));
            let (thoughts, words): (Vec<&Value>, Vec<&Value>) = parts.iter().partition(is_thought);
            (joined(&thoughts), joined(&words))
        }
        Some(_) | None => (None, None),
    }
}

fn kind(part: &Value) -> Option<&str> {
    part.get("type")?.as_str()
}

fn joined(parts: &[&Value]) -> Option<String> {
    let words: String = parts.iter().map(|part| part_words(part)).collect();
    (!words.is_empty()).then_some(words)
}

/// Returns the text of one part: a bare string, under `text`, or under the name of the part's type, where it may again
/// be a list of parts.
fn part_words(part: &Value) -> String {
    let member = match kind(part) {
        Some("thinking") => "thinking",
        Some("refusal") => "refusal",
        Some(_) | None => "text",
    };
    match part {
        Value::String(words) => words.clone(),
        Value::Object(members) => match members.get(member).or_else(|| members.get("text")) {
            Some(Value::String(words)) => words.clone(),
            Some(Value::Array(inner)) => inner
                .iter()
                .filter_map(|piece| piece.get("text")?.as_str())
                .collect(),
            Some(_) | None => String::new(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
    }
}

fn stop_reason(reason: Option<&Value>, decoded: &DecodedMessage) -> Result<StopReason, Fault> {
    let reason = reason.and_then(Value::as_str).unwrap_or_default();
    match reason.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "model_length" => Ok(StopReason::MaxOutputTokens),
        "content_filter" | "refusal" | "safety" | "sensitive" => Ok(StopReason::ContentFilter),
        "error" | "network_error" | "insufficient_system_resource" | "abort" => {
            Err(Fault::Reported {
                kind: ModelFailureKind::ServerError,
                message: format!("the provider broke the answer off ({reason})"),
            })
        }
        _ if decoded.refused => Ok(StopReason::Refusal),
        // For `stop`, `tool_calls`, `function_call`, `eos`, a missing reason and undocumented values, the blocks
        // decide.
        _ => Ok(natural_stop_reason(&decoded.blocks)),
    }
}

/// Reads token counts under the names that servers use; missing counts are zero.
fn usage(usage: Option<&Value>) -> TokenUsage {
    let usage = usage.unwrap_or(&Value::Null);
    let details = usage.get("prompt_tokens_details").unwrap_or(&Value::Null);
    let count = |of: &Value, member: &str| of.get(member).and_then(json::count);
    let input = count(usage, "prompt_tokens").unwrap_or_default();
    let read = count(details, "cached_tokens")
        .or_else(|| count(usage, "prompt_cache_hit_tokens"))
        .or_else(|| count(usage, "cached_tokens"))
        .unwrap_or_default();
    let written = count(details, "cache_write_tokens").unwrap_or_default();
    TokenUsage {
        cache_read_tokens: read.min(input),
        cache_write_tokens: written.min(input),
        ..TokenUsage::new(input, count(usage, "completion_tokens").unwrap_or_default())
    }
}
