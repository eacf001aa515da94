//! Changes of an agent's skills. They are files of its home: the port changes them, completely or not at all, and the
//! event is committed afterwards. A crash in between leaves the skill without the event.

use super::ControlHandle;
use crate::error::Error;
use holon_core::Input;
use holon_core::input::SkillCommand;
use holon_domain::AgentId;
use holon_domain::agent::Visibility;
use holon_domain::guidance::SkillSource;

impl ControlHandle {
    /// Installs a skill into an agent's home and returns its name. The agent sees it from its next turn on.
    ///
    /// # Errors
    /// When there is no such agent, it is no skill, or one of its name is there.
    pub async fn install_skill(
        &self,
        agent_id: &AgentId,
        source: SkillSource,
    ) -> Result<String, Error> {
        let home = self.home_of_public(agent_id).await?;
        let installed = self.shell.ports.guidance.install_skill(&home, source);
        let installed = installed.await?;
        holon_fault::hit("skill.installed");
        let name = installed.name.clone();
        self.record(agent_id, SkillCommand::Installed(installed))
            .await?;
        Ok(name)
    }

    /// Removes a skill from an agent's home.
    ///
    /// # Errors
    /// When there is no such agent or skill.
    pub async fn uninstall_skill(&self, agent_id: &AgentId, name: &str) -> Result<(), Error> {
        let home = self.home_of_public(agent_id).await?;
        let guidance = &self.shell.ports.guidance;
        let kind = guidance.uninstall_skill(&home, name).await?;
        holon_fault::hit("skill.uninstalled");
        let name = name.to_owned();
        self.record(agent_id, SkillCommand::Uninstalled { name, kind })
            .await
    }

    async fn record(&self, agent_id: &AgentId, command: SkillCommand) -> Result<(), Error> {
        let input = Input::Skill(Box::new(command));
        self.submit(agent_id, input).await.map(drop)
    }

    /// Returns the home of an agent that clients may see.
    async fn home_of_public(&self, agent_id: &AgentId) -> Result<String, Error> {
        let found = self.find(agent_id).await;
        let found = self.shell.hide_private(agent_id, found).await?;
        match found {
            Some(found) if found.identity.visibility == Visibility::Public => {
                Ok(found.settings.agent_home)
            }
            Some(_) | None => Err(Error::AgentNotFound {
                agent_id: agent_id.clone(),
            }),
        }
    }
}
