//! Responses as the Codex backend speaks it: always streamed, never stored, with members that must be present.
//!
//! Owns what differs from `responses` in a request; the answer is the same.

#[cfg(test)]
mod tests;

use super::Body;
use super::responses::{INPUT, cache_key, effort, input, instructions, tool};
use holon_domain::model::ModelRequest;
use holon_domain::provider::ProviderSpec;
use serde_json::{Map, Value, json};

/// Sent if the frame has no system text, because the backend refuses a request without instructions.
const INSTRUCTIONS: &str = "Answer the message and use the tools where they help.";

/// Encodes a request in full.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Body {
    let effort = effort(provider, request);
    let include: &[&str] = if effort.is_some() || request.reasoning.is_on {
        &["reasoning.encrypted_content"]
    } else {
        &[]
    };
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", json!(request.model.model()));
    let instructions = instructions(&request.frame);
    let instructions = instructions.unwrap_or_else(|| INSTRUCTIONS.to_owned());
    put("instructions", json!(instructions));
    put("tools", json!([]));
    put("tool_choice", json!("auto"));
    put("parallel_tool_calls", json!(true));
    // The backend accepts no output limit, and it requires the reasoning members even if they are empty.
    let reasoning = effort.map(|effort| json!({"effort": effort.as_str()}));
    put("reasoning", json!(reasoning));
    put("include", json!(include));
    put("store", json!(false));
    put("stream", json!(true));
    if let Some(key) = cache_key(provider, request) {
        put("prompt_cache_key", json!(key));
    }
    Body::new(body)
        .with_conversation(INPUT, input(request))
        .with_tools(&request.tools, provider.transport, tool)
}
