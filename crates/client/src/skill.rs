//! Routes about the skills of an agent.

use crate::client::{Client, agent_path, control_path};
use crate::error::Error;
use holon_api::{InstallSkillRequest, SkillChangeResponse, SkillsResponse, UninstallSkillRequest};
use holon_domain::AgentId;

impl Client {
    /// Lists the skills that an agent can use.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn skills(&self, agent_id: &AgentId) -> Result<SkillsResponse, Error> {
        self.get(agent_path(Some(agent_id), "skills")).await
    }

    /// Installs a skill into an agent's home.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn install_skill(
        &self,
        agent_id: &AgentId,
        request: &InstallSkillRequest,
    ) -> Result<SkillChangeResponse, Error> {
        self.post_long(control_path(agent_id, "skills/install"), request)
            .await
    }

    /// Removes a skill from an agent's home.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn uninstall_skill(
        &self,
        agent_id: &AgentId,
        request: &UninstallSkillRequest,
    ) -> Result<SkillChangeResponse, Error> {
        self.post(control_path(agent_id, "skills/uninstall"), request)
            .await
    }
}
