//! Which models there are, which of them can be asked, and which one an agent asks.

use crate::message::Supplied;
use holon_domain::AgentId;
use holon_domain::provider::{ModelPolicy, ReasoningEffort};
use holon_domain::summary::AgentModelState;
use serde::{Deserialize, Serialize};

/// `POST /control/agents/{id}/model`. Counts from the agent's next turn on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetModelRequest {
    /// The model, as `provider/model`.
    pub model: String,
    /// How hard it should think; the provider's setting when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Read for the sake of older clients, and without effect: authority follows from the route.
    #[serde(default, skip_serializing)]
    pub trust: Supplied,
}

/// `POST /control/agents/{id}/model/clear`. The agent asks the host's default again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClearModelRequest {
    /// Read for the sake of older clients, and without effect: authority follows from the route.
    #[serde(default, skip_serializing)]
    pub trust: Supplied,
}

/// The answer to both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentModelResponse {
    /// Always true.
    pub ok: bool,
    /// Whose.
    pub agent_id: AgentId,
    /// What it asks from now on, and why.
    pub model: AgentModelState,
}

/// One row of the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelMetadata {
    /// The model, as `provider/model`.
    pub model_ref: String,
    /// Its name for people.
    pub display_name: String,
    /// What it is for; empty when nobody wrote it down.
    #[serde(default)]
    pub description: String,
    /// Tokens of request and answer together, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window_tokens: Option<u32>,
    /// How much of it a prompt may take.
    pub effective_context_window_percent: u8,
    /// What it may write in one answer unless the settings say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_max_output_tokens: Option<u32>,
    /// The most its provider lets it write, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens_upper_limit: Option<u32>,
    /// What it can do.
    pub capabilities: ModelCapabilities,
    /// Where these figures come from.
    pub source: String,
    /// What it costs; absent means that nobody knows, not that it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

/// What a model can do.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a published field of its own"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCapabilities {
    /// It may ask for several tools at once.
    pub parallel_tool_calls: bool,
    /// It thinks before it answers, and what it tells of that is kept.
    pub reasoning_summaries: bool,
    /// It looks at pictures.
    pub image_input: bool,
    /// It may write to commands that run, as every model here that takes tools.
    pub interactive_exec: bool,
    /// It takes tools whose arguments are free text under a grammar.
    pub freeform_tools: bool,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelPrice {
    /// Of a request.
    pub input: f64,
    /// Of an answer.
    pub output: f64,
    /// Of what the provider had cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Of what it puts into its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// Whether a model can be asked, and why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelAvailability {
    /// The model, as `provider/model`.
    pub model: String,
    /// Its provider.
    pub provider: String,
    /// Its name for people.
    pub display_name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where its figures come from.
    pub metadata_source: String,
    /// Whether this host knows the provider.
    pub provider_configured: bool,
    /// Who says what the provider is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_source: Option<String>,
    /// How the provider is spoken to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Where its credential comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_source: Option<String>,
    /// What its credential is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_kind: Option<String>,
    /// Whether there is one, or none is needed.
    pub credential_configured: bool,
    /// Whether the model can be asked.
    pub available: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable_reason: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// What it can do beside text and tools.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// What it costs; absent means that nobody knows, not that it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_usd_per_million_tokens: Option<ModelPrice>,
    /// The figures it is asked by.
    pub policy: ModelPolicy,
}

/// `GET /models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelsResponse {
    /// The catalog.
    pub available_models: Vec<ModelMetadata>,
    /// Which of these can be asked here and now.
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
    fn an_effort_nobody_knows_and_a_field_nobody_knows_are_refused() {
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
