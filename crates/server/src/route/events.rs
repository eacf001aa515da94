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
use holon_api::event::{EPOCH_HEADER, HostPageQuery, PageQuery};
use holon_api::{EventsPage, HostEventsPage, PageOrder, Projection};
use holon_domain::feed::EventQuery;
use holon_domain::limits::{EVENT_PAGE, EVENT_PAGE_MAX};
use holon_domain::request_key::TokenScope;
use holon_engine::Error;
use serde::Deserialize;

/// Header with the cursor of a reader that reconnects.
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";

/// Query of an event page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageParams {
    before_seq: Option<u64>,
    after_seq: Option<u64>,
    limit: Option<u64>,
    order: Option<PageOrder>,
    projection: Option<Projection>,
    /// Store that the cursors belong to, as an earlier answer named it.
    epoch: Option<String>,
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
    /// Store that the cursor belongs to, as an earlier answer named it.
    epoch: Option<String>,
}

/// `GET /agents/{id}/events`: returns a page of events.
pub(crate) async fn page(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<PageParams>,
    headers: HeaderMap,
) -> Result<Json<EventsPage>, Refusal> {
    check_projection(params.projection, &caller)?;
    check_epoch(&state, params.epoch.as_deref(), &headers)?;
    let limit = check_limit(params.limit, EVENT_PAGE, EVENT_PAGE_MAX)?;
    let order = params.order.unwrap_or_default();
    let query = EventQuery {
        before_seq: clamp_seq(params.before_seq),
        after_seq: clamp_seq(params.after_seq),
        limit,
        order: order.into(),
    };
    let page = state.reads.events(&agent_id, query).await?;
    check_ahead(query.after_seq, page.newest_seq.unwrap_or(0))?;
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
    check_epoch(&state, params.epoch.as_deref(), &headers)?;
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
    /// Store that the cursor belongs to, as an earlier answer named it.
    epoch: Option<String>,
}

/// `GET /events`: returns a page of the events of all public agents.
pub(crate) async fn host_page(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    Params(params): Params<PageParams>,
    headers: HeaderMap,
) -> Result<Json<HostEventsPage>, Refusal> {
    check_projection(params.projection, &caller)?;
    check_epoch(&state, params.epoch.as_deref(), &headers)?;
    let limit = check_limit(params.limit, EVENT_PAGE, EVENT_PAGE_MAX)?;
    let order = params.order.unwrap_or_default();
    let query = EventQuery {
        before_seq: clamp_seq(params.before_seq),
        after_seq: clamp_seq(params.after_seq),
        limit,
        order: order.into(),
    };
    let page = state.reads.host_events(query).await?;
    check_ahead(query.after_seq, page.newest_seq)?;
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
    check_epoch(&state, params.epoch.as_deref(), &headers)?;
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

/// Refuses a cursor of another store, such as the one that a backup has replaced: its number may mean another event here.
/// The query or the header names the store of the cursor; a caller that names none is not checked.
fn check_epoch(state: &ReadState, asked: Option<&str>, headers: &HeaderMap) -> Result<(), Refusal> {
    let of_header = headers.get(EPOCH_HEADER);
    let of_header = of_header.map(|value| value.to_str().unwrap_or_default());
    let epoch = state.reads.epoch();
    if asked.or(of_header).is_none_or(|asked| asked == epoch) {
        return Ok(());
    }
    Err(RequestFault::EPOCH
        .refuse("the cursor belongs to another store than the present one")
        .with("epoch", epoch))
}

/// Refuses a cursor that is newer than the newest event. Such a cursor is of another store, and an empty page would hide
/// that the events after the restored ones are never read.
fn check_ahead(after_seq: Option<u64>, newest_seq: u64) -> Result<(), Refusal> {
    match after_seq {
        Some(after) if after > newest_seq => Err(sse::refuse_cursor_ahead(after, newest_seq)),
        Some(_) | None => Ok(()),
    }
}

/// Returns the cursor of the `Last-Event-ID` header, else that of the query. A browser that reconnects repeats its first
/// URL and adds the header, so the header is the newer one. An empty one names no event.
fn cursor(after_seq: Option<u64>, headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let refused = || RequestFault::CURSOR.refuse("Last-Event-ID is not a number");
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(after_seq);
    };
    let text = value.to_str().map_err(|_| refused())?.trim();
    if text.is_empty() {
        return Ok(after_seq);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    // A number beyond the range is beyond every event.
    Ok(Some(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn an_empty_header_names_no_event_and_a_huge_one_is_beyond_all() {
        let read = |header: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = header {
                headers.insert(LAST_EVENT_ID, HeaderValue::from_static(value));
            }
            cursor(Some(3), &headers).map_err(|refusal| refusal.into_body().code)
        };
        assert_eq!(read(None), Ok(Some(3)));
        assert_eq!(read(Some("")), Ok(Some(3)));
        assert_eq!(read(Some("7")), Ok(Some(7)));
        assert_eq!(read(Some("99999999999999999999999")), Ok(Some(u64::MAX)));
        for nonsense in ["x", "-1", "+1", "1.5"] {
            assert!(read(Some(nonsense)).is_err(), "{nonsense}");
        }
    }
}
