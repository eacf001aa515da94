//! Routes about bindings to remote operators, and the messages that these bring.

use super::delivery::{check_url, condition, refuse_token};
use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::gate::Caller;
use crate::refusal::{Refusal, RequestFault};
use crate::signature::check_sent_secret;
use crate::state::{Act, ReadState};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use holon_api::{
    AdmittedResponse, DeliveryAuthRequest, EmptyRequest, OperatorBindingResponse,
    OperatorBindingView, OperatorBindingsResponse, OperatorIngressRequest,
    OperatorTransportBindingRequest, RetryDeliveriesResponse, RevokeBindingResponse,
};
use holon_domain::delivery::TargetAuth;
use holon_domain::message::{AdmissionContext, DeliverySurface, Origin, Priority};
use holon_domain::operator_transport::{
    BindingStatus, DeliveryAuth, OperatorTransportBinding, TransportClaim,
};
use holon_domain::request_key::TokenScope;
use holon_domain::{AgentId, BindingId};
use holon_engine::request::Ingress;
use holon_engine::{BindingAddition, LaneView};
use serde_json::{Map, Value};

/// Longest id or name in a binding, in characters.
pub(crate) const FIELD_CHARACTERS: usize = 512;
/// Most routes that a binding lists beside its default route.
pub(crate) const REPLY_ROUTES: usize = 64;

