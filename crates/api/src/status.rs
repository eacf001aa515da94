//! One agent on the wire: its summary, and the lists of what this build has none of.

use holon_domain::summary::AgentSummary;
use holon_domain::wait::WaitRecord;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// `GET /agents/{id}/status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusResponse {
    /// The summary; its fields stand beside the others.
    #[serde(flatten)]
    pub summary: AgentSummary,
    /// The active waits under the name that readers of the contract know.
    pub active_waiting_intents: Vec<WaitRecord>,
    /// What readers of the contract iterate over.
    #[serde(flatten)]
    pub planes: Planes,
}

/// Lists and tables of the contract whose subjects this build does not have. They are empty, so that a reader that
/// iterates over them finds what is true: nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Planes {
    /// Files of instructions that were loaded, by scope.
    pub loaded_agents_md: BTreeMap<String, Value>,
    /// Skills, by how they were found.
    pub skills: Skills,
    /// Agents it made and supervises.
    pub active_children: Vec<Value>,
    /// Conditions these wait for.
    pub active_wait_conditions: Vec<Value>,
    /// Addresses it can be woken by.
    pub active_external_triggers: Vec<Value>,
    /// What it told its operator beside its briefs.
    pub recent_operator_notifications: Vec<Value>,
}

/// Skills of an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Skills {
    /// Templates it could be made from.
    pub agent_templates_catalog: Vec<Value>,
    /// Where skills were looked for.
    pub discovered_roots: Vec<Value>,
    /// What was found there.
    pub discoverable_skills: Vec<Value>,
    /// What it has.
    pub attached_skills: Vec<Value>,
    /// What it uses.
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
