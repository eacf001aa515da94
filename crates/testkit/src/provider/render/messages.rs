//! Answers in the format of Messages.

use super::{Voice, arguments_json, with_id};
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
        message["usage"] = json!({
            "input_tokens": usage.input.saturating_sub(usage.cached),
            "cache_read_input_tokens": usage.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": usage.output,
        });
    }
    message
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
