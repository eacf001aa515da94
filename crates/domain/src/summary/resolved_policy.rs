//! The limits of the model that an agent asks next, with the name of that model and the sizes that follow from them.

use crate::provider::ModelPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of a model and what the runtime makes of them. Estimated tokens are those of the runtime; the ratio of the
/// policy converts them to those of the provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedPolicy {
    /// Reference in the form `provider/model`.
    #[serde(default)]
    pub model_ref: String,
    /// Name shown to people.
    #[serde(default)]
    pub display_name: String,
    /// Purpose of the model. Empty if nothing describes it.
    #[serde(default)]
    pub description: String,
    /// Its fields are serialised beside the others.
    #[serde(flatten)]
    pub policy: ModelPolicy,
    /// Most tokens of a prompt with its conversation.
    #[serde(default)]
    pub prompt_budget_estimated_tokens: u32,
    /// Size of a conversation from which on its older rounds are folded, if nothing else took part of the prompt.
    #[serde(default)]
    pub compaction_trigger_estimated_tokens: u32,
    /// Size that a fold leaves, the newest rounds first.
    #[serde(default)]
    pub compaction_keep_recent_estimated_tokens: u32,
    /// Tokens of one answer.
    #[serde(default)]
    pub runtime_max_output_tokens: u32,
    /// Tokens of a tool's output that the model reads if the call names no amount.
    #[serde(default)]
    pub tool_output_truncation_estimated_tokens: u32,
}

impl std::ops::Deref for ResolvedPolicy {
    type Target = ModelPolicy;
    fn deref(&self) -> &ModelPolicy {
        &self.policy
    }
}
