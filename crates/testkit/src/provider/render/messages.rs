//! Answers in the format of Messages.

use super::{Event, Voice, arguments_json, with_id};
use crate::provider::round::{Part, Stop};
use serde_json::{Value, json};

/// Renders the whole answer.
pub(super) fn document(voice: &Voice<'_>) -> Value {
    let parts = voice.spoken.parts.iter().enumerate();
    let content: Vec<Value> = parts
        .map(|(place, part)| block(voice, place, part))
        .collect();
    let stop_reason = match voice.spoken.stop {
        Stop::Done if voice.has_calls() => "tool_use",
        Stop::Done => "end_turn",
        Stop::MaxOutputTokens => "max_tokens",
        Stop::Refusal => "refusal",
    };
    let mut message = json!({
        "id": voice.mint.response(),
        "type": "message",
        "role": "assistant",
        "model": voice.mint.model(),
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
    });
    if let Some(usage) = voice.spoken.usage {
        // Unlike in other protocols, cached tokens are not part of the input.
        let cached = usage.cached + usage.written;
        message["usage"] = json!({
            "input_tokens": usage.input.saturating_sub(cached),
            "cache_read_input_tokens": usage.cached,
            "cache_creation_input_tokens": usage.written,
            "output_tokens": usage.output,
        });
    }
    message
}

/// The events of a stream: the message without its content, each block in pieces, the stop reason, the end.
pub(super) fn events(voice: &Voice<'_>) -> Vec<Event> {
    let whole = document(voice);
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![Event::named("message_start", json!({ "message": begun }))];
    events.push(Event::named("ping", json!({})));
    for (index, block) in whole["content"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        block_events(index, block, &mut events);
    }
    let stop = json!({ "stop_reason": whole["stop_reason"], "stop_sequence": null });
    let usage = json!({ "output_tokens": whole["usage"]["output_tokens"] });
    let mut end = json!({ "delta": stop });
    if whole.get("usage").is_some() {
        end["usage"] = usage;
    }
    events.push(Event::named("message_delta", end));
    events.push(Event::named("message_stop", json!({})));
    events
}

/// The events of a content block: its start without text, its pieces, its stop.
fn block_events(index: usize, block: &Value, events: &mut Vec<Event>) {
    let mut begun = block.clone();
    let mut deltas = Vec::new();
    match block["type"].as_str() {
        Some("text") => {
            begun["text"] = json!("");
            let words = block["text"].as_str().unwrap_or_default();
            let pieces = words.split_inclusive(' ');
            deltas.extend(pieces.map(|piece| json!({ "type": "text_delta", "text": piece })));
        }
        Some("thinking") => {
            begun["thinking"] = json!("");
            begun["signature"] = json!("");
            deltas.push(json!({ "type": "thinking_delta", "thinking": block["thinking"] }));
            deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
        }
        Some(_) | None => {
            begun["input"] = json!({});
            let input = match &block["input"] {
                Value::String(raw) => raw.clone(),
                other => other.to_string(),
            };
            let cut = input
                .char_indices()
                .nth(3)
                .map_or(input.len(), |(at, _)| at);
            let (first, rest) = input.split_at(cut);
            for piece in ["", first, rest] {
                deltas.push(json!({ "type": "input_json_delta", "partial_json": piece }));
            }
        }
    }
    let start = json!({ "index": index, "content_block": begun });
    events.push(Event::named("content_block_start", start));
    for delta in deltas {
        let data = json!({ "index": index, "delta": delta });
        events.push(Event::named("content_block_delta", data));
    }
    events.push(Event::named(
        "content_block_stop",
        json!({ "index": index }),
    ));
}

fn block(voice: &Voice<'_>, place: usize, part: &Part) -> Value {
    match part {
        Part::Text(words) => json!({ "type": "text", "text": words }),
        Part::Reasoning(words) => json!({
            "type": "thinking", "thinking": words, "signature": voice.mint.seal(place),
        }),
        Part::Call { name, arguments } => {
            let call =
                json!({ "type": "tool_use", "name": name, "input": arguments_json(arguments) });
            with_id(call, "id", voice.call_id(place))
        }
    }
}
