//! Answers in the format of Responses: one document, or the events that lead to it.

use super::{Event, Voice, arguments_text, with_id};
use crate::provider::mint::Mint;
use crate::provider::round::{Arguments, Part, Stop};
use serde_json::{Value, json};

/// Renders the whole answer.
pub(super) fn document(voice: &Voice<'_>) -> Value {
    let output: Vec<Value> = items(voice);
    let mut document = terminal(voice);
    document["output"] = json!(output);
    document
}

/// The events of a stream, with the whole response in the last one.
pub(super) fn events(voice: &Voice<'_>) -> Vec<Event> {
    stream(voice, &document(voice))
}

/// The events of a stream whose last one omits the output, as the Codex backend may, because the events of the items
/// contain it.
pub(super) fn codex_events(voice: &Voice<'_>) -> Vec<Event> {
    let mut response = terminal(voice);
    response["output"] = json!([]);
    stream(voice, &response)
}

fn stream(voice: &Voice<'_>, response: &Value) -> Vec<Event> {
    let mut events = vec![created(voice.mint)];
    for (place, item) in items(voice).into_iter().enumerate() {
        item_events(place, &item, &mut events);
    }
    let name = match voice.spoken.stop {
        Stop::Done | Stop::Refusal => "response.completed",
        Stop::MaxOutputTokens => "response.incomplete",
    };
    events.push(Event::named(name, json!({ "response": response })));
    events
}

/// The first event of a stream.
pub(super) fn created(mint: &Mint) -> Event {
    let mut response = head(mint);
    response["status"] = json!("in_progress");
    Event::named("response.created", json!({ "response": response }))
}

/// An answer that reports a failure.
pub(super) fn failed(mint: &Mint, code: &str, message: &str) -> Value {
    let mut response = head(mint);
    response["status"] = json!("failed");
    response["output"] = json!([]);
    response["error"] = json!({ "code": code, "message": message });
    response
}

fn head(mint: &Mint) -> Value {
    json!({
        "id": mint.response(),
        "object": "response",
        "created_at": 1_700_000_000,
        "model": mint.model(),
        "error": null,
        "incomplete_details": null,
        "usage": null,
    })
}

/// The response without its output.
fn terminal(voice: &Voice<'_>) -> Value {
    let mut response = head(voice.mint);
    response["status"] = json!(status(voice.spoken.stop));
    if voice.spoken.stop == Stop::MaxOutputTokens {
        response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    }
    if let Some(usage) = voice.spoken.usage {
        response["usage"] = json!({
            "input_tokens": usage.input,
            "input_tokens_details": { "cached_tokens": usage.cached },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.input + usage.output,
        });
    }
    response
}

fn status(stop: Stop) -> &'static str {
    match stop {
        Stop::Done | Stop::Refusal => "completed",
        Stop::MaxOutputTokens => "incomplete",
    }
}

fn items(voice: &Voice<'_>) -> Vec<Value> {
    let parts = voice.spoken.parts.iter().enumerate();
    parts
        .map(|(place, part)| item(voice, place, part))
        .collect()
}

fn item(voice: &Voice<'_>, place: usize, part: &Part) -> Value {
    let id = voice.mint.item(place);
    match part {
        Part::Text(words) => {
            let content = match voice.spoken.stop {
                Stop::Done | Stop::MaxOutputTokens => {
                    json!({ "type": "output_text", "text": words, "annotations": [] })
                }
                Stop::Refusal => json!({ "type": "refusal", "refusal": words }),
            };
            json!({
                "type": "message", "id": id, "role": "assistant",
                "status": status(voice.spoken.stop), "content": [content],
            })
        }
        Part::Reasoning(words) => json!({
            "type": "reasoning", "id": id,
            "summary": [{ "type": "summary_text", "text": words }],
            "encrypted_content": voice.mint.seal(place),
        }),
        Part::Call { name, arguments } => {
            let mut call = json!({
                "id": id, "status": status(voice.spoken.stop), "name": name,
            });
            let (kind, member) = match arguments {
                Arguments::Json(_) | Arguments::Raw(_) => ("function_call", "arguments"),
                Arguments::Text(_) => ("custom_tool_call", "input"),
            };
            call["type"] = json!(kind);
            call[member] = json!(arguments_text(arguments));
            with_id(call, "call_id", voice.call_id(place))
        }
    }
}

/// The events of an item: added, deltas, done. Only the last one is authoritative.
fn item_events(place: usize, item: &Value, events: &mut Vec<Event>) {
    let mut tell = |name, mut data: Value| {
        data["output_index"] = json!(place);
        events.push(Event::named(name, data));
    };
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    if item["type"] == "message" {
        begun["content"] = json!([]);
    }
    for member in ["arguments", "input"] {
        if item[member].is_string() {
            begun[member] = json!("");
        }
    }
    tell("response.output_item.added", json!({ "item": begun }));
    if let Some(words) = item["content"][0]["text"].as_str() {
        let id = &item["id"];
        for delta in words.split_inclusive(' ') {
            tell(
                "response.output_text.delta",
                json!({ "item_id": id, "content_index": 0, "delta": delta }),
            );
        }
        tell(
            "response.output_text.done",
            json!({ "item_id": id, "content_index": 0, "text": words }),
        );
    }
    if let Some(arguments) = item["arguments"].as_str() {
        let id = &item["id"];
        tell(
            "response.function_call_arguments.delta",
            json!({ "item_id": id, "delta": arguments }),
        );
        tell(
            "response.function_call_arguments.done",
            json!({ "item_id": id, "arguments": arguments }),
        );
    }
    if let Some(text) = item["input"].as_str() {
        let id = &item["id"];
        for delta in text.split_inclusive('\n') {
            tell(
                "response.custom_tool_call_input.delta",
                json!({ "item_id": id, "delta": delta }),
            );
        }
        tell(
            "response.custom_tool_call_input.done",
            json!({ "item_id": id, "input": text }),
        );
    }
    tell("response.output_item.done", json!({ "item": item }));
}
