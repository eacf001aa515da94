//! Routes for the diagnosis of an agent.

use crate::body::JsonBody;
use crate::extract::{AgentPath, NoParams, Params, clamp_seq};
use crate::refusal::Refusal;
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{DebugPromptRequest, DebugPromptResponse};
use holon_domain::prompt_view::PromptView;
use serde::Deserialize;

/// The query of a prompt.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptParams {
    /// Number of the turn; the last answered one if absent.
    turn: Option<u64>,
}

/// `GET /agents/{id}/debug/prompt`: returns the prompt of a turn with the decision about each part.
pub(crate) async fn prompt(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(PromptParams { turn }): Params<PromptParams>,
) -> Result<Json<PromptView>, Refusal> {
    Ok(Json(state.reads.prompt(&agent_id, clamp_seq(turn)).await?))
}

/// `POST /control/agents/{id}/debug-prompt`: returns the prompt that the agent's next turn would begin with, if an
/// operator sent the text now. Nothing is stored.
pub(crate) async fn draft(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<DebugPromptRequest>,
) -> Result<Json<DebugPromptResponse>, Refusal> {
    let dump = state
        .reads
        .draft_prompt(&agent_id, request.text, request.trust)
        .await?;
    Ok(Json(DebugPromptResponse {
        ok: true,
        agent_id,
        dump,
    }))
}
