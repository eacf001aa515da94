//! Routes that read agents: list, status, briefs and transcript, by name or for the default agent.

use crate::extract::{AgentPath, LimitParams, NoParams, Params, check_limit};
use crate::refusal::Refusal;
use crate::state::ReadState;
use axum::Json;
use axum::extract::State;
use holon_api::{DeletedAgent, StateResponse, StatusResponse};
use holon_domain::AgentId;
use holon_domain::brief::BriefRecord;
use holon_domain::limits::{BRIEF_PAGE, LIST_PAGE_MAX};
use holon_domain::summary::AgentListEntry;
use holon_domain::transcript::TranscriptEntry;
use holon_engine::Error;

/// Default number of removed agents in a response.
const DELETED: u64 = 100;
/// Default number of transcript entries in a response.
const TRANSCRIPT: u64 = 50;

/// `GET /agents/list`: lists all public agents.
pub(crate) async fn list(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<Vec<AgentListEntry>>, Refusal> {
    Ok(Json(state.reads.agents().await?))
}

/// `GET /agents/deleted`: lists removed agents by name.
pub(crate) async fn deleted(
    State(state): State<ReadState>,
    Params(params): Params<LimitParams>,
) -> Result<Json<Vec<DeletedAgent>>, Refusal> {
    let limit = check_limit(params.limit, DELETED, LIST_PAGE_MAX)?;
    let removed = state.reads.deleted_agents(limit).await?;
    let view = |(agent_id, deleted_at)| DeletedAgent {
        agent_id,
        deleted_at,
    };
    Ok(Json(removed.into_iter().map(view).collect()))
}

/// `GET /agents/{id}/status`: returns an agent's status.
pub(crate) async fn status(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<StatusResponse>, Refusal> {
    Ok(Json(state.reads.status(&agent_id).await?.into()))
}

/// `GET /status`: returns the default agent's status.
pub(crate) async fn default_status(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<StatusResponse>, Refusal> {
    let status = state.reads.status(&state.host.default_agent).await?;
    Ok(Json(status.into()))
}

/// `GET /agents/{id}/state`: returns a bounded snapshot of an agent, from one read.
pub(crate) async fn state(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<StateResponse>, Refusal> {
    state_of(&state, &agent_id).await
}

/// `GET /state`: returns the snapshot of the default agent.
pub(crate) async fn default_state(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<StateResponse>, Refusal> {
    state_of(&state, &state.host.default_agent).await
}

async fn state_of(state: &ReadState, agent_id: &AgentId) -> Result<Json<StateResponse>, Refusal> {
    let summary = state.reads.status(agent_id).await?;
    let snapshot = StateResponse::new(summary, state.reads.epoch());
    snapshot.map(Json).map_err(|error| {
        Refusal::from(Error::Internal {
            message: error.to_string(),
        })
    })
}

/// `GET /agents/{id}/briefs`: returns an agent's newest briefs.
pub(crate) async fn briefs(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<LimitParams>,
) -> Result<Json<Vec<BriefRecord>>, Refusal> {
    briefs_of(&state, &agent_id, &params).await
}

/// `GET /briefs`: returns the default agent's newest briefs.
pub(crate) async fn default_briefs(
    State(state): State<ReadState>,
    Params(params): Params<LimitParams>,
) -> Result<Json<Vec<BriefRecord>>, Refusal> {
    briefs_of(&state, &state.host.default_agent, &params).await
}

async fn briefs_of(
    state: &ReadState,
    agent_id: &AgentId,
    params: &LimitParams,
) -> Result<Json<Vec<BriefRecord>>, Refusal> {
    let limit = check_limit(params.limit, BRIEF_PAGE, LIST_PAGE_MAX)?;
    Ok(Json(state.reads.briefs(agent_id, limit).await?))
}

/// `GET /agents/{id}/transcript`: returns an agent's newest transcript entries.
pub(crate) async fn transcript(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<LimitParams>,
) -> Result<Json<Vec<TranscriptEntry>>, Refusal> {
    transcript_of(&state, &agent_id, &params).await
}

/// `GET /transcript`: returns the default agent's newest transcript entries.
pub(crate) async fn default_transcript(
    State(state): State<ReadState>,
    Params(params): Params<LimitParams>,
) -> Result<Json<Vec<TranscriptEntry>>, Refusal> {
    transcript_of(&state, &state.host.default_agent, &params).await
}

async fn transcript_of(
    state: &ReadState,
    agent_id: &AgentId,
    params: &LimitParams,
) -> Result<Json<Vec<TranscriptEntry>>, Refusal> {
    let limit = check_limit(params.limit, TRANSCRIPT, LIST_PAGE_MAX)?;
    Ok(Json(state.reads.transcript(agent_id, limit).await?))
}
