//! The route table and the middleware around it. A path without a row in the table is answered with 404, and every row
//! declares the rights it needs; tests use the same table.

use crate::gate::{Access, Gate, Guard, check_access, guard};
use crate::keyed::{KeyedRoute, serve_once};
use crate::refusal::{Refusal, RequestFault};
use crate::route_table::{Route, act_routes, read_routes};
use crate::state::{ActState, ReadState};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue, REFERRER_POLICY};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use holon_api::ARCHIVE_MEDIA_TYPE;
use holon_engine::{ControlHandle, Error};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

/// Bytes of an answer from which on compression saves more than it costs.
const COMPRESSED_ABOVE: u16 = 1_024;

/// Returns every route as method and path pattern.
#[must_use]
pub fn routes() -> Vec<(Method, &'static str)> {
    let reads = read_routes()
        .into_iter()
        .map(|route| (route.method, route.path));
    let control = act_routes()
        .into_iter()
        .map(|route| (route.method, route.path));
    reads.chain(control).collect()
}

/// Returns every route with the rights that it declares.
#[must_use]
pub fn route_access() -> Vec<(Method, &'static str, Access)> {
    let reads = read_routes()
        .into_iter()
        .map(|route| (route.method, route.path, route.access));
    let control = act_routes()
        .into_iter()
        .map(|route| (route.method, route.path, route.access));
    reads.chain(control).collect()
}

/// Builds the router of one listener.
pub(crate) fn router(gate: Gate, reads: ReadState, control: ActState) -> Router {
    let when_up = middleware::from_fn_with_state(control.control.clone(), refuse_until_up);
    let acts = once(act_routes(), &control);
    let gate = Guard {
        gate,
        host: Arc::clone(&control.host),
        control: control.control.clone(),
    };
    mount(read_routes())
        .with_state(reads)
        .merge(mount(acts).route_layer(when_up).with_state(control))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(Arc::new(gate), guard))
        .layer(middleware::from_fn(wrap_response))
        .layer(compression())
}

/// Compresses large answers for callers that ask for it. A stream is sent frame by frame, and an archive is sent with
/// its length.
fn compression() -> CompressionLayer<impl Predicate> {
    let worth_it = SizeAbove::new(COMPRESSED_ABOVE)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new(ARCHIVE_MEDIA_TYPE));
    CompressionLayer::new().gzip(true).compress_when(worth_it)
}

/// Adds the middleware that lets a repeated request take effect once.
fn once(routes: Vec<Route<ActState>>, state: &ActState) -> Vec<Route<ActState>> {
    let keyed = |route: Route<ActState>| {
        let keyed = KeyedRoute {
            control: state.control.clone(),
            served: Arc::clone(&state.host.served_keys),
            keep: route.keep,
            tasks: state.host.tasks.clone(),
            cut_off: state.host.cut_off.clone(),
        };
        let layer = middleware::from_fn_with_state(keyed, serve_once);
        Route {
            handler: route.handler.route_layer(layer),
            ..route
        }
    };
    routes.into_iter().map(keyed).collect()
}

/// Builds the router of a table. The rights of each route are checked before everything else about it.
fn mount<S: Clone + Send + Sync + 'static>(routes: Vec<Route<S>>) -> Router<S> {
    routes.into_iter().fold(Router::new(), |router, route| {
        let access = middleware::from_fn_with_state(route.access, check_access);
        router.route(route.path, route.handler.route_layer(access))
    })
}

async fn not_found() -> Refusal {
    RequestFault::UNKNOWN_ROUTE.refuse("there is no such route")
}

async fn method_not_allowed(method: Method) -> Refusal {
    RequestFault::METHOD.refuse(format!("{method} is not possible here"))
}

/// Refuses changes while the host cannot recover its agents because the disk is full. Read-only routes and routes about
/// the host itself still work.
async fn refuse_until_up(
    State(control): State<ControlHandle>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let is_about_the_host = path.is_some_and(|path| path.as_str().starts_with("/control/runtime/"));
    if control.is_up() || is_about_the_host {
        return next.run(request).await;
    }
    Refusal::from(Error::DiskFull).into_response()
}

/// Outermost middleware: turns a panic of a handler into an error response, and forbids caching.
async fn wrap_response(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    // The pattern is logged instead of the path, because a path may hold a capability.
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
    // The path may hold a capability, which no other site may learn.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
