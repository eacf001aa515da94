//! Routes that list models and change an agent's model.

use super::agent::parse_model;
use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::Refusal;
use crate::state::{ActState, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{AgentModelResponse, ClearModelRequest, ModelsResponse, SetModelRequest};
use holon_domain::AgentId;
use holon_domain::model::ModelChoice;

/// `GET /models`: lists the models and their availability.
pub(crate) async fn models(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Json<ModelsResponse> {
    Json(state.setup.models().await)
}

/// `POST /control/agents/{id}/model`: sets an agent's model override.
pub(crate) async fn set(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<SetModelRequest>,
) -> Result<Json<AgentModelResponse>, Refusal> {
    let choice = ModelChoice::Use {
        model: parse_model(&request.model)?,
        reasoning_effort: request.reasoning_effort,
    };
    apply_choice(&state, agent_id, choice).await
}

/// `POST /control/agents/{id}/model/clear`: clears an agent's model override.
pub(crate) async fn clear(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(ClearModelRequest { trust: _ }): OptionalJson<ClearModelRequest>,
) -> Result<Json<AgentModelResponse>, Refusal> {
    apply_choice(&state, agent_id, ModelChoice::Inherit).await
}

async fn apply_choice(
    state: &ActState,
    agent_id: AgentId,
    choice: ModelChoice,
) -> Result<Json<AgentModelResponse>, Refusal> {
    state.control.set_model(&agent_id, choice).await?;
    let model = state.reads.status(&agent_id).await?.model;
    Ok(Json(AgentModelResponse {
        ok: true,
        agent_id,
        model,
    }))
}
