//! Routes that create, start, stop, abort and delete agents.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::Act;
use axum::Json;
use holon_api::{
    AbortMode, AbortRunRequest, AbortRunResponse, ArchiveAgentResponse, ControlAction,
    ControlRequest, ControlResponse, CreateAgentRequest, CreateAgentResponse, DeleteAgentResponse,
    EmptyRequest,
};
use holon_domain::AgentId;
use holon_domain::message::AdmissionContext;
use holon_domain::model::ModelRef;
use holon_engine::AfterAbort;
use holon_engine::request::{CreateAgent, HomeChoice, WorkspaceChoice};
use std::path::PathBuf;

/// `POST /control/agents/{id}/create`: creates an agent.
pub(crate) async fn create(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(request): OptionalJson<CreateAgentRequest>,
) -> Result<Json<CreateAgentResponse>, Refusal> {
    let trust = request.trust;
    let request = CreateAgent {
        agent_id: parse_new_agent_id(&agent_id)?,
        workspace: workspace_choice(request.workspace_root, request.cwd),
        home: HomeChoice {
            template: request.template,
            seed: request.seed,
        },
        model: request.model.as_deref().map(parse_model).transpose()?,
    };
    let identity = state.control.create_agent(request).await?;
    Ok(Json(CreateAgentResponse::new(identity, trust)))
}

/// `POST /control/agents/{id}/control`: starts or stops an agent, or aborts its run.
pub(crate) async fn control(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<ControlRequest>,
) -> Result<Json<ControlResponse>, Refusal> {
    let ControlRequest { action, run_id, .. } = request;
    if run_id.is_some() && action != ControlAction::Abort {
        return Err(RequestFault::REQUEST
            .refuse("run_id belongs to an abort")
            .hint("leave run_id out, or send the action \"abort\""));
    }
    match action {
        ControlAction::Abort => {
            let aborted = state.control.abort_run(&agent_id, run_id, AfterAbort::GoOn);
            let run_id = Some(aborted.await?);
            let done = ControlResponse::new(agent_id, action);
            return Ok(Json(ControlResponse { run_id, ..done }));
        }
        ControlAction::Start | ControlAction::Resume => {
            state.control.start_agent(&agent_id).await?
        }
        ControlAction::Stop | ControlAction::Pause => state.control.stop_agent(&agent_id).await?,
    }
    Ok(Json(ControlResponse::new(agent_id, action)))
}

/// `POST /control/agents/{id}/current-run/abort`: aborts the current run, and stops the agent unless the mode says
/// otherwise.
pub(crate) async fn abort(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(request): OptionalJson<AbortRunRequest>,
) -> Result<Json<AbortRunResponse>, Refusal> {
    let AbortRunRequest {
        run_id,
        mode,
        trust,
    } = request;
    let then = match mode {
        AbortMode::StopAfterAbort => AfterAbort::Stop,
        AbortMode::ContinueAfterAbort => AfterAbort::GoOn,
    };
    let run_id = state.control.abort_run(&agent_id, run_id, then).await?;
    Ok(Json(AbortRunResponse {
        ok: true,
        aborted: true,
        agent_id,
        run_id,
        mode,
        admission_context: AdmissionContext::ControlAuthenticated,
        provided_trust: trust,
    }))
}

/// `POST /control/agents/{id}/archive`: stops an agent for good. It is no longer listed; its history can be read.
pub(crate) async fn archive(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<ArchiveAgentResponse>, Refusal> {
    if agent_id == state.host.default_agent {
        return Err(RequestFault::DEFAULT_AGENT.refuse("the default agent is not archived"));
    }
    state.control.archive_agent(&agent_id).await?;
    Ok(Json(ArchiveAgentResponse {
        ok: true,
        agent_id,
        archived: true,
    }))
}

/// `POST /control/agents/{id}/delete`: removes an agent with its home and its history. The removal goes on after the
/// response and survives a restart.
pub(crate) async fn delete(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<DeleteAgentResponse>, Refusal> {
    if agent_id == state.host.default_agent {
        return Err(RequestFault::DEFAULT_AGENT.refuse("the default agent is not removed"));
    }
    state.control.remove_agent(&agent_id).await?;
    // A secret that stays behind, also after a crash, opens no other agent of this name: it is bound to this one's birth.
    if let Err(error) = state.manage.remove_webhook_secret(&agent_id).await {
        tracing::warn!(%agent_id, error, "the secret of its webhooks was not removed");
    }
    Ok(Json(DeleteAgentResponse {
        ok: true,
        agent_id,
        delete_requested: true,
    }))
}

/// Parses a name that an operator may give to a new agent; names of the runtime are refused.
pub(super) fn parse_new_agent_id(agent_id: &AgentId) -> Result<AgentId, Refusal> {
    Ok(AgentId::parse(agent_id.as_str()).map_err(holon_engine::Error::from)?)
}

pub(super) fn parse_model(text: &str) -> Result<ModelRef, Refusal> {
    ModelRef::parse(text).map_err(|error| RequestFault::MODEL_REF.refuse(error.to_string()))
}

/// Converts the workspace fields. The engine checks that the paths are usable.
pub(super) fn workspace_choice(root: Option<String>, cwd: Option<String>) -> WorkspaceChoice {
    WorkspaceChoice {
        workspace_root: root.map(PathBuf::from),
        cwd: cwd.map(PathBuf::from),
    }
}
