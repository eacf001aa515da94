//! Operator requests about an agent's workspaces, and about the worktrees that the runtime made.

use super::ControlHandle;
use crate::error::Error;
use crate::shell::StoredUsers;
use holon_core::Input;
use holon_core::input::WorkspaceCommand;
use holon_domain::agent::{AgentRecord, Lifecycle, Visibility};
use holon_domain::workspace::{
    AttachedWorkspace, SelectedWorkspace, UseMode, UseWorkspace, WorkspaceErrorKind,
    WorkspaceFailure, WorkspaceOrder, WorkspaceSelector, WorktreeReport,
};
use holon_domain::{AgentId, WorkspaceId, text};
use std::sync::Arc;

impl ControlHandle {
    /// Attaches the workspace of a path to an agent. Attaching it again changes nothing.
    ///
    /// # Errors
    /// When there is no such agent, the path cannot be a workspace, too many are attached, or storage fails.
    pub async fn attach_workspace(
        &self,
        agent_id: &AgentId,
        path: String,
    ) -> Result<AttachedWorkspace, Error> {
        let request = UseWorkspace {
            selector: WorkspaceSelector::Path(path),
            mode: UseMode::Direct,
            cwd: None,
            isolation_label: None,
        };
        let order = self.workspace_order(agent_id, request).await?;
        let found = self.shell.ports.workspace.attach(order).await;
        let workspace = found.map_err(refused)?;
        let command = WorkspaceCommand::Attach(workspace.clone());
        self.change_workspace(agent_id, command).await?;
        Ok(workspace)
    }

    /// Makes a workspace active, from the agent's next turn on.
    ///
    /// # Errors
    /// When there is no such agent, the workspace cannot be used, or storage fails.
    pub async fn use_workspace(
        &self,
        agent_id: &AgentId,
        request: UseWorkspace,
    ) -> Result<SelectedWorkspace, Error> {
        let order = self.workspace_order(agent_id, request).await?;
        // A clean-up between the look and the commit would take a worktree that the commit makes active.
        let _entering = self.shell.ports.workspace.enter(&order).await;
        let found = self.shell.ports.workspace.select(order).await;
        let selected = found.map_err(refused)?;
        let command = WorkspaceCommand::Use(selected.clone());
        self.change_workspace(agent_id, command).await?;
        Ok(selected)
    }

    /// Makes an agent leave its workspace for its home, from its next turn on.
    ///
    /// # Errors
    /// When there is no such agent, it is in its home, or storage fails.
    pub async fn exit_workspace(&self, agent_id: &AgentId) -> Result<(), Error> {
        self.change_workspace(agent_id, WorkspaceCommand::Exit)
            .await
    }

    /// Detaches a workspace from an agent. No directory is touched.
    ///
    /// # Errors
    /// When there is no such agent, the workspace is active or not attached, or storage fails.
    pub async fn detach_workspace(&self, agent_id: &AgentId, id: WorkspaceId) -> Result<(), Error> {
        self.change_workspace(agent_id, WorkspaceCommand::Detach(id))
            .await
    }

    /// Lists the worktrees that the runtime made, and unless it is a dry run removes those without work in them.
    ///
    /// # Errors
    /// When the agents or the worktrees cannot be listed. What was removed before stays removed.
    pub async fn clean_worktrees(&self, dry_run: bool) -> Result<WorktreeReport, Error> {
        let users = StoredUsers(Arc::clone(&self.shell.store));
        let cleaned = self.shell.ports.workspace.clean(&users, dry_run).await;
        cleaned.map_err(|message| Error::Workspace { message })
    }

    async fn change_workspace(
        &self,
        agent_id: &AgentId,
        command: WorkspaceCommand,
    ) -> Result<(), Error> {
        let input = Input::Workspace(Box::new(command));
        self.submit(agent_id, input).await.map(drop)
    }

    async fn workspace_order(
        &self,
        agent_id: &AgentId,
        request: UseWorkspace,
    ) -> Result<WorkspaceOrder, Error> {
        let agent = self.find_public(agent_id).await?;
        // A repetition of the request asks for the worktree of the first.
        let request_key = match self.request_key() {
            Some(key) => text::prefix(&key.id, 32).to_owned(),
            None => format!("{:032x}", self.shell.ports.entropy.source().next()),
        };
        Ok(WorkspaceOrder {
            agent_id: agent_id.clone(),
            current_cwd: agent.workspace.cwd.clone(),
            attached: agent.attached_workspaces(),
            agent_home: agent.settings.agent_home,
            may_attach: true,
            request,
            request_key,
        })
    }

    /// Reads an agent before anything is made for it. The commit checks it again.
    pub(super) async fn find_public(&self, agent_id: &AgentId) -> Result<AgentRecord, Error> {
        let found = self.find(agent_id).await?;
        let is_shown = |agent: &AgentRecord| {
            agent.identity.visibility == Visibility::Public
                && agent.lifecycle != Lifecycle::Deleting
        };
        found.filter(is_shown).ok_or_else(|| Error::AgentNotFound {
            agent_id: agent_id.clone(),
        })
    }
}

fn refused(failure: WorkspaceFailure) -> Error {
    let message = failure.message;
    match failure.kind {
        WorkspaceErrorKind::NotAttached => holon_core::Rejection::WorkspaceNotAttached.into(),
        WorkspaceErrorKind::TooManyAttached => holon_core::Rejection::TooManyWorkspaces.into(),
        WorkspaceErrorKind::InvalidPath
        | WorkspaceErrorKind::AttachForbidden
        | WorkspaceErrorKind::Reserved
        | WorkspaceErrorKind::UnverifiedRepository
        | WorkspaceErrorKind::IsolationUnsupported
        | WorkspaceErrorKind::MissingRoot
        | WorkspaceErrorKind::Git => Error::Workspace { message },
    }
}
