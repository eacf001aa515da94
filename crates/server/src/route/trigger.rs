//! Routes about external triggers, for operators. Only one of them shows a URL.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, MemberPath, NoParams, Params};
use crate::refusal::Refusal;
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{CreateTriggerRequest, EmptyRequest, RevealTriggerResponse};
use holon_domain::TriggerId;
use holon_domain::trigger::TriggerView;

/// `GET /agents/{id}/external-triggers`: the active and the newest revoked ones, newest first.
pub(crate) async fn list(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<Vec<TriggerView>>, Refusal> {
    Ok(Json(state.reads.triggers(&agent_id).await?))
}

/// `POST /control/agents/{id}/external-triggers`: makes a trigger, or returns the active one of this mode.
pub(crate) async fn create(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<CreateTriggerRequest>,
) -> Result<Json<TriggerView>, Refusal> {
    let made = state
        .control
        .create_trigger(&agent_id, request.delivery_mode);
    Ok(Json(made.await?.view()))
}

/// `POST /control/agents/{id}/external-triggers/{trigger}/rotate`: gives a trigger another URL.
pub(crate) async fn rotate(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<TriggerView>, Refusal> {
    let id = TriggerId::from_stored(member);
    Ok(Json(
        state.control.rotate_trigger(&agent_id, id).await?.view(),
    ))
}

/// `POST /control/agents/{id}/external-triggers/{trigger}/revoke`: makes the URL of a trigger useless.
pub(crate) async fn revoke(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<TriggerView>, Refusal> {
    let id = TriggerId::from_stored(member);
    Ok(Json(
        state.control.revoke_trigger(&agent_id, id).await?.view(),
    ))
}

/// `POST /control/agents/{id}/external-triggers/{trigger}/reveal`: shows the URL of an active trigger.
pub(crate) async fn reveal(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<RevealTriggerResponse>, Refusal> {
    let id = TriggerId::from_stored(member);
    let revealed = state.control.reveal_trigger(&agent_id, &id).await?;
    let (external_trigger, trigger_url) = revealed;
    Ok(Json(RevealTriggerResponse {
        ok: true,
        trigger_url,
        external_trigger: external_trigger.view(),
    }))
}
