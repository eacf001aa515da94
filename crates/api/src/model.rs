//! The model catalog, the availability of its models, and the requests that change an agent's model.

use crate::message::FieldPresence;
use holon_domain::AgentId;
use holon_domain::provider::{ModelPolicy, ReasoningEffort};
use holon_domain::summary::AgentModelState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/model`. Takes effect at the agent's next turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetModelRequest {
    /// Reference in the form `provider/model`.
    pub model: String,
    /// Reasoning effort; the provider's setting when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["low", "medium", "high", "xhigh"]))]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Most tokens that the model may think in one answer, at least 1024; 0 turns thinking off (`anthropic_messages`
    /// only). The setting of the model when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// Models that are asked in this order if the model fails, each as `provider/model`; empty for none. The fallbacks
    /// of the host when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<String>>,
    /// Accepted from older clients and ignored: the route decides the authority.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Body of `POST /control/agents/{id}/model/clear`. The agent uses the host's default model again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearModelRequest {
    /// Accepted from older clients and ignored: the route decides the authority.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Response to [`SetModelRequest`] and [`ClearModelRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModelResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Model in use from the next turn on, with the source of that choice.
    pub model: AgentModelState,
}

/// One model of the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelMetadata {
    /// Reference in the form `provider/model`.
    pub model_ref: String,
    /// Name shown to people.
    pub display_name: String,
    /// Purpose of the model; empty when the catalog has no text for it.
    #[serde(default)]
    pub description: String,
    /// Size in tokens of request and response together; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window_tokens: Option<u32>,
    /// Share of the context window that a prompt may fill.
    pub effective_context_window_percent: u8,
    /// Output limit in tokens for one response; the settings can override it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_max_output_tokens: Option<u32>,
    /// Provider's hard limit on output tokens; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens_upper_limit: Option<u32>,
    pub capabilities: ModelCapabilities,
    /// Origin of these figures, for example the built-in catalog or the settings.
    pub source: String,
    /// Absent means that the price is unknown, not that the model is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

/// Optional features that a model supports.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a published field of its own"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelCapabilities {
    /// The model may call several tools in one response.
    pub parallel_tool_calls: bool,
    /// The model reasons before it answers, and the runtime stores its summary.
    pub reasoning_summaries: bool,
    /// The model accepts images as input.
    pub image_input: bool,
    /// The model may write to running commands. True for every model here that accepts tools.
    pub interactive_exec: bool,
    /// The model accepts tools whose arguments are free text under a grammar.
    pub freeform_tools: bool,
}

/// Price in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPrice {
    pub input: f64,
    pub output: f64,
    /// Price of tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Price of tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// Availability of a model on this host, with the reason if it is unavailable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelAvailability {
    /// Reference in the form `provider/model`.
    pub model: String,
    pub provider: String,
    /// Name shown to people.
    pub display_name: String,
    /// Purpose of the model; absent when the catalog has no text for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Origin of the model's figures.
    pub metadata_source: String,
    /// True if this host knows the provider.
    pub provider_configured: bool,
    /// Origin of the provider's definition; absent for an unknown provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_source: Option<String>,
    /// Wire protocol of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Place the credential is read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_kind: Option<String>,
    /// True if the credential exists or none is needed.
    pub credential_configured: bool,
    pub available: bool,
    /// Present only for an unavailable model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable_reason: Option<String>,
    /// The operator's next step; present only for an unavailable model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// Features beyond text and tools, by name.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Absent means that the price is unknown, not that the model is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_usd_per_million_tokens: Option<ModelPrice>,
    /// Limits and settings that requests to this model use.
    pub policy: ModelPolicy,
}

/// Response of `GET /models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsResponse {
    pub available_models: Vec<ModelMetadata>,
    /// Availability of the same models on this host, at the time of the response.
    pub model_availability: Vec<ModelAvailability>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_only_a_model_and_an_older_client_may_send_its_trust() {
        let request: SetModelRequest =
            serde_json::from_str(r#"{"model":"a/b","trust":"trusted_operator"}"#).expect("parses");
        assert_eq!(
            (request.model.as_str(), request.reasoning_effort),
            ("a/b", None)
        );
        assert_eq!(
            serde_json::to_string(&request).expect("serialises"),
            r#"{"model":"a/b"}"#
        );
        let effort: SetModelRequest =
            serde_json::from_str(r#"{"model":"a/b","reasoning_effort":"xhigh"}"#).expect("parses");
        assert_eq!(effort.reasoning_effort, Some(ReasoningEffort::Xhigh));
    }

    #[test]
    fn an_unknown_effort_and_an_unknown_field_are_refused() {
        for text in [
            r#"{"model":"a/b","reasoning_effort":"extreme"}"#,
            r#"{"model":"a/b","effort":"low"}"#,
            r#"{"reasoning_effort":"low"}"#,
        ] {
            assert!(
                serde_json::from_str::<SetModelRequest>(text).is_err(),
                "{text}"
            );
        }
    }
}
