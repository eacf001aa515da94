//! Routes about an agent's skills.

use crate::body::JsonBody;
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::Refusal;
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{InstallSkillRequest, SkillChangeResponse, SkillsResponse, UninstallSkillRequest};

/// `GET /agents/{id}/skills`: lists the skills that an agent can use.
pub(crate) async fn list(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<SkillsResponse>, Refusal> {
    let (catalog, skills) = state.reads.skills(&agent_id).await?;
    Ok(Json(SkillsResponse {
        ok: true,
        agent_id,
        skills,
        catalog,
    }))
}

/// `POST /control/agents/{id}/skills/install`: installs a skill into an agent's home.
pub(crate) async fn install(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<InstallSkillRequest>,
) -> Result<Json<SkillChangeResponse>, Refusal> {
    let installed = state.control.install_skill(&agent_id, request.kind);
    let skill_name = installed.await?;
    Ok(Json(SkillChangeResponse {
        ok: true,
        agent_id,
        skill_name,
    }))
}

/// `POST /control/agents/{id}/skills/uninstall`: removes a skill from an agent's home.
pub(crate) async fn uninstall(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<UninstallSkillRequest>,
) -> Result<Json<SkillChangeResponse>, Refusal> {
    let skill_name = request.name;
    state
        .control
        .uninstall_skill(&agent_id, &skill_name)
        .await?;
    Ok(Json(SkillChangeResponse {
        ok: true,
        agent_id,
        skill_name,
    }))
}
