//! Routes about the state of the host: status and readiness.

use crate::extract::{NoParams, Params};
use crate::ports::HostFacts;
use crate::refusal::{Refusal, RequestFault};
use crate::state::ReadState;
use axum::Json;
use axum::extract::State;
use holon_api::{
    ActivityState, RuntimeActivity, RuntimeFailure, RuntimeStatusResponse, StartupSurface,
};
use holon_domain::AgentId;
use holon_domain::agent::LastFailure;
use holon_engine::HostActivity;

/// `GET /control/runtime/status`: returns process, activity, last failure and effective settings of the host.
pub(crate) async fn status(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<RuntimeStatusResponse>, Refusal> {
    let activity = state.reads.activity().await?;
    let mut status = describe(&state, state.setup.facts().await);
    status.activity = Some(count(&activity));
    status.last_failure = activity.last_failure.map(failure);
    Ok(Json(status))
}

/// `GET /control/runtime/readiness`: returns the same without activity and failure. Refuses until the host takes
/// requests.
pub(crate) async fn readiness(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<RuntimeStatusResponse>, Refusal> {
    if !is_healthy(&state) {
        return Err(RequestFault::NOT_READY.refuse("the host takes no requests at the moment"));
    }
    Ok(Json(describe(&state, state.setup.facts().await)))
}

fn is_healthy(state: &ReadState) -> bool {
    state.meters.is_up() && !state.host.shutdown.is_cancelled()
}

fn describe(state: &ReadState, facts: HostFacts) -> RuntimeStatusResponse {
    let host = &state.host;
    RuntimeStatusResponse {
        ok: true,
        healthy: is_healthy(state),
        pid: host.pid,
        home_dir: host.home_dir.clone(),
        epoch: state.reads.epoch().to_owned(),
        socket_path: facts.socket_path.clone(),
        http_addr: host.listen.clone(),
        started_at: facts.started_at,
        config_fingerprint: facts.config_fingerprint,
        activity: None,
        startup_surface: Some(StartupSurface {
            home_dir: host.home_dir.clone(),
            socket_path: facts.socket_path,
            workspace_dir: host.workspace_dir.clone(),
            default_agent_id: host.default_agent.clone(),
            callback_base_url: host.advertise_url.clone(),
            control_token_configured: true,
            control_auth_mode: "required",
        }),
        runtime_surface: facts.runtime,
        last_failure: None,
    }
}

fn count(activity: &HostActivity) -> RuntimeActivity {
    let state = if activity.processing_agents > 0 {
        ActivityState::Processing
    } else if activity.waiting_agents > 0 || activity.active_tasks > 0 {
        ActivityState::Waiting
    } else {
        ActivityState::Idle
    };
    RuntimeActivity {
        state,
        active_agent_count: activity.active_agents,
        active_task_count: activity.active_tasks,
        processing_agent_count: activity.processing_agents,
        waiting_agent_count: activity.waiting_agents,
    }
}

fn failure((agent_id, last): (AgentId, LastFailure)) -> RuntimeFailure {
    RuntimeFailure {
        agent_id,
        occurred_at: last.occurred_at,
        summary: last.failure_artifact.summary.clone(),
        phase: "runtime_turn",
        detail_hint: "holon daemon logs".to_owned(),
        failure_artifact: last.failure_artifact,
    }
}
