//! Routes about delivery targets of the host, bindings to remote operators, and the messages that these bring.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::gate::Caller;
use crate::refusal::{Refusal, RequestFault};
use crate::signature::check_secret;
use crate::state::{Act, ReadState};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::{Extension, Json};
use holon_api::{
    AdmittedResponse, CreateDeliveryTargetRequest, DeliveryTargetResponse, DeliveryTargetView,
    DeliveryTargetsResponse, EmptyRequest, OperatorBindingResponse, OperatorBindingView,
    OperatorBindingsResponse, OperatorIngressRequest, OperatorTransportBindingRequest,
    RemoveDeliveryTargetResponse, RetryDeliveriesResponse, RevokeBindingResponse, TargetKindName,
    TargetState, TestDeliveryResponse,
};
use holon_domain::delivery::{
    DeliveryTarget, LaneState, OutboxLane, SubmitResult, TargetAuth, TargetKind,
};
use holon_domain::message::{AdmissionContext, DeliverySurface, Origin, Priority};
use holon_domain::operator_transport::{
    BindingStatus, DeliveryAuth, OperatorTransportBinding, TransportClaim,
};
use holon_domain::request_key::TokenScope;
use holon_domain::{AgentId, BindingId, Timestamp};
use holon_engine::request::Ingress;
use holon_engine::{BindingAddition, ControlHandle, LaneView, TargetMaking};
use serde::Serialize;
use serde_json::{Map, Value};

/// Longest name of a target, in bytes. The name is part of the name of its secret.
const NAME_BYTES: usize = 48;
/// Longest id or name in a binding, in bytes.
pub(crate) const FIELD_BYTES: usize = 512;
/// Most routes that a binding lists beside its default route.
pub(crate) const REPLY_ROUTES: usize = 64;

