//! Answers in the format of Chat Completions.

use super::{Voice, arguments_text, with_id};
use crate::provider::round::{Part, Stop};
use serde_json::{Value, json};

/// Renders the whole answer.
pub(super) fn document(voice: &Voice<'_>) -> Value {
    let finish_reason = match voice.spoken.stop {
        Stop::Done if voice.has_calls() => "tool_calls",
        Stop::Done => "stop",
        Stop::MaxOutputTokens => "length",
        Stop::Refusal => "content_filter",
    };
    let mut document = json!({
        "id": voice.mint.response(),
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": voice.mint.model(),
        "choices": [{ "index": 0, "message": message(voice), "finish_reason": finish_reason }],
    });
    if let Some(usage) = voice.spoken.usage {
        document["usage"] = json!({
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": { "cached_tokens": usage.cached },
        });
    }
    document
}

/// The one message, with separate places for text, reasoning and calls.
fn message(voice: &Voice<'_>) -> Value {
    let (mut words, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for (place, part) in voice.spoken.parts.iter().enumerate() {
        match part {
            Part::Text(text) => words.push_str(text),
            Part::Reasoning(text) => thoughts.push_str(text),
            Part::Call { name, arguments } => {
                let function = json!({ "name": name, "arguments": arguments_text(arguments) });
                let call = json!({ "type": "function", "function": function });
                calls.push(with_id(call, "id", voice.call_id(place)));
            }
        }
    }
    let mut message = json!({ "role": "assistant", "content": null });
    if !words.is_empty() {
        message["content"] = json!(words);
    }
    if !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    message
}
