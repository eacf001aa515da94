//! Routes about the thread of an agent's earlier turns.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params, clamp_seq};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ActState, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{ContextChangeResponse, EmptyRequest, LimitThreadRequest, PinTurnRequest};
use holon_domain::AgentId;
use holon_domain::context_view::ContextView;
use holon_domain::limits::{THREAD_TOKENS_LEAST, THREAD_TOKENS_MOST};
use holon_domain::thread::ThreadCommand;

/// `GET /agents/{id}/context`: returns the sizes of an agent's thread with its turns and marks.
pub(crate) async fn show(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<ContextView>, Refusal> {
    Ok(Json(state.reads.context(&agent_id).await?))
}

/// `POST /control/agents/{id}/context/fold`: asks the next turn to fold the thread.
pub(crate) async fn fold(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<ContextChangeResponse>, Refusal> {
    let asked = state.control.ask_thread(&agent_id, ThreadCommand::Fold);
    let changed = asked.await?;
    answer(&state, &agent_id, changed).await
}

/// `POST /control/agents/{id}/context/clear`: asks the next turn to begin an empty thread.
pub(crate) async fn clear(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<ContextChangeResponse>, Refusal> {
    let asked = state.control.ask_thread(&agent_id, ThreadCommand::Clear);
    let changed = asked.await?;
    answer(&state, &agent_id, changed).await
}

/// `POST /control/agents/{id}/context/pin`: keeps a turn whole through folds.
pub(crate) async fn pin(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<PinTurnRequest>,
) -> Result<Json<ContextChangeResponse>, Refusal> {
    let turn = clamp_seq(Some(request.turn)).unwrap_or(0);
    let measure = state.reads.measure_turn(&agent_id, turn).await?;
    let changed = state.control.pin_turn(&agent_id, measure).await?;
    answer(&state, &agent_id, changed).await
}

/// `POST /control/agents/{id}/context/unpin`: lets a pinned turn give way to the next fold.
pub(crate) async fn unpin(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<PinTurnRequest>,
) -> Result<Json<ContextChangeResponse>, Refusal> {
    let changed = state.control.unpin_turn(&agent_id, request.turn).await?;
    answer(&state, &agent_id, changed).await
}

/// `POST /control/agents/{id}/context/limit`: bounds the agent's own thread.
pub(crate) async fn limit(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<LimitThreadRequest>,
) -> Result<Json<ContextChangeResponse>, Refusal> {
    let range = THREAD_TOKENS_LEAST..=THREAD_TOKENS_MOST;
    if let Some(tokens) = request
        .thread_tokens
        .filter(|tokens| !range.contains(tokens))
    {
        let words = format!(
            "thread_tokens is {tokens}; give {THREAD_TOKENS_LEAST} to {THREAD_TOKENS_MOST}, or null for the setting of the host"
        );
        return Err(RequestFault::THREAD_LIMIT.refuse(words));
    }
    let limited = state.control.limit_thread(&agent_id, request.thread_tokens);
    let changed = limited.await?;
    answer(&state, &agent_id, changed).await
}

async fn answer(
    state: &ActState,
    agent_id: &AgentId,
    changed: bool,
) -> Result<Json<ContextChangeResponse>, Refusal> {
    Ok(Json(ContextChangeResponse {
        ok: true,
        changed,
        context: state.reads.context(agent_id).await?,
    }))
}
