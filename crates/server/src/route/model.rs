//! Which models there are, and which one an agent asks.

use super::agent::model;
use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::Refusal;
use crate::state::{ActState, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{AgentModelResponse, ClearModelRequest, ModelsResponse, SetModelRequest};
use holon_domain::AgentId;
use holon_domain::model::ModelChoice;

/// `GET /models`.
pub(crate) async fn models(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Json<ModelsResponse> {
    Json(state.setup.models().await)
}

/// `POST /control/agents/{id}/model`.
pub(crate) async fn set(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<SetModelRequest>,
) -> Result<Json<AgentModelResponse>, Refusal> {
    let choice = ModelChoice::Use {
        model: model(&request.model)?,
        reasoning_effort: request.reasoning_effort,
    };
    choose(&state, agent_id, choice).await
}

/// `POST /control/agents/{id}/model/clear`.
pub(crate) async fn clear(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(ClearModelRequest { trust: _ }): OptionalJson<ClearModelRequest>,
) -> Result<Json<AgentModelResponse>, Refusal> {
    choose(&state, agent_id, ModelChoice::Inherit).await
}

async fn choose(
    state: &ActState,
    agent_id: AgentId,
    choice: ModelChoice,
) -> Result<Json<AgentModelResponse>, Refusal> {
    state.acts.set_model(&agent_id, choice).await?;
    let model = state.reads.status(&agent_id).await?.model;
    Ok(Json(AgentModelResponse {
        ok: true,
        agent_id,
        model,
    }))
}
