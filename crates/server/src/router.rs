//! The route table and the layers around it. The table is the router: a route that is not in it does not exist,
//! and tests go through the same table.

use crate::gate::{Gate, guard};
use crate::refusal::{Refusal, RequestFault};
use crate::route::{agent, events, message, model, read, run, runtime, waiting, work};
use crate::state::{ActState, ReadState};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use futures_util::FutureExt as _;
use holon_engine::{Acts, Error};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

struct Route<S> {
    method: Method,
    path: &'static str,
    handler: MethodRouter<S>,
}

fn getting<S: Clone + Send + Sync + 'static>(
    path: &'static str,
    handler: MethodRouter<S>,
) -> Route<S> {
    Route {
        method: Method::GET,
        path,
        handler,
    }
}

fn posting<S: Clone + Send + Sync + 'static>(
    path: &'static str,
    handler: MethodRouter<S>,
) -> Route<S> {
    Route {
        method: Method::POST,
        path,
        handler,
    }
}

/// Routes that look. They are not given the acting door.
fn read_routes() -> Vec<Route<ReadState>> {
    vec![
        getting("/", get(runtime::root)),
        getting("/healthz", get(runtime::health)),
        getting("/handshake", get(runtime::handshake)),
        getting("/models", get(model::models)),
        getting("/agents/list", get(read::list)),
        getting("/agents/{id}/status", get(read::status)),
        getting("/agents/{id}/briefs", get(read::briefs)),
        getting("/agents/{id}/transcript", get(read::transcript)),
        getting("/agents/{id}/events", get(events::page)),
        getting("/agents/{id}/events/stream", get(events::stream)),
        getting("/agents/{id}/explain", get(waiting::explain)),
        getting("/agents/{id}/work-items", get(work::list)),
        getting("/agents/{id}/work-items/{item}", get(work::show)),
        getting("/agents/{id}/waits", get(waiting::waits)),
        getting("/agents/{id}/timers", get(waiting::timers)),
        getting("/status", get(read::default_status)),
        getting("/briefs", get(read::default_briefs)),
        getting("/transcript", get(read::default_transcript)),
    ]
}

/// Routes that act.
fn act_routes() -> Vec<Route<ActState>> {
    vec![
        posting("/enqueue", post(message::default_enqueue)),
        posting("/agents/{id}/enqueue", post(message::enqueue)),
        posting("/control/agents/{id}/create", post(agent::create)),
        posting("/control/agents/{id}/prompt", post(message::prompt)),
        posting("/control/agents/{id}/control", post(agent::control)),
        posting("/control/agents/{id}/model", post(model::set)),
        posting("/control/agents/{id}/model/clear", post(model::clear)),
        posting("/control/agents/{id}/wake", post(waiting::wake)),
        posting("/control/agents/{id}/work-items", post(work::create)),
        posting("/control/agents/{id}/work-items/{item}", post(work::update)),
        posting(
            "/control/agents/{id}/work-items/{item}/complete",
            post(work::complete),
        ),
        posting(
            "/control/agents/{id}/work-items/{item}/resume",
            post(work::resume),
        ),
        posting(
            "/control/agents/{id}/waits/{wait}/cancel",
            post(waiting::cancel_wait),
        ),
        posting("/control/agents/{id}/timers", post(waiting::create_timer)),
        posting(
            "/control/agents/{id}/timers/{timer}/cancel",
            post(waiting::cancel_timer),
        ),
        posting("/control/run", post(run::run)),
        posting("/control/runtime/reload", post(runtime::reload)),
        posting("/control/runtime/shutdown", post(runtime::shutdown)),
    ]
}

/// Every route there is, as method and path pattern.
#[must_use]
pub fn routes() -> Vec<(Method, &'static str)> {
    let reads = read_routes()
        .into_iter()
        .map(|route| (route.method, route.path));
    let acts = act_routes()
        .into_iter()
        .map(|route| (route.method, route.path));
    reads.chain(acts).collect()
}

/// The router of one listener.
pub(crate) fn router(gate: Gate, reads: ReadState, acts: ActState) -> Router {
    let when_up = middleware::from_fn_with_state(acts.acts.clone(), refuse_until_up);
    mount(read_routes())
        .with_state(reads)
        .merge(mount(act_routes()).route_layer(when_up).with_state(acts))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::new(gate), guard))
        .layer(middleware::from_fn(envelop))
}

fn mount<S: Clone + Send + Sync + 'static>(routes: Vec<Route<S>>) -> Router<S> {
    routes.into_iter().fold(Router::new(), |router, route| {
        router.route(route.path, route.handler)
    })
}

async fn not_found() -> Refusal {
    RequestFault::UNKNOWN_ROUTE.refuse("there is no such route")
}

async fn wrong_method(method: Method) -> Refusal {
    RequestFault::METHOD.refuse(format!("{method} is not possible here"))
}

/// A host that cannot settle what its predecessor left, because the disk is full, answers those who only look. What
/// concerns the host and no agent is done all the same.
async fn refuse_until_up(State(acts): State<Acts>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let is_about_the_host = path.is_some_and(|path| path.as_str().starts_with("/control/runtime/"));
    if acts.is_up() || is_about_the_host {
        return next.run(request).await;
    }
    Refusal::from(Error::DiskFull).into_response()
}

/// The outermost layer: a fault in one handler is one bad answer, and no answer is kept by a cache.
async fn envelop(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    // The pattern, not the path: paths may come to hold capabilities, and logs must not.
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map_or("(none)", MatchedPath::as_str);
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|_| {
        tracing::error!(%method, path, "a handler panicked");
        let fault = Error::Internal {
            message: "the request was given up".to_owned(),
        };
        Refusal::from(fault)
            .hint("whether it took effect is not known; look at the agent's status before trying again")
            .into_response()
    });
    tracing::debug!(%method, path, status = response.status().as_u16(), "request");
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
    response
}
