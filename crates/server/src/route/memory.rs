//! Routes that search and read an agent's memory, and rebuild its index.

use crate::body::OptionalJson;
use crate::extract::{AgentPath, NoParams, Params, check_limit, clamp_seq};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::RebuildMemoryRequest;
use holon_domain::limits::{
    EPISODES_PAGE, EPISODES_PAGE_MAX, MEMORY_CONTENT_CHARS, MEMORY_CONTENT_CHARS_MAX,
    MEMORY_RESULTS, MEMORY_RESULTS_MAX,
};
use holon_domain::memory::{
    EpisodePage, MemoryContent, MemoryGet, MemoryPage, MemoryRebuild, MemorySearch, SourceRef,
};
use serde::Deserialize;

/// Query of a search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchParams {
    query: Option<String>,
    limit: Option<u64>,
    all_workspaces: Option<bool>,
}

/// Query of an exact read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetParams {
    source_ref: Option<String>,
    max_chars: Option<u64>,
}

/// `GET /agents/{id}/memory/search`: searches an agent's memory from its active workspace.
pub(crate) async fn search(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<SearchParams>,
) -> Result<Json<MemoryPage>, Refusal> {
    let limit = check_limit(
        params.limit,
        MEMORY_RESULTS.into(),
        MEMORY_RESULTS_MAX.into(),
    )?;
    let query = params.query.unwrap_or_default();
    if query.trim().is_empty() {
        let refusal = RequestFault::REQUEST.refuse("the query is empty");
        return Err(refusal.hint("send words, names, paths or ids as `query`"));
    }
    let search = MemorySearch {
        query,
        limit: u32::try_from(limit).unwrap_or(MEMORY_RESULTS_MAX),
        include_all_workspaces: params.all_workspaces.unwrap_or(false),
    };
    Ok(Json(state.reads.search_memory(&agent_id, search).await?))
}

/// `GET /agents/{id}/memory/get`: reads one document exactly.
pub(crate) async fn get(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<GetParams>,
) -> Result<Json<MemoryContent>, Refusal> {
    let asked = params.source_ref.unwrap_or_default();
    let source_ref = SourceRef::parse(&asked).map_err(|error| {
        let refusal = RequestFault::REQUEST.refuse(error.to_string());
        refusal.hint("copy the source_ref of a search result")
    })?;
    let max_chars = check_limit(
        params.max_chars,
        MEMORY_CONTENT_CHARS.into(),
        MEMORY_CONTENT_CHARS_MAX.into(),
    )?;
    let get = MemoryGet {
        source_ref,
        max_chars: u32::try_from(max_chars).unwrap_or(MEMORY_CONTENT_CHARS_MAX),
    };
    Ok(Json(state.reads.read_memory(&agent_id, get).await?))
}

/// Query of a page of episodes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpisodeParams {
    before_seq: Option<u64>,
    limit: Option<u64>,
}

/// `GET /agents/{id}/memory/episodes`: lists an agent's episodes, the newest first.
pub(crate) async fn episodes(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<EpisodeParams>,
) -> Result<Json<EpisodePage>, Refusal> {
    let limit = check_limit(params.limit, EPISODES_PAGE as u64, EPISODES_PAGE_MAX as u64)?;
    let limit = usize::try_from(limit).unwrap_or(EPISODES_PAGE_MAX);
    let page = state
        .reads
        .episodes(&agent_id, clamp_seq(params.before_seq), limit);
    Ok(Json(page.await?))
}

/// `POST /control/agents/{id}/memory/rebuild`: takes bounded steps of a rebuild. The caller repeats it, without
/// `restart`, until `done`.
pub(crate) async fn rebuild(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(request): OptionalJson<RebuildMemoryRequest>,
) -> Result<Json<MemoryRebuild>, Refusal> {
    let steps = state.reads.rebuild_memory(&agent_id, request.restart);
    Ok(Json(steps.await?))
}
