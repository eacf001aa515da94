//! Routes that read agents: list, status, briefs and transcript, by name or for the default agent.

use crate::extract::{AgentPath, LimitParams, NoParams, Params, check_limit, clamp_seq};
use crate::refusal::{Refusal, RequestFault};
use crate::state::ReadState;
use axum::Json;
use axum::extract::State;
use axum::http::header::HeaderName;
use axum::response::{IntoResponse, Response};
use holon_api::event::EPOCH_HEADER;
use holon_api::{DeletedAgent, StateResponse, StatusResponse};
use holon_domain::AgentId;
use holon_domain::brief::BriefRecord;
use holon_domain::feed::{SeqPage, SeqQuery};
use holon_domain::limits::{BRIEF_PAGE, LIST_PAGE_MAX};
use holon_domain::summary::AgentListEntry;
use holon_domain::transcript::TranscriptEntry;
use serde::{Deserialize, Serialize};

/// Default number of removed agents in a response.
const DELETED: u64 = 100;
/// Default number of transcript entries in a response.
const TRANSCRIPT: u64 = 50;

/// Query of the list of agents.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    /// True to list the archived agents instead of the others.
    #[serde(default)]
    archived: bool,
}

/// `GET /agents/list`: lists all public agents that are not archived, or all archived ones.
pub(crate) async fn list(
    State(state): State<ReadState>,
    Params(params): Params<ListParams>,
) -> Result<Json<Vec<AgentListEntry>>, Refusal> {
    let agents = match params.archived {
        true => state.reads.archived_agents().await?,
        false => state.reads.agents().await?,
    };
    Ok(Json(agents))
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
    Ok(Json(status_of(&state, &agent_id).await?))
}

/// `GET /status`: returns the default agent's status.
pub(crate) async fn default_status(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<StatusResponse>, Refusal> {
    Ok(Json(status_of(&state, &state.host.default_agent).await?))
}

async fn status_of(state: &ReadState, agent_id: &AgentId) -> Result<StatusResponse, Refusal> {
    let summary = state.reads.status(agent_id).await?;
    let zone = state.reads.operator_time_zone();
    Ok(StatusResponse::new(summary, zone))
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
    let zone = state.reads.operator_time_zone();
    let epoch = state.reads.epoch();
    Ok(Json(StateResponse::new(summary, epoch, zone)))
}

/// Query of a page of briefs or transcript entries.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeqParams {
    before_seq: Option<u64>,
    after_seq: Option<u64>,
    limit: Option<u64>,
    /// Identity that an earlier page of the same agent had; its cursors belong to it.
    epoch: Option<String>,
}

impl SeqParams {
    fn query(&self, default: u64) -> Result<SeqQuery, Refusal> {
        let limit = check_limit(self.limit, default, LIST_PAGE_MAX)?;
        Ok(SeqQuery {
            before_seq: clamp_seq(self.before_seq),
            after_seq: clamp_seq(self.after_seq),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }
}

/// A page of an agent, with the identity of what its cursors belong to in a header.
pub(crate) struct SeqResponse<T> {
    epoch: String,
    entries: Vec<T>,
}

impl<T> SeqResponse<T> {
    fn new(
        state: &ReadState,
        agent_id: &AgentId,
        asked: Option<&str>,
        page: SeqPage<T>,
    ) -> Result<Self, Refusal> {
        let epoch = format!("{}.{}", state.reads.epoch(), page.predecessor);
        if asked.is_some_and(|asked| asked != epoch) {
            let message =
                format!("the cursor belongs to another agent {agent_id} than the present one");
            return Err(RequestFault::EPOCH
                .refuse(message)
                .with("agent_id", agent_id.as_str())
                .with("epoch", epoch));
        }
        Ok(Self {
            epoch,
            entries: page.entries,
        })
    }
}

impl<T: Serialize> IntoResponse for SeqResponse<T> {
    fn into_response(self) -> Response {
        let epoch = [(HeaderName::from_static(EPOCH_HEADER), self.epoch)];
        (epoch, Json(self.entries)).into_response()
    }
}

/// `GET /agents/{id}/briefs`: returns a page of an agent's briefs; the newest without a cursor.
pub(crate) async fn briefs(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<SeqParams>,
) -> Result<SeqResponse<BriefRecord>, Refusal> {
    briefs_of(&state, &agent_id, &params).await
}

/// `GET /briefs`: returns a page of the default agent's briefs.
pub(crate) async fn default_briefs(
    State(state): State<ReadState>,
    Params(params): Params<SeqParams>,
) -> Result<SeqResponse<BriefRecord>, Refusal> {
    briefs_of(&state, &state.host.default_agent, &params).await
}

async fn briefs_of(
    state: &ReadState,
    agent_id: &AgentId,
    params: &SeqParams,
) -> Result<SeqResponse<BriefRecord>, Refusal> {
    let query = params.query(BRIEF_PAGE)?;
    let page = state.reads.briefs_page(agent_id, query).await?;
    SeqResponse::new(state, agent_id, params.epoch.as_deref(), page)
}

/// `GET /agents/{id}/transcript`: returns a page of an agent's transcript; the newest entries without a cursor.
pub(crate) async fn transcript(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<SeqParams>,
) -> Result<SeqResponse<TranscriptEntry>, Refusal> {
    transcript_of(&state, &agent_id, &params).await
}

/// `GET /transcript`: returns a page of the default agent's transcript.
pub(crate) async fn default_transcript(
    State(state): State<ReadState>,
    Params(params): Params<SeqParams>,
) -> Result<SeqResponse<TranscriptEntry>, Refusal> {
    transcript_of(&state, &state.host.default_agent, &params).await
}

async fn transcript_of(
    state: &ReadState,
    agent_id: &AgentId,
    params: &SeqParams,
) -> Result<SeqResponse<TranscriptEntry>, Refusal> {
    let query = params.query(TRANSCRIPT)?;
    let page = state.reads.transcript_page(agent_id, query).await?;
    SeqResponse::new(state, agent_id, params.epoch.as_deref(), page)
}
