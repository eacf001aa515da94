//! Routes about an agent's workspaces, and about the worktrees of the host.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{
    AttachWorkspaceRequest, DetachWorkspaceRequest, EmptyRequest, UseWorkspaceRequest,
    UseWorkspaceResponse, WorkspaceResponse, WorktreeSummary, WorktreeSummaryResponse,
    WorktreesRequest,
};
use holon_domain::workspace::{UseWorkspace, WorkspaceSelector, WorktreeReport};
use holon_domain::{AgentId, WorkspaceId};

/// `POST /control/agents/{id}/workspace/attach`: attaches the workspace of a path.
pub(crate) async fn attach(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<AttachWorkspaceRequest>,
) -> Result<Json<WorkspaceResponse>, Refusal> {
    let attached = state
        .control
        .attach_workspace(&agent_id, request.path)
        .await?;
    Ok(Json(WorkspaceResponse {
        workspace_id: Some(attached.workspace_id),
        workspace_anchor: Some(attached.workspace_anchor),
        ..WorkspaceResponse::new(agent_id)
    }))
}

/// `POST /control/agents/{id}/workspace/use`: makes a workspace active, from the next turn on.
pub(crate) async fn use_workspace(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<UseWorkspaceRequest>,
) -> Result<Json<UseWorkspaceResponse>, Refusal> {
    let selector = match (request.path, request.workspace_id) {
        (Some(path), None) => WorkspaceSelector::Path(path),
        (None, Some(id)) => WorkspaceSelector::WorkspaceId(WorkspaceId::from_stored(id)),
        (Some(_), Some(_)) | (None, None) => {
            return Err(RequestFault::REQUEST
                .refuse("exactly one of path and workspace_id is needed")
                .hint(
                    "send path to look at a directory, or workspace_id for one that is attached",
                ));
        }
    };
    let order = UseWorkspace {
        selector,
        mode: request.mode.unwrap_or_default(),
        cwd: request.cwd,
        isolation_label: request.isolation_label,
    };
    let selected = state.control.use_workspace(&agent_id, order).await?;
    Ok(Json(UseWorkspaceResponse {
        ok: true,
        agent_id,
        selected,
    }))
}

/// `POST /control/agents/{id}/workspace/exit`: leaves the active workspace for the agent's home.
pub(crate) async fn exit(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<WorkspaceResponse>, Refusal> {
    state.control.exit_workspace(&agent_id).await?;
    Ok(Json(WorkspaceResponse::new(agent_id)))
}

/// `POST /control/agents/{id}/workspace/detach`: detaches a workspace that is not active.
pub(crate) async fn detach(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<DetachWorkspaceRequest>,
) -> Result<Json<WorkspaceResponse>, Refusal> {
    let id = WorkspaceId::from_stored(request.workspace_id);
    state
        .control
        .detach_workspace(&agent_id, id.clone())
        .await?;
    Ok(Json(WorkspaceResponse {
        workspace_id: Some(id),
        ..WorkspaceResponse::new(agent_id)
    }))
}

/// `GET /agents/{id}/worktree-summary`: returns the place in which an agent works.
pub(crate) async fn summary(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<WorktreeSummaryResponse>, Refusal> {
    summary_of(&state, agent_id).await
}

/// `GET /worktree-summary`: returns the place in which the default agent works.
pub(crate) async fn default_summary(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<WorktreeSummaryResponse>, Refusal> {
    let agent_id = state.host.default_agent.clone();
    summary_of(&state, agent_id).await
}

async fn summary_of(
    state: &ReadState,
    agent_id: AgentId,
) -> Result<Json<WorktreeSummaryResponse>, Refusal> {
    let agent = state.reads.status(&agent_id).await?.agent;
    Ok(Json(WorktreeSummaryResponse {
        agent_id,
        summary: WorktreeSummary {
            active_workspace_entry: agent.active_workspace_entry,
            worktree_session: agent.worktree_session,
        },
    }))
}

/// `POST /control/worktrees`: lists the worktrees that the runtime made, or cleans them up.
pub(crate) async fn worktrees(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(request): OptionalJson<WorktreesRequest>,
) -> Result<Json<WorktreeReport>, Refusal> {
    let dry_run = !request.clean;
    Ok(Json(state.control.clean_worktrees(dry_run).await?))
}