/// `GET /delivery/targets`: lists the delivery targets with their state.
pub(crate) async fn targets(
    State(state): State<ReadState>,
    Extension(caller): Extension<Caller>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<DeliveryTargetsResponse>, Refusal> {
    let targets = state.reads.delivery_targets().await?;
    let may_change = caller.require(TokenScope::Control).is_ok();
    let targets = targets.into_iter().map(|(target, lanes)| {
        let mut view = view(target, lanes);
        if !may_change {
            view.hide_address();
        }
        view
    });
    Ok(Json(DeliveryTargetsResponse {
        targets: targets.collect(),
    }))
}

/// `POST /control/delivery/targets`: adds a target. Briefs that are written from now on go there.
pub(crate) async fn add_target(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<CreateDeliveryTargetRequest>,
) -> Result<Json<DeliveryTargetResponse>, Refusal> {
    refuse_token(&state.control, &request)?;
    let secret = request.secret.clone();
    let kind = kind_of(&request)?;
    if (kind.auth() == TargetAuth::None) != secret.is_none() {
        return Err(RequestFault::DELIVERY_TARGET
            .refuse("a secret is needed exactly when auth is bearer or hmac"));
    }
    if let (TargetAuth::Hmac, Some(secret)) = (kind.auth(), &secret) {
        check_secret(secret.trim(), RequestFault::DELIVERY_TARGET)?;
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let name = request.name;
    if !(1..=NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Err(RequestFault::DELIVERY_TARGET.refuse("the name cannot be used for a target"));
    }
    let agents: Result<Vec<AgentId>, _> =
        request.agents.iter().map(|id| AgentId::parse(id)).collect();
    let agents = agents.map_err(holon_engine::Error::from)?;
    let target = DeliveryTarget {
        name: name.clone(),
        kind,
        turn_results: request.turn_results,
        agents,
        created_at: state.control.now(),
        id: None,
    };
    let made = state.control.add_delivery_target(target, secret.as_deref());
    match made.await? {
        TargetMaking::Made(target) => Ok(Json(DeliveryTargetResponse {
            ok: true,
            target: DeliveryTargetView::new(*target),
        })),
        TargetMaking::NameTaken => {
            let message = format!("there is a target {name:?} already");
            Err(RequestFault::TARGET_EXISTS.refuse(message))
        }
        TargetMaking::TooMany => {
            Err(RequestFault::TOO_MANY_TARGETS.refuse("no more targets can be added"))
        }
    }
}

/// Refuses a target or binding with the token of a trigger: it would be stored, and shown to those who may change it.
fn refuse_token(control: &ControlHandle, request: &impl Serialize) -> Result<(), Refusal> {
    let text = serde_json::to_string(request).unwrap_or_default();
    if control.holds_trigger_token(&text) {
        return Err(
            RequestFault::TRIGGER_URL.refuse("the request holds the URL of a trigger of this host")
        );
    }
    Ok(())
}

fn kind_of(request: &CreateDeliveryTargetRequest) -> Result<TargetKind, Refusal> {
    let refuse = |message: &str| RequestFault::DELIVERY_TARGET.refuse(message);
    let auth = request.auth.unwrap_or_default();
    let url = || {
        let url = request.url.as_deref();
        let url = url.ok_or_else(|| refuse("the target needs a url"))?;
        check_url(url).map(|()| url.to_owned())
    };
    let (has_url, has_command) = (request.url.is_some(), !request.command.is_empty());
    match request.kind {
        TargetKindName::Http if !has_command => Ok(TargetKind::Http { url: url()?, auth }),
        TargetKindName::Ntfy if !has_command => Ok(TargetKind::Ntfy { url: url()?, auth }),
        TargetKindName::Command if has_command && !has_url => Ok(TargetKind::Command {
            argv: request.command.clone(),
        }),
        TargetKindName::Http | TargetKindName::Ntfy | TargetKindName::Command => Err(refuse(
            "an http or ntfy target has a url, a command target has a command",
        )),
    }
}

/// Refuses an address that no request can be sent to. It may be on this machine or in a private network.
fn check_url(url: &str) -> Result<(), Refusal> {
    let uri: Option<Uri> = url.parse().ok();
    let is_http = |uri: &Uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && !uri.authority().is_some_and(|it| it.as_str().contains('@'))
    };
    if uri.as_ref().is_some_and(is_http) && url.len() <= 2_048 {
        return Ok(());
    }
    Err(RequestFault::DELIVERY_TARGET.refuse(
        "the address is not of the form http://HOST/PATH or https://HOST/PATH, without a password in it",
    ))
}

/// `POST /control/delivery/targets/{name}/test`: makes one attempt with a trial text.
pub(crate) async fn test_target(
    Act(state): Act,
    name: Result<Path<String>, PathRejection>,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<TestDeliveryResponse>, Refusal> {
    let name = name_of(name);
    let Some(report) = state.control.try_delivery_target(&name).await? else {
        return Err(RequestFault::NO_SUCH_TARGET.refuse("there is no such target"));
    };
    let error = match report.result {
        SubmitResult::Accepted { .. } => None,
        SubmitResult::Retry { error, .. } | SubmitResult::Refused { error } => Some(error),
    };
    Ok(Json(TestDeliveryResponse {
        ok: error.is_none(),
        name,
        sent: report.sent,
        received: report.received,
        error,
    }))
}

/// `POST /control/delivery/targets/{name}/remove`: removes a target and its secret.
pub(crate) async fn remove_target(
    Act(state): Act,
    name: Result<Path<String>, PathRejection>,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<RemoveDeliveryTargetResponse>, Refusal> {
    let name = name_of(name);
    let Some(given_up) = state.control.remove_delivery_target(&name).await? else {
        return Err(RequestFault::NO_SUCH_TARGET.refuse("there is no such target"));
    };
    Ok(Json(RemoveDeliveryTargetResponse {
        ok: true,
        name,
        given_up,
    }))
}

/// `POST /control/delivery/targets/{name}/retry`: tries what waits for a target at once.
pub(crate) async fn retry_target(
    Act(state): Act,
    name: Result<Path<String>, PathRejection>,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<RetryDeliveriesResponse>, Refusal> {
    let name = name_of(name);
    let Some(pending) = state.control.retry_delivery_target(&name).await? else {
        return Err(RequestFault::NO_SUCH_TARGET.refuse("there is no such target"));
    };
    Ok(Json(RetryDeliveriesResponse {
        ok: true,
        name,
        pending,
    }))
}

fn name_of(name: Result<Path<String>, PathRejection>) -> String {
    name.map_or_else(|_| String::new(), |Path(name)| name)
}

/// Describes a target with its one state.
fn view(target: DeliveryTarget, lanes: LaneView) -> DeliveryTargetView {
    let sending = |lane: &OutboxLane| match lane.state {
        LaneState::Sending { since, .. } => since,
        LaneState::Idle | LaneState::Paused { .. } => None,
    };
    let begins = lanes.lanes.iter().filter_map(|(_, lane)| sending(lane));
    let sending_since = begins.min();
    let (pending, delivered) = (lanes.pending, lanes.has_accepted);
    let condition = condition(lanes);
    DeliveryTargetView {
        pending,
        delivered,
        sending_since,
        state: condition.state,
        failing_since: condition.since,
        last_error: condition.error,
        retry_at: condition.retry_at,
        ..DeliveryTargetView::new(target)
    }
}

/// The one state of a target or a binding.
#[derive(Debug, PartialEq, Eq)]
struct Condition {
    state: TargetState,
    /// Begin of the failure. Absent if there is none.
    since: Option<Timestamp>,
    error: Option<String>,
    retry_at: Option<Timestamp>,
}

/// Derives the one state of a route from the lanes of its agents.
fn condition(lanes: LaneView) -> Condition {
    let failing: Vec<&OutboxLane> = lanes
        .lanes
        .iter()
        .map(|(_, lane)| lane)
        .filter(|lane| lane.retrying_since().is_some())
        .collect();
    if !failing.is_empty() {
        let until = |lane: &&OutboxLane| match lane.state {
            LaneState::Paused { until, .. } => Some(until),
            LaneState::Idle | LaneState::Sending { .. } => None,
        };
        return Condition {
            state: TargetState::Retrying,
            since: failing.iter().filter_map(|it| it.retrying_since()).min(),
            error: failing.iter().find_map(|lane| lane.last_error.clone()),
            retry_at: failing.iter().filter_map(until).min(),
        };
    }
    let (state, since, error) = match lanes.given_up {
        Some(outcome) => (TargetState::Failed, Some(outcome.at), outcome.error),
        None => (TargetState::Ok, None, None),
    };
    Condition {
        state,
        since,
        error,
        retry_at: None,
    }
}

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
        if value.trim().is_empty() || value.len() > FIELD_BYTES {
            return refuse(format!("{name} has 1 to {FIELD_BYTES} bytes"));
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
    if let (TargetAuth::Hmac, Some(secret)) =
        (request.delivery_auth.kind, &request.delivery_auth.secret)
    {
        check_secret(secret.trim(), RequestFault::OPERATOR_BINDING)?;
    }
    check_url(&request.delivery_callback_url)
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

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::delivery::{DeliveryOutcome, DeliveryRoute, DeliveryStatus};

    #[test]
    fn a_route_fails_only_while_something_is_pending_and_has_failed_once_it_was_given_up() {
        let binding_id = BindingId::from_stored("opb_1");
        let lane = |newest| OutboxLane {
            newest,
            failing_since: Some(Timestamp::from_millis(1)),
            last_error: Some("500".to_owned()),
            ..OutboxLane::new(DeliveryRoute::Binding {
                binding_id: binding_id.clone(),
            })
        };
        let outcome = DeliveryOutcome {
            status: DeliveryStatus::FailedToSubmit,
            at: Timestamp::from_millis(2),
            attempts: 1,
            error: Some("400".to_owned()),
            transport_delivery_id: None,
        };
        let shown = |newest, given_up: Option<&DeliveryOutcome>| {
            let agent_id = AgentId::parse("main").expect("an id");
            let shown = condition(LaneView {
                lanes: vec![(agent_id, lane(newest))],
                given_up: given_up.cloned(),
                ..LaneView::default()
            });
            (shown.state, shown.since.map(Timestamp::as_millis))
        };
        assert_eq!(shown(0, None), (TargetState::Ok, None));
        assert_eq!(shown(0, Some(&outcome)), (TargetState::Failed, Some(2)));
        assert_eq!(shown(1, Some(&outcome)), (TargetState::Retrying, Some(1)));
    }
}
