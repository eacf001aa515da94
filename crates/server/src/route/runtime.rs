//! Routes about the host itself: root, health, handshake, reload, shutdown.

use crate::body::OptionalJson;
use crate::extract::{NoParams, Params};
use crate::gate::Caller;
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState, Transport};
use axum::extract::State;
use axum::{Extension, Json};
use holon_api::{
    AuthInfo, AuthMode, Handshake, Health, ProtocolInfo, ReloadResponse, Root, RuntimeInfo,
    ShutdownResponse,
};
use serde::Deserialize;

/// Names of the features of this build, for clients that check before they call.
const CAPABILITIES: [&str; 21] = [
    "agents.list",
    "agents.status",
    "agents.state",
    "agents.events",
    "agents.control",
    "agents.model",
    "agents.work",
    "agents.tasks",
    "agents.timers",
    "agents.wake",
    "agents.explain",
    "agents.debug_prompt",
    "models.list",
    "control.run",
    "control.reload",
    "control.tokens",
    "control.idempotency",
    "host.events",
    "delivery.targets",
    "operator.transport",
    "tui.remote",
];

/// A body without fields.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

/// `GET /`: names the default agent.
pub(crate) async fn root(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Json<Root> {
    Json(Root {
        ok: true,
        default_agent: state.host.default_agent.clone(),
    })
}

/// `GET /healthz`: answers while the host is up; needs no token.
pub(crate) async fn health(Params(NoParams {}): Params<NoParams>) -> Json<Health> {
    Json(Health::live())
}

/// `GET /handshake`: returns protocol and authentication mode, and more to an authenticated caller.
pub(crate) async fn handshake(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    Params(NoParams {}): Params<NoParams>,
) -> Json<Handshake> {
    let mode = match state.transport {
        Transport::Tcp => AuthMode::Bearer,
        Transport::Unix => AuthMode::Local,
    };
    let (capabilities, runtime) = match caller.scope() {
        None => (None, None),
        Some(_) => (
            Some(CAPABILITIES.map(String::from).to_vec()),
            Some(runtime_info(&state)),
        ),
    };
    Json(Handshake {
        ok: true,
        protocol: ProtocolInfo::current(),
        auth: AuthInfo::of(mode),
        capabilities,
        runtime,
    })
}

fn runtime_info(state: &ReadState) -> RuntimeInfo {
    RuntimeInfo {
        default_agent: state.host.default_agent.clone(),
        workspace_dir: state.host.workspace_dir.clone(),
        home_dir: state.host.home_dir.clone(),
        listen: state.host.listen.clone(),
        advertise_url: state.host.advertise_url.clone(),
        epoch: state.reads.epoch().to_owned(),
    }
}

/// `POST /control/runtime/reload`: reads settings and credentials again.
pub(crate) async fn reload(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyBody {}): OptionalJson<EmptyBody>,
) -> Result<Json<ReloadResponse>, Refusal> {
    match state.manage.reload().await {
        Ok(done) => Ok(Json(done)),
        Err(reason) => Err(RequestFault::SETTINGS.refuse(reason)),
    }
}

/// `POST /control/runtime/shutdown`. The response is sent while the host drains.
pub(crate) async fn shutdown(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyBody {}): OptionalJson<EmptyBody>,
) -> Json<ShutdownResponse> {
    tracing::info!("a client asked the host to go down");
    state.host.shutdown.cancel();
    Json(ShutdownResponse {
        ok: true,
        pid: state.host.pid,
        home_dir: state.host.home_dir.clone(),
        shutdown_requested: true,
    })
}
