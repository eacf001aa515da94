//! Routes for the diagnosis of an agent.

use crate::extract::{AgentPath, Params};
use crate::refusal::Refusal;
use crate::state::ReadState;
use axum::Json;
use axum::extract::State;
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
    Ok(Json(state.reads.prompt(&agent_id, turn).await?))
}
