//! Settings of an agent: set when it is created or configured, rarely changed afterwards.

use super::{AgentIdentity, RunTerms};
use crate::model::ModelRef;
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
}
