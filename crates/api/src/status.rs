//! Response with one agent's summary, and the empty lists of features that this build does not have.

use holon_domain::delegation::ActiveChild;
use holon_domain::guidance::{ActiveSkillView, LoadedAgentsMd, SkillEntry, SkillNote, SkillRoot};
use holon_domain::summary::AgentSummary;
use holon_domain::trigger::TriggerRecord;
use holon_domain::wait::WaitRecord;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Response of `GET /agents/{id}/status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusResponse {
    /// Its fields are flattened into the response.
    #[serde(flatten, serialize_with = "write_summary")]
    pub summary: AgentSummary,
    /// The active waits again, under the name that clients of the contract read.
    pub active_waiting_intents: Vec<WaitRecord>,
    /// Sources of the instruction files that the next prompt loads.
    pub loaded_agents_md: LoadedAgentsMd,
    pub skills: Skills,
    /// Empty lists that clients of the contract iterate over.
    #[serde(flatten)]
    pub planes: Planes,
}

/// Fields of an agent's state whose features this build does not have, so that a client can read them.
const EMPTY_STATE: [&str; 1] = ["tool_latency"];

/// Writes a summary, with an empty list for each field of the contract that this build does not fill.
fn write_summary<S: Serializer>(summary: &AgentSummary, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serde_json::to_value(summary).map_err(serde::ser::Error::custom)?;
    if let Some(Value::Object(state)) = fields.get_mut("agent") {
        for name in EMPTY_STATE {
            state
                .entry(name)
                .or_insert_with(|| Value::Array(Vec::new()));
        }
    }
    fields.serialize(serializer)
}

/// Lists of the contract. Those whose features this build does not have are always empty, so that a client can iterate
/// over them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Planes {
    /// Agents that this agent created and supervises.
    pub active_children: Vec<ActiveChild>,
    /// Conditions the children wait for.
    pub active_wait_conditions: Vec<Value>,
    /// Active capabilities of the agent, without their URLs.
    pub active_external_triggers: Vec<TriggerRecord>,
    /// Notices sent to the operator beside the briefs.
    pub recent_operator_notifications: Vec<Value>,
}

/// Skills of an agent by state.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Skills {
    /// Always empty: templates belong to the user and not to an agent; `holon template list` shows them.
    pub agent_templates_catalog: Vec<Value>,
    /// The first existing root of each scope.
    pub discovered_roots: Vec<SkillRoot>,
    pub discoverable_skills: Vec<SkillEntry>,
    /// Always empty: this build has no way to attach a skill apart from its root.
    pub attached_skills: Vec<Value>,
    /// Skills that the agent has opened.
    pub active_skills: Vec<ActiveSkillView>,
    /// Directories that look like skills and are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SkillNote>,
}

impl From<AgentSummary> for StatusResponse {
    fn from(mut summary: AgentSummary) -> Self {
        let catalog = std::mem::take(&mut summary.skills);
        Self {
            active_waiting_intents: summary.work.waiting_intents.clone(),
            loaded_agents_md: std::mem::take(&mut summary.loaded_agents_md),
            skills: Skills {
                discovered_roots: catalog.discovered_roots,
                discoverable_skills: catalog.discoverable_skills,
                active_skills: summary.agent.active_skills.clone(),
                notes: catalog.notes,
                ..Skills::default()
            },
            planes: Planes {
                active_children: std::mem::take(&mut summary.active_children),
                active_external_triggers: summary.work.external_triggers.clone(),
                ..Planes::default()
            },
            summary,
        }
    }
}
