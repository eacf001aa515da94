//! Making agents, starting and stopping them.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::ActState;
use axum::Json;
use axum::extract::State;
use holon_api::{ControlAction, ControlRequest, ControlResponse, CreateAgentRequest};
use holon_domain::AgentId;
use holon_domain::agent::IdentityView;
use holon_domain::model::ModelRef;
use holon_engine::request::{CreateAgent, WorkspaceChoice};
use std::path::PathBuf;

/// `POST /control/agents/{id}/create`.
pub(crate) async fn create(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(request): OptionalJson<CreateAgentRequest>,
) -> Result<Json<IdentityView>, Refusal> {
    if request.template.is_some() {
        return Err(RequestFault::TEMPLATE.refuse("templates are not available yet"));
    }
    let request = CreateAgent {
        agent_id: chosen(&agent_id)?,
        workspace: workspace(request.workspace_root, request.cwd),
        model: request.model.as_deref().map(model).transpose()?,
    };
    Ok(Json(state.acts.create_agent(request).await?))
}

/// `POST /control/agents/{id}/control`.
pub(crate) async fn control(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(ControlRequest { action }): JsonBody<ControlRequest>,
) -> Result<Json<ControlResponse>, Refusal> {
    match action {
        ControlAction::Start | ControlAction::Resume => state.acts.start_agent(&agent_id).await?,
        ControlAction::Stop | ControlAction::Pause => state.acts.stop_agent(&agent_id).await?,
    }
    Ok(Json(ControlResponse::done(agent_id, action)))
}

/// A name an operator may give to a new agent.
pub(super) fn chosen(agent_id: &AgentId) -> Result<AgentId, Refusal> {
    Ok(AgentId::parse(agent_id.as_str()).map_err(holon_engine::Error::from)?)
}

/// A model as it was named.
pub(super) fn model(text: &str) -> Result<ModelRef, Refusal> {
    ModelRef::parse(text).map_err(|error| RequestFault::MODEL_REF.refuse(error.to_string()))
}

/// A workspace as it was named. Whether it can be used is for the engine to say.
pub(super) fn workspace(root: Option<String>, cwd: Option<String>) -> WorkspaceChoice {
    WorkspaceChoice {
        workspace_root: root.map(PathBuf::from),
        cwd: cwd.map(PathBuf::from),
    }
}
