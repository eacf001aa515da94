//! Response with one agent's summary, and the empty lists of features that this build does not have.

use holon_domain::summary::AgentSummary;
use holon_domain::wait::WaitRecord;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Response of `GET /agents/{id}/status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusResponse {
    /// Its fields are flattened into the response.
    #[serde(flatten)]
    pub summary: AgentSummary,
    /// The active waits again, under the name that clients of the contract read.
    pub active_waiting_intents: Vec<WaitRecord>,
    /// Empty lists that clients of the contract iterate over.
    #[serde(flatten)]
    pub planes: Planes,
}

/// Lists and tables of the contract whose features this build does not have. They are always empty, so that a client
/// can iterate over them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Planes {
    /// Instruction files that were loaded, by scope.
    pub loaded_agents_md: BTreeMap<String, Value>,
    /// Skills by the way they were discovered.
    pub skills: Skills,
    /// Agents that this agent created and supervises.
    pub active_children: Vec<Value>,
    /// Conditions the children wait for.
    pub active_wait_conditions: Vec<Value>,
    /// Callback addresses that wake the agent.
    pub active_external_triggers: Vec<Value>,
    /// Notices sent to the operator beside the briefs.
    pub recent_operator_notifications: Vec<Value>,
}

/// Skills of an agent by state.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Skills {
    /// Templates an agent can be created from.
    pub agent_templates_catalog: Vec<Value>,
    /// Directories searched for skills.
    pub discovered_roots: Vec<Value>,
    pub discoverable_skills: Vec<Value>,
    pub attached_skills: Vec<Value>,
    pub active_skills: Vec<Value>,
}

impl From<AgentSummary> for StatusResponse {
    fn from(summary: AgentSummary) -> Self {
        Self {
            active_waiting_intents: summary.work.waiting_intents.clone(),
            summary,
            planes: Planes::default(),
        }
    }
}
