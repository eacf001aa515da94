//! Routes that create, start and stop agents.

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
use holon_engine::request::{CreateAgent, HomeChoice, WorkspaceChoice};
use std::path::PathBuf;

/// `POST /control/agents/{id}/create`: creates an agent.
pub(crate) async fn create(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(request): OptionalJson<CreateAgentRequest>,
) -> Result<Json<IdentityView>, Refusal> {
    let request = CreateAgent {
        agent_id: parse_new_agent_id(&agent_id)?,
        workspace: workspace_choice(request.workspace_root, request.cwd),
        home: HomeChoice {
            template: request.template,
            seed: request.seed,
        },
        model: request.model.as_deref().map(parse_model).transpose()?,
    };
    Ok(Json(state.control.create_agent(request).await?))
}

/// `POST /control/agents/{id}/control`: starts or stops an agent.
pub(crate) async fn control(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(ControlRequest { action }): JsonBody<ControlRequest>,
) -> Result<Json<ControlResponse>, Refusal> {
    match action {
        ControlAction::Start | ControlAction::Resume => {
            state.control.start_agent(&agent_id).await?
        }
        ControlAction::Stop | ControlAction::Pause => state.control.stop_agent(&agent_id).await?,
    }
    Ok(Json(ControlResponse::new(agent_id, action)))
}

/// Parses a name that an operator may give to a new agent; names of the runtime are refused.
pub(super) fn parse_new_agent_id(agent_id: &AgentId) -> Result<AgentId, Refusal> {
    Ok(AgentId::parse(agent_id.as_str()).map_err(holon_engine::Error::from)?)
}

pub(super) fn parse_model(text: &str) -> Result<ModelRef, Refusal> {
    ModelRef::parse(text).map_err(|error| RequestFault::MODEL_REF.refuse(error.to_string()))
}

/// Converts the workspace fields. The engine checks that the paths are usable.
pub(super) fn workspace_choice(root: Option<String>, cwd: Option<String>) -> WorkspaceChoice {
    WorkspaceChoice {
        workspace_root: root.map(PathBuf::from),
        cwd: cwd.map(PathBuf::from),
    }
}
