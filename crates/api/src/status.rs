//! Response with one agent's summary, and the lists that clients of the contract iterate over.

use holon_domain::delegation::ActiveChild;
use holon_domain::guidance::{ActiveSkillView, LoadedAgentsMd, SkillEntry, SkillNote, SkillRoot};
use holon_domain::summary::{AgentSummary, NotificationView};
use holon_domain::trigger::TriggerView;
use holon_domain::wait::WaitRecord;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Response of `GET /agents/{id}/status`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatusResponse {
    /// Its fields are flattened into the response.
    #[serde(flatten)]
    pub summary: AgentSummary,
    /// The active waits again, under the name that clients of the contract read.
    pub active_waiting_intents: Vec<WaitRecord>,
    /// Sources of the instruction files that the next prompt loads.
    pub loaded_agents_md: LoadedAgentsMd,
    pub skills: Skills,
    /// Zone of the operator's clock (`operator.time_zone`), in which clients show times.
    pub operator_time_zone: String,
    /// Lists that clients of the contract iterate over.
    #[serde(flatten)]
    pub planes: Planes,
}

/// Lists of the contract that are no part of the stored form of a summary.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Planes {
    /// Agents that this agent created and supervises.
    pub active_children: Vec<ActiveChild>,
    /// The active waits of the agent and of its work items: one record is both a waiting intent and its condition.
    pub active_wait_conditions: Vec<WaitRecord>,
    /// Active capabilities of the agent, without their URLs.
    pub active_external_triggers: Vec<TriggerView>,
    /// Notifications of the operator beside the briefs, newest first.
    pub recent_operator_notifications: Vec<NotificationView>,
}

/// Skills of an agent by state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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

impl StatusResponse {
    /// Makes the response from a summary. `operator_time_zone` names the zone of the operator's clock.
    #[must_use]
    pub fn new(mut summary: AgentSummary, operator_time_zone: String) -> Self {
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
            operator_time_zone,
            planes: Planes {
                active_children: std::mem::take(&mut summary.active_children),
                active_wait_conditions: summary.work.waiting_intents.clone(),
                active_external_triggers: summary.work.external_triggers.clone(),
                recent_operator_notifications: summary.work.notifications.clone(),
            },
            summary,
        }
    }
}
