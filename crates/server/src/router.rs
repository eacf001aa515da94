//! The route table and the middleware around it. A path without a row in the table is answered with 404; tests use the
//! same table.

use crate::gate::{Gate, guard};
use crate::refusal::{Refusal, RequestFault};
use crate::route::{
    agent, archive, debug, events, message, model, read, run, runtime, skill, waiting, work,
    workspace,
};
use crate::state::{ActState, ReadState};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use futures_util::FutureExt as _;
use holon_engine::{ControlHandle, Error};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

struct Route<S> {
    method: Method,
    path: &'static str,
    handler: MethodRouter<S>,
}

fn get_route<S: Clone + Send + Sync + 'static>(
    path: &'static str,
    handler: MethodRouter<S>,
) -> Route<S> {
    Route {
        method: Method::GET,
        path,
        handler,
    }
}

fn post_route<S: Clone + Send + Sync + 'static>(
    path: &'static str,
    handler: MethodRouter<S>,
) -> Route<S> {
    Route {
        method: Method::POST,
        path,
        handler,
    }
}

/// Read-only routes. Their state has no handle that can change an agent.
fn read_routes() -> Vec<Route<ReadState>> {
    vec![
        get_route("/", get(runtime::root)),
        get_route("/healthz", get(runtime::health)),
        get_route("/handshake", get(runtime::handshake)),
        get_route("/models", get(model::models)),
        get_route("/agents/list", get(read::list)),
        get_route("/agents/{id}/status", get(read::status)),
        get_route("/agents/{id}/briefs", get(read::briefs)),
        get_route("/agents/{id}/transcript", get(read::transcript)),
        get_route("/agents/{id}/events", get(events::page)),
        get_route("/agents/{id}/events/stream", get(events::stream)),
        get_route("/agents/{id}/explain", get(waiting::explain)),
        get_route("/agents/{id}/debug/prompt", get(debug::prompt)),
        get_route("/agents/{id}/work-items", get(work::list)),
        get_route("/agents/{id}/work-items/{item}", get(work::show)),
        get_route("/agents/{id}/waits", get(waiting::waits)),
        get_route("/agents/{id}/skills", get(skill::list)),
        get_route("/agents/{id}/timers", get(waiting::timers)),
        get_route("/agents/{id}/worktree-summary", get(workspace::summary)),
        get_route("/worktree-summary", get(workspace::default_summary)),
        get_route("/status", get(read::default_status)),
        get_route("/briefs", get(read::default_briefs)),
        get_route("/transcript", get(read::default_transcript)),
    ]
}

/// Routes that change an agent or the host.
fn act_routes() -> Vec<Route<ActState>> {
    vec![
        post_route("/enqueue", post(message::default_enqueue)),
        post_route("/agents/{id}/enqueue", post(message::enqueue)),
        post_route("/control/agents/{id}/create", post(agent::create)),
        post_route("/control/agents/{id}/export", post(archive::export)),
        post_route("/control/agents/{id}/import", post(archive::import)),
        post_route("/control/agents/{id}/clone", post(archive::clone)),
        post_route("/control/agents/{id}/prompt", post(message::prompt)),
        post_route("/control/agents/{id}/control", post(agent::control)),
        post_route("/control/agents/{id}/model", post(model::set)),
        post_route("/control/agents/{id}/model/clear", post(model::clear)),
        post_route("/control/agents/{id}/wake", post(waiting::wake)),
        post_route("/control/agents/{id}/work-items", post(work::create)),
        post_route("/control/agents/{id}/work-items/{item}", post(work::update)),
        post_route(
            "/control/agents/{id}/work-items/{item}/complete",
            post(work::complete),
        ),
        post_route(
            "/control/agents/{id}/work-items/{item}/resume",
            post(work::resume),
        ),
        post_route(
            "/control/agents/{id}/waits/{wait}/cancel",
            post(waiting::cancel_wait),
        ),
        post_route("/control/agents/{id}/timers", post(waiting::create_timer)),
        post_route(
            "/control/agents/{id}/timers/{timer}/cancel",
            post(waiting::cancel_timer),
        ),
        post_route(
            "/control/agents/{id}/workspace/attach",
            post(workspace::attach),
        ),
        post_route(
            "/control/agents/{id}/workspace/use",
            post(workspace::use_workspace),
        ),
        post_route("/control/agents/{id}/workspace/exit", post(workspace::exit)),
        post_route(
            "/control/agents/{id}/workspace/detach",
            post(workspace::detach),
        ),
        post_route("/control/worktrees", post(workspace::worktrees)),
        post_route("/control/agents/{id}/skills/install", post(skill::install)),
        post_route(
            "/control/agents/{id}/skills/uninstall",
            post(skill::uninstall),
        ),
        post_route("/control/run", post(run::run)),
        post_route("/control/runtime/reload", post(runtime::reload)),
        post_route("/control/runtime/shutdown", post(runtime::shutdown)),
    ]
}

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

/// Builds the router of one listener.
pub(crate) fn router(gate: Gate, reads: ReadState, control: ActState) -> Router {
    let when_up = middleware::from_fn_with_state(control.control.clone(), refuse_until_up);
    mount(read_routes())
        .with_state(reads)
        .merge(mount(act_routes()).route_layer(when_up).with_state(control))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(Arc::new(gate), guard))
        .layer(middleware::from_fn(wrap_response))
}

fn mount<S: Clone + Send + Sync + 'static>(routes: Vec<Route<S>>) -> Router<S> {
    routes.into_iter().fold(Router::new(), |router, route| {
        router.route(route.path, route.handler)
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
    response
}
