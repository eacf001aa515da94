//! Routes about the delivery targets of the host.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{NoParams, Params};
use crate::gate::Caller;
use crate::refusal::{Refusal, RequestFault};
use crate::signature::check_sent_secret;
use crate::state::{Act, ReadState};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::{Extension, Json};
use holon_api::{
    CreateDeliveryTargetRequest, DeliveryTargetResponse, DeliveryTargetView,
    DeliveryTargetsResponse, EmptyRequest, RemoveDeliveryTargetResponse, RetryDeliveriesResponse,
    TargetKindName, TargetState, TestDeliveryResponse,
};
use holon_domain::delivery::{
    DeliveryTarget, LaneState, OutboxLane, SubmitResult, TargetAuth, TargetKind,
};
use holon_domain::limits::{TARGET_ARGUMENT_BYTES, TARGET_ARGUMENTS};
use holon_domain::request_key::TokenScope;
use holon_domain::{AgentId, Timestamp};
use holon_engine::{ControlHandle, LaneView, TargetMaking};
use serde::Serialize;

/// Longest name of a target, in bytes. The name is part of the name of its secret.
const NAME_BYTES: usize = 48;

/// Longest address, in bytes.
pub(crate) const ADDRESS_BYTES: usize = 2_048;

/// Address of a receiver, without a user name or password in it. Other characters must be percent-encoded.
pub(crate) const HTTP_ADDRESS: &str = concat!(
    "^[Hh][Tt][Tt][Pp][Ss]?://",
    r"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])",
    "(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[0-5]?[0-9]{1,4}))?",
    "([/?#][!#-;=?-_a-~]*)?$",
);

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
    if let Some(secret) = &secret {
        check_sent_secret(secret, kind.auth(), RequestFault::DELIVERY_TARGET)?;
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
pub(super) fn refuse_token(
    control: &ControlHandle,
    request: &impl Serialize,
) -> Result<(), Refusal> {
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
        TargetKindName::Command if has_command && !has_url => {
            let argv = request.command.clone();
            let is_long = |argument: &String| argument.len() > TARGET_ARGUMENT_BYTES;
            if argv.len() > TARGET_ARGUMENTS || argv.iter().any(is_long) {
                return Err(refuse(&format!(
                    "a command has up to {TARGET_ARGUMENTS} arguments of up to {TARGET_ARGUMENT_BYTES} bytes; put a longer script into a file"
                )));
            }
            Ok(TargetKind::Command { argv })
        }
        TargetKindName::Http | TargetKindName::Ntfy | TargetKindName::Command => Err(refuse(
            "an http or ntfy target has a url, a command target has a command",
        )),
    }
}

/// Refuses an address that no request can be sent to. It may be on this machine or in a private network.
/// [`HTTP_ADDRESS`] says the same as a pattern.
pub(super) fn check_url(url: &str) -> Result<(), Refusal> {
    if url.len() <= ADDRESS_BYTES && is_address(url) && url.parse::<Uri>().is_ok() {
        return Ok(());
    }
    Err(RequestFault::DELIVERY_TARGET.refuse(
        "the address is not of the form http://HOST/PATH or https://HOST/PATH, without a password and with other \
         characters percent-encoded",
    ))
}

fn is_address(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (host, port) = match authority.rfind([':', ']']) {
        Some(at) if authority.as_bytes().get(at) == Some(&b':') => {
            let (host, port) = authority.split_at(at);
            (host, port.get(1..))
        }
        Some(_) | None => (authority, None),
    };
    let is_port = |port: &str| {
        (1..=5).contains(&port.len())
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok()
    };
    ["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
        && is_host(host)
        && port.is_none_or(is_port)
        && path
            .bytes()
            .all(|byte| matches!(byte, b'!' | b'#'..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'~'))
}

/// Returns true for a name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    let (inner, is_of_host): (_, fn(u8) -> bool) = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(inner) => (inner, |byte| {
            byte.is_ascii_hexdigit() || b":.".contains(&byte)
        }),
        None => (host, |byte| {
            byte.is_ascii_alphanumeric() || b"._~-".contains(&byte)
        }),
    };
    !inner.is_empty() && inner.bytes().all(is_of_host)
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
pub(super) struct Condition {
    pub(super) state: TargetState,
    /// Begin of the failure. Absent if there is none.
    pub(super) since: Option<Timestamp>,
    pub(super) error: Option<String>,
    pub(super) retry_at: Option<Timestamp>,
}

/// Derives the one state of a route from the lanes of its agents.
pub(super) fn condition(lanes: LaneView) -> Condition {
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

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::BindingId;
    use holon_domain::delivery::{DeliveryOutcome, DeliveryRoute, DeliveryStatus};

    #[test]
    fn a_command_has_few_and_short_arguments() {
        let made = |count: usize, bytes: usize| {
            let request = CreateDeliveryTargetRequest {
                command: vec!["x".repeat(bytes); count],
                ..serde_json::from_value(serde_json::json!({ "name": "n", "kind": "command" }))
                    .expect("a request")
            };
            kind_of(&request).is_ok()
        };
        assert!(made(TARGET_ARGUMENTS, TARGET_ARGUMENT_BYTES));
        assert!(!made(TARGET_ARGUMENTS + 1, 1));
        assert!(!made(1, TARGET_ARGUMENT_BYTES + 1));
    }

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
