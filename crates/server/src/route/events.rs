//! Routes that read the events of one agent, or of all public agents, as pages and as streams.

use crate::extract::{AgentPath, Params, check_limit, clamp_seq};
use crate::gate::Caller;
use crate::refusal::{Refusal, RequestFault};
use crate::source::EventSource;
use crate::sse::{self, StreamRequest};
use crate::state::{Connection, ReadState};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::{Extension, Json};
use holon_api::event::{HostPageQuery, PageQuery};
use holon_api::{EventsPage, HostEventsPage, PageOrder, Projection};
use holon_domain::feed::EventQuery;
use holon_domain::limits::{EVENT_PAGE, EVENT_PAGE_MAX};
use holon_domain::request_key::TokenScope;
use holon_engine::Error;
use serde::Deserialize;

/// Query of an event page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageParams {
    before_seq: Option<u64>,
    after_seq: Option<u64>,
    limit: Option<u64>,
    order: Option<PageOrder>,
    projection: Option<Projection>,
}

/// Query of an event stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamParams {
    after_seq: Option<u64>,
    limit: Option<u64>,
    projection: Option<Projection>,
    /// True if text of answers that are still arriving is sent too.
    #[serde(default)]
    deltas: bool,
}

/// `GET /agents/{id}/events`: returns a page of events.
pub(crate) async fn page(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<PageParams>,
) -> Result<Json<EventsPage>, Refusal> {
    check_projection(params.projection, &caller)?;
    let limit = check_limit(params.limit, EVENT_PAGE, EVENT_PAGE_MAX)?;
    let order = params.order.unwrap_or_default();
    let query = EventQuery {
        before_seq: clamp_seq(params.before_seq),
        after_seq: clamp_seq(params.after_seq),
        limit,
        order: order.into(),
    };
    let page = state.reads.events(&agent_id, query).await?;
    let of = PageQuery {
        agent_id: &agent_id,
        epoch: state.reads.epoch(),
        order,
        limit,
        projection: params.projection.unwrap_or_default(),
    };
    EventsPage::new(of, &page).map(Json).map_err(|error| {
        Refusal::from(Error::Internal {
            message: error.to_string(),
        })
    })
}

/// `GET /agents/{id}/events/stream`: streams events after a cursor. With `deltas=true` it also sends `assistant_delta`
/// frames without id, which the recorded round replaces.
pub(crate) async fn stream(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<StreamParams>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    check_projection(params.projection, &caller)?;
    let request = StreamRequest {
        source: EventSource::Agent(agent_id),
        cursor: clamp_seq(cursor(params.after_seq, &headers)?),
        limit: check_limit(params.limit, EVENT_PAGE, EVENT_PAGE_MAX)?,
        projection: params.projection.unwrap_or_default(),
        deltas: params.deltas,
        connection: connection.map(|Extension(connection)| connection),
    };
    sse::open(&state, request).await
}

/// Query of the host's event stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostStreamParams {
    after_seq: Option<u64>,
    limit: Option<u64>,
    projection: Option<Projection>,
}

/// `GET /events`: returns a page of the events of all public agents.
pub(crate) async fn host_page(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    Params(params): Params<PageParams>,
) -> Result<Json<HostEventsPage>, Refusal> {
    check_projection(params.projection, &caller)?;
    let limit = check_limit(params.limit, EVENT_PAGE, EVENT_PAGE_MAX)?;
    let order = params.order.unwrap_or_default();
    let query = EventQuery {
        before_seq: clamp_seq(params.before_seq),
        after_seq: clamp_seq(params.after_seq),
        limit,
        order: order.into(),
    };
    let page = state.reads.host_events(query).await?;
    let of = HostPageQuery {
        epoch: state.reads.epoch(),
        order,
        limit,
        projection: params.projection.unwrap_or_default(),
    };
    let response = HostEventsPage::new(of, &page).map_err(|error| sse::internal(&error))?;
    Ok(Json(response))
}

/// `GET /events/stream`: streams the events of all public agents after a cursor of the host.
pub(crate) async fn host_stream(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    Params(params): Params<HostStreamParams>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    check_projection(params.projection, &caller)?;
    let request = StreamRequest {
        source: EventSource::Host,
        cursor: clamp_seq(cursor(params.after_seq, &headers)?),
        limit: check_limit(params.limit, EVENT_PAGE, EVENT_PAGE_MAX)?,
        projection: params.projection.unwrap_or_default(),
        deltas: false,
        connection: connection.map(|Extension(connection)| connection),
    };
    sse::open(&state, request).await
}

/// Refuses raw diagnostics to a caller without the rights of the control token.
fn check_projection(asked: Option<Projection>, caller: &Caller) -> Result<(), Refusal> {
    match asked {
        Some(Projection::LocalDebug) => caller.require(TokenScope::Control),
        Some(Projection::Operator) | None => Ok(()),
    }
}

/// Returns the cursor of the `Last-Event-ID` header, else that of the query. A browser that reconnects repeats its first
/// URL and adds the header, so the header is the newer one.
fn cursor(after_seq: Option<u64>, headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(after_seq);
    };
    let seq = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    seq.map(Some)
        .ok_or_else(|| RequestFault::CURSOR.refuse("Last-Event-ID is not a number"))
}
