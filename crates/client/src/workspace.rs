//! Routes about an agent's workspaces, and the worktrees of the host.

use crate::answer::Answer;
use crate::client::{Client, control_path};
use crate::error::Error;
use crate::view::{AttachedWorkspace, SelectedWorkspace, WorkspaceChange, Worktrees};
use holon_api::{
    AttachWorkspaceRequest, DetachWorkspaceRequest, EmptyRequest, UseWorkspaceRequest,
    WorktreesRequest,
};
use holon_domain::AgentId;

impl Client {
    /// Attaches the workspace of a path.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn attach_workspace(
        &self,
        agent_id: &AgentId,
        request: &AttachWorkspaceRequest,
    ) -> Result<Answer<AttachedWorkspace>, Error> {
        self.post(control_path(agent_id, "workspace/attach"), request)
            .await
    }

    /// Makes a workspace active.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn use_workspace(
        &self,
        agent_id: &AgentId,
        request: &UseWorkspaceRequest,
    ) -> Result<Answer<SelectedWorkspace>, Error> {
        self.post_long(control_path(agent_id, "workspace/use"), request)
            .await
    }

    /// Leaves the active workspace for the agent's home.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn exit_workspace(
        &self,
        agent_id: &AgentId,
    ) -> Result<Answer<WorkspaceChange>, Error> {
        let target = control_path(agent_id, "workspace/exit");
        self.post(target, &EmptyRequest::default()).await
    }

    /// Removes a workspace from the set that an agent may use. Its directory stays.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn detach_workspace(
        &self,
        agent_id: &AgentId,
        request: &DetachWorkspaceRequest,
    ) -> Result<Answer<WorkspaceChange>, Error> {
        self.post(control_path(agent_id, "workspace/detach"), request)
            .await
    }

    /// Lists the managed worktrees, or removes those without work in them.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn worktrees(&self, request: &WorktreesRequest) -> Result<Answer<Worktrees>, Error> {
        self.post_long("/control/worktrees".to_owned(), request)
            .await
    }
}
