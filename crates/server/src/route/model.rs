//! Routes that list models and change an agent's model.

use super::agent::parse_model;
use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ActState, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{AgentModelResponse, ClearModelRequest, ModelsResponse, SetModelRequest};
use holon_domain::AgentId;
use holon_domain::limits::{FALLBACKS, MIN_THINKING_TOKENS};
use holon_domain::model::{ModelChoice, ModelOptions, ModelRef};

/// `GET /models`: lists the models and their availability.
pub(crate) async fn models(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Json<ModelsResponse> {
    Json(state.setup.models().await)
}

/// `POST /control/agents/{id}/model`: sets an agent's model override.
pub(crate) async fn set(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<SetModelRequest>,
) -> Result<Json<AgentModelResponse>, Refusal> {
    let choice = ModelChoice::Use {
        model: parse_model(&request.model)?,
        options: ModelOptions {
            reasoning_effort: request.reasoning_effort,
            thinking_tokens: check_thinking(request.thinking_tokens)?,
            fallback_models: parse_fallbacks(request.fallback_models)?,
        },
    };
    apply_choice(&state, agent_id, choice).await
}

fn check_thinking(tokens: Option<u32>) -> Result<Option<u32>, Refusal> {
    match tokens {
        Some(tokens) if (1..MIN_THINKING_TOKENS).contains(&tokens) => {
            let words = format!(
                "thinking_tokens is {tokens}; give at least {MIN_THINKING_TOKENS}, or 0 to turn thinking off"
            );
            Err(RequestFault::MODEL_OPTION.refuse(words))
        }
        Some(_) | None => Ok(tokens),
    }
}

fn parse_fallbacks(listed: Option<Vec<String>>) -> Result<Option<Vec<ModelRef>>, Refusal> {
    let Some(listed) = listed else {
        return Ok(None);
    };
    if listed.len() > FALLBACKS {
        let words = format!(
            "fallback_models names {} models; a turn asks at most {FALLBACKS}",
            listed.len()
        );
        return Err(RequestFault::MODEL_OPTION.refuse(words));
    }
    let parsed: Result<Vec<ModelRef>, Refusal> =
        listed.iter().map(|model| parse_model(model)).collect();
    parsed.map(Some)
}

/// `POST /control/agents/{id}/model/clear`: clears an agent's model override.
pub(crate) async fn clear(
    Act(state): Act,
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
