//! Routes for the diagnosis of an agent.

use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::Refusal;
use crate::state::ReadState;
use axum::Json;
use axum::extract::State;
use holon_domain::prompt_view::PromptView;

/// `GET /agents/{id}/debug/prompt`: returns the prompt of an agent's last turn with the decision about each part.
pub(crate) async fn prompt(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<PromptView>, Refusal> {
    Ok(Json(state.reads.prompt(&agent_id).await?))
}
