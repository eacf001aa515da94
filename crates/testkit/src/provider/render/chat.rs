//! Answers in the format of Chat Completions.

use super::{Event, Voice, arguments_text, with_id};
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

/// The chunks of a stream: the role, the content in pieces, the stop reason, the token counts, the end.
pub(super) fn events(voice: &Voice<'_>) -> Vec<Event> {
    let whole = document(voice);
    let message = &whole["choices"][0]["message"];
    let chunk = |delta: Value, finish_reason: &Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
        Event::Bare(json!({
            "id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"],
            "model": whole["model"], "choices": [choice],
        }))
    };
    let mut events = vec![chunk(json!({ "role": "assistant" }), &Value::Null)];
    for delta in deltas(message) {
        events.push(chunk(delta, &Value::Null));
    }
    events.push(chunk(json!({}), &whole["choices"][0]["finish_reason"]));
    if whole.get("usage").is_some() {
        events.push(Event::Bare(
            json!({ "object": "chat.completion.chunk", "choices": [], "usage": whole["usage"] }),
        ));
    }
    events.push(Event::Done);
    events
}

fn deltas(message: &Value) -> Vec<Value> {
    let mut deltas = Vec::new();
    for member in ["reasoning_content", "content"] {
        let words = message[member].as_str().unwrap_or_default();
        let pieces = words.split_inclusive(' ');
        deltas.extend(pieces.map(|piece| json!({ member: piece })));
    }
    for (index, call) in message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let mut begun = call.clone();
        begun["index"] = json!(index);
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        begun["function"]["arguments"] = json!("");
        deltas.push(json!({ "tool_calls": [begun] }));
        let cut = arguments
            .char_indices()
            .nth(3)
            .map_or(arguments.len(), |(at, _)| at);
        let (first, rest) = arguments.split_at(cut);
        for piece in [first, rest] {
            let call = json!({ "index": index, "function": { "arguments": piece } });
            deltas.push(json!({ "tool_calls": [call] }));
        }
    }
    deltas
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
