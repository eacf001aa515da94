//! Requests and responses about an agent's skills.

use holon_domain::AgentId;
use holon_domain::guidance::{InstalledSkill, SkillCatalog, SkillSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Response of `GET /agents/{id}/skills`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillsResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Skills in the agent's own root, by name.
    pub skills: Vec<InstalledSkill>,
    /// Skills of all scopes that the next prompt lists.
    #[serde(flatten)]
    pub catalog: SkillCatalog,
}

/// Body of `POST /control/agents/{id}/skills/install`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallSkillRequest {
    #[schemars(with = "serde_json::Value")]
    pub kind: SkillSource,
}

/// Body of `POST /control/agents/{id}/skills/uninstall`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UninstallSkillRequest {
    pub name: String,
}

/// Response to a change of an agent's skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillChangeResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    pub skill_name: String,
}