/// `GET /agents/{id}/operator-bindings`: lists the bindings of an agent.
pub(crate) async fn bindings(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<OperatorBindingsResponse>, Refusal> {
    let bindings = state.reads.operator_bindings(&agent_id).await?;
    let may_change = caller.require(TokenScope::Control).is_ok();
    let now = state.reads.now();
    let view = |(binding, lane): (OperatorTransportBinding, LaneView)| {
        let (pending, delivered) = (lane.pending, lane.has_accepted);
        let condition = condition(lane);
        let mut view = OperatorBindingView {
            state: condition.state,
            delivered,
            pending,
            last_error: condition.error,
            failing_since: condition.since,
            retry_at: condition.retry_at,
            ..OperatorBindingView::new(agent_id.clone(), binding, now)
        };
        if !may_change {
            view.hide_address();
        }
        view
    };
    Ok(Json(OperatorBindingsResponse {
        bindings: bindings.into_iter().map(view).collect(),
        agent_id,
    }))
}

/// `POST /control/agents/{id}/operator-bindings`: makes or replaces a binding.
pub(crate) async fn bind(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<OperatorTransportBindingRequest>,
) -> Result<Json<OperatorBindingResponse>, Refusal> {
    check_binding(&agent_id, &request)?;
    refuse_token(&state.control, &request)?;
    let secret = request.delivery_auth.secret.clone();
    let binding_id = match request.binding_id {
        Some(id) => BindingId::from_stored(id),
        None => state.control.mint_binding_id(),
    };
    let now = state.control.now();
    let binding = OperatorTransportBinding {
        binding_id,
        transport: request.transport,
        operator_actor_id: request.operator_actor_id,
        default_route_id: request.default_route_id,
        reply_route_ids: request.reply_route_ids,
        delivery_callback_url: request.delivery_callback_url,
        delivery_auth: DeliveryAuth {
            kind: request.delivery_auth.kind,
            key_id: request.delivery_auth.key_id,
        },
        capabilities: request.capabilities,
        provider: request.provider,
        provider_identity_ref: request.provider_identity_ref,
        status: BindingStatus::Active,
        created_at: now,
        last_seen_at: None,
        expires_at: request.expires_at,
        turn_results: request.turn_results,
        metadata: request.metadata,
        secret_id: None,
    };
    let control = &state.control;
    let made = control.bind_operator(&agent_id, binding, secret.as_deref());
    match made.await? {
        BindingAddition::Made(stored) => Ok(Json(OperatorBindingResponse {
            ok: true,
            binding: OperatorBindingView::new(agent_id.clone(), *stored, now),
            agent_id,
        })),
        BindingAddition::NeedsSecret => {
            Err(RequestFault::OPERATOR_BINDING.refuse("delivery_auth needs a secret"))
        }
    }
}

fn check_binding(
    agent_id: &AgentId,
    request: &OperatorTransportBindingRequest,
) -> Result<(), Refusal> {
    let refuse = |message: String| Err(RequestFault::OPERATOR_BINDING.refuse(message));
    if let Some(target) = &request.target_agent_id
        && target != agent_id.as_str()
    {
        return refuse(format!(
            "target_agent_id is {target:?}, and the path names {agent_id}"
        ));
    }
    let fields = [
        ("transport", Some(&request.transport)),
        ("operator_actor_id", Some(&request.operator_actor_id)),
        ("default_route_id", Some(&request.default_route_id)),
        ("binding_id", request.binding_id.as_ref()),
        ("key_id", request.delivery_auth.key_id.as_ref()),
        ("provider", request.provider.as_ref()),
        (
            "provider_identity_ref",
            request.provider_identity_ref.as_ref(),
        ),
    ];
    if request.reply_route_ids.len() > REPLY_ROUTES {
        return refuse(format!("a binding has up to {REPLY_ROUTES} reply routes"));
    }
    let routes = request.reply_route_ids.iter();
    let routes = routes.map(|route| ("reply_route_ids", Some(route)));
    for (name, value) in fields.into_iter().chain(routes) {
        let Some(value) = value else { continue };
        if value.trim().is_empty() || value.chars().count() > FIELD_CHARACTERS {
            return refuse(format!("{name} has 1 to {FIELD_CHARACTERS} characters"));
        }
    }
    let key_id = request.delivery_auth.key_id.as_deref().unwrap_or_default();
    if !key_id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return refuse(
            "key_id is sent in a header and has visible ASCII characters only".to_owned(),
        );
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let id = request.binding_id.as_deref().unwrap_or("x");
    if id.len() > 48 || !id.bytes().all(plain) {
        return refuse("binding_id has up to 48 letters, digits, '.', '-' and '_'".to_owned());
    }
    if !request.capabilities.text {
        return refuse("a transport must be able to show text".to_owned());
    }
    check_auth_secret(&request.delivery_auth)?;
    check_url(&request.delivery_callback_url)
}

/// Checks the secret of deliveries. An absent one may be stored already.
fn check_auth_secret(auth: &DeliveryAuthRequest) -> Result<(), Refusal> {
    let fault = RequestFault::OPERATOR_BINDING;
    match (auth.kind, auth.secret.as_deref()) {
        (_, None) => Ok(()),
        (TargetAuth::None, Some(_)) => Err(fault.refuse("delivery_auth none takes no secret")),
        (kind @ (TargetAuth::Bearer | TargetAuth::Hmac), Some(secret)) => {
            check_sent_secret(secret, kind, fault)
        }
    }
}

/// `POST /control/agents/{id}/operator-bindings/{binding}/revoke`: ends a binding at once.
pub(crate) async fn revoke(
    Act(state): Act,
    path: Result<Path<(String, String)>, PathRejection>,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<RevokeBindingResponse>, Refusal> {
    let (agent, binding_id) = path.map_or_else(|_| Default::default(), |Path(path)| path);
    let agent_id = AgentId::parse(&agent).map_err(holon_engine::Error::from)?;
    let id = BindingId::from_stored(binding_id.clone());
    state.control.revoke_binding(&agent_id, id).await?;
    Ok(Json(RevokeBindingResponse {
        ok: true,
        binding_id,
    }))
}

/// `POST /control/agents/{id}/operator-bindings/{binding}/retry`: tries what waits for a remote operator at once.
pub(crate) async fn retry_binding(
    Act(state): Act,
    path: Result<Path<(String, String)>, PathRejection>,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<RetryDeliveriesResponse>, Refusal> {
    let (agent, name) = path.map_or_else(|_| Default::default(), |Path(path)| path);
    let agent_id = AgentId::parse(&agent).map_err(holon_engine::Error::from)?;
    let id = BindingId::from_stored(name.clone());
    let pending = state.control.retry_binding(&agent_id, id).await?;
    Ok(Json(RetryDeliveriesResponse {
        ok: true,
        name,
        pending,
    }))
}

/// `POST /control/agents/{id}/operator-ingress`: queues a message of a bound remote operator.
pub(crate) async fn ingress(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<OperatorIngressRequest>,
) -> Result<Json<AdmittedResponse>, Refusal> {
    let claim = TransportClaim {
        binding_id: BindingId::from_stored(request.binding_id),
        actor_id: request.actor_id.clone(),
        reply_route_id: request.reply_route_id,
        provider: request.provider.clone(),
        provider_identity_ref: request.provider_identity_ref,
    };
    let mut metadata = match request.metadata {
        None => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => {
            return Err(RequestFault::REQUEST.refuse("metadata is not an object"));
        }
    };
    let named = [
        ("provider", request.provider),
        ("upstream_provider", request.upstream_provider),
        ("provider_message_ref", request.provider_message_ref),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            metadata.insert(name.to_owned(), value.into());
        }
    }
    let ingress = Ingress {
        origin: Origin::Operator {
            actor_id: Some(request.actor_id),
        },
        metadata: Some(Value::Object(metadata)),
        correlation_id: request.correlation_id,
        causation_id: request.causation_id,
        ..Ingress::operator_prompt(
            request.text,
            Priority::Interject,
            DeliverySurface::RemoteOperatorTransport,
            AdmissionContext::OperatorTransportAuthenticated,
        )
    };
    let admitted = state
        .control
        .admit_from_transport(&agent_id, claim, ingress)
        .await?;
    Ok(Json(AdmittedResponse {
        ok: true,
        agent_id: admitted.agent_id,
        message_id: admitted.message_id,
    }))
}
