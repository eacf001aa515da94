//! What is settled about an agent when it is made or configured, and rarely changes afterwards.

use super::{AgentIdentity, RunTerms};
use crate::model::ModelRef;
use crate::provider::ReasoningEffort;
use crate::time::Timestamp;
use crate::workspace::WorkspaceEntry;
use serde::{Deserialize, Serialize};

/// An agent's settings. Stored apart from its scheduling state, which every decision rewrites: a decision that changes
/// settings says so by a fact, and only then are they written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSettings {
    /// Who it is.
    pub identity: AgentIdentity,
    /// When it was made.
    pub created_at: Timestamp,
    /// The path of its home.
    pub agent_home: String,
    /// Its one active workspace.
    pub workspace: WorkspaceEntry,
    /// The terms of its one run, when it was made for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunTerms>,
    /// The model it asks instead of the host's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override: Option<ModelRef>,
    /// How hard that model should think, when somebody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
}
