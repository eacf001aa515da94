//! Settings of an agent: set when it is created or configured, rarely changed afterwards.

use super::{AgentIdentity, RunTerms};
use crate::model::{ModelOptions, ModelRef};
use crate::provider::ReasoningEffort;
use crate::time::Timestamp;
use crate::workspace::WorkspaceEntry;
use serde::{Deserialize, Serialize};

/// An agent's settings. They are stored apart from the scheduling state, which every decision rewrites. A decision that
/// changes settings adds a fact, and only then are they written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSettings {
    pub identity: AgentIdentity,
    pub created_at: Timestamp,
    /// Absolute path of the agent's home directory.
    pub agent_home: String,
    pub workspace: WorkspaceEntry,
    /// Present if the agent was created for one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunTerms>,
    /// Model that replaces the host's default. Absent if the default is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override: Option<ModelRef>,
    /// Reasoning effort for that model. Absent if the provider's default is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Most tokens that this model may think in one answer; 0 turns thinking off. Absent if the setting of the model is
    /// used, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// Models that are asked in this order if that model fails, at most `limits::FALLBACKS`; empty for none. Absent if
    /// the fallbacks of the host are used, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<ModelRef>>,
}

impl AgentSettings {
    /// Returns the options of the agent's own model.
    #[must_use]
    pub fn model_options(&self) -> ModelOptions {
        ModelOptions {
            reasoning_effort: self.reasoning_effort,
            thinking_tokens: self.thinking_tokens,
            fallback_models: self.fallback_models.clone(),
        }
    }

    /// Sets the model override and its options.
    pub fn set_model(&mut self, model: Option<ModelRef>, options: ModelOptions) {
        self.model_override = model;
        self.reasoning_effort = options.reasoning_effort;
        self.thinking_tokens = options.thinking_tokens;
        self.fallback_models = options.fallback_models;
    }
}
