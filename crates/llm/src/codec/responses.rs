//! OpenAI's Responses: encodes a request whose answer is streamed.
//!
//! `input` owns the items both Responses codecs send, `freeform` the tools that take free text, `output` the answer,
//! `failure` the classes of reported errors, `continuation` the shorter form of a request. The codec keeps no state.
//! Invariant: a request states everything that decides how it is answered and stored, so a changed default of the
//! provider has no effect.

mod continuation;
mod failure;
mod freeform;
mod input;
mod output;
mod stream;
pub(super) mod strict;
#[cfg(test)]
pub(super) mod tests;

pub(crate) use continuation::{Snapshot, continuation};
pub(super) use failure::{error_fault, response_fault};
pub(super) use input::{input, instructions, tool};
pub(crate) use output::answer;
pub(crate) use stream::Assembler;

use super::Body;
use holon_domain::model::{CacheLife, ModelRequest};
use holon_domain::provider::{PromptCapability, ProviderSpec, ReasoningEffort};
use serde_json::{Map, json};

/// Smallest output limit that the API accepts.
const MIN_OUTPUT_TOKENS: u32 = 16;
/// Smallest threshold of compaction that is sent. The API refuses very small ones.
const MIN_COMPACT_TOKENS: u32 = 1_000;
/// Member that holds the conversation.
pub(super) const INPUT: &str = "input";
/// Longest cache key, in characters, that the API accepts.
const CACHE_KEY_CHARS: usize = 64;

/// Encodes a request in full.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Body {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model.model()));
    if let Some(instructions) = instructions(&request.frame) {
        body.insert("instructions".into(), json!(instructions));
    }
    if !request.tools.is_empty() {
        body.insert("tool_choice".into(), json!("auto"));
        body.insert("parallel_tool_calls".into(), json!(true));
    }
    let effort = effort(provider, request);
    if let Some(effort) = effort {
        body.insert("reasoning".into(), json!({"effort": effort.as_str()}));
    }
    // Only reasoning models accept this.
    if effort.is_some() || request.reasoning.is_on {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(key) = cache_key(provider, request) {
        body.insert("prompt_cache_key".into(), json!(key));
    }
    if request.frame.cache.life == CacheLife::Long {
        body.insert("prompt_cache_retention".into(), json!("24h"));
    }
    let most = request.max_output_tokens.max(MIN_OUTPUT_TOKENS);
    body.insert("max_output_tokens".into(), json!(most));
    body.insert("store".into(), json!(provider.store_responses));
    // The runtime shortens a request that does not fit; the provider must not drop items on its own.
    body.insert("truncation".into(), json!("disabled"));
    body.insert("stream".into(), json!(true));
    if let Some(management) = provider.context_management {
        let threshold = management.trigger_input_tokens.max(MIN_COMPACT_TOKENS);
        let order = json!([{"type": "compaction", "compact_threshold": threshold}]);
        body.insert("context_management".into(), order);
    }
    Body::new(body)
        .with_conversation(INPUT, input(request))
        .with_tools(&request.tools, provider.transport, tool)
}

/// Returns the reasoning effort: the agent's setting, else the provider's.
pub(super) fn effort(provider: &ProviderSpec, request: &ModelRequest) -> Option<ReasoningEffort> {
    request.reasoning_effort.or(provider.reasoning_effort)
}

/// Returns the provider's cache key for this request, if it has one.
pub(super) fn cache_key(provider: &ProviderSpec, request: &ModelRequest) -> Option<String> {
    let key = &request.frame.cache.prompt_cache_key;
    let usable = provider.can(PromptCapability::PromptCacheKey) && !key.is_empty();
    usable.then(|| key.chars().take(CACHE_KEY_CHARS).collect())
}
