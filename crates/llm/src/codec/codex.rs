//! Responses as the Codex backend speaks it: always streamed, never stored, with members that must be present.
//!
//! Owns what differs from `responses` in a request; the answer is the same.

#[cfg(test)]
mod tests;

use super::responses::{cache_key, effort, input, instructions, tools};
use holon_domain::model::ModelRequest;
use holon_domain::provider::ProviderSpec;
use serde_json::{Value, json};

/// Sent if the frame has no system text, because the backend refuses a request without instructions.
const INSTRUCTIONS: &str = "Answer the message and use the tools where they help.";

/// Encodes a request in full.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Value {
    let effort = effort(provider, request);
    let include: &[&str] = if effort.is_some() || request.reasoning.is_on {
        &["reasoning.encrypted_content"]
    } else {
        &[]
    };
    // The backend accepts no output limit, and it requires the reasoning members even if they are empty.
    let mut body = json!({
        "model": request.model.model(),
        "instructions": instructions(&request.frame).unwrap_or_else(|| INSTRUCTIONS.to_owned()),
        "input": input(request),
        "tools": tools(&request.tools),
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "reasoning": effort.map(|effort| json!({"effort": effort.as_str()})),
        "include": include,
        "store": false,
        "stream": true,
    });
    if let (Value::Object(body), Some(key)) = (&mut body, cache_key(provider, request)) {
        body.insert("prompt_cache_key".into(), json!(key));
    }
    body
}
