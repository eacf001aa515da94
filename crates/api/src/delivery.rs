//! Requests and responses about operator delivery: targets of the host, bindings to remote operators, and their messages.

use holon_domain::delivery::{DeliveryTarget, TargetAuth, TargetKind};
use holon_domain::operator_transport::{
    BindingStatus, OperatorTransportBinding, TransportCapabilities,
};
use holon_domain::{AgentId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kind of a delivery target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKindName {
    /// JSON is posted to `url`.
    Http,
    /// `command` is run with the text on its standard input.
    Command,
    /// Text is posted to the topic at `url`.
    Ntfy,
}

/// Body of `POST /control/delivery/targets`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDeliveryTargetRequest {
    /// 1 to 48 letters, digits, `.`, `-` and `_`.
    pub name: String,
    pub kind: TargetKindName,
    /// Address of an `http` or `ntfy` target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Program and arguments of a `command` target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Use of the secret: `none`, `bearer` or `hmac`; `none` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["none", "bearer", "hmac"]))]
    pub auth: Option<TargetAuth>,
    /// Token or key. It goes to the credential store and is never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// True to deliver results of turns too.
    #[serde(default)]
    pub turn_results: bool,
    /// Agents whose briefs are delivered; every public agent when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
}

impl std::fmt::Debug for CreateDeliveryTargetRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is not shown.
        f.debug_struct("CreateDeliveryTargetRequest")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// The one state of a delivery target or of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// The last attempts succeeded, or none was made.
    #[default]
    Ok,
    /// Attempts fail and are repeated.
    Retrying,
    /// The newest delivery that ended was given up.
    Failed,
}

/// A delivery target in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryTargetView {
    pub name: String,
    #[serde(flatten)]
    pub kind: TargetKind,
    pub turn_results: bool,
    #[serde(default)]
    pub agents: Vec<AgentId>,
    pub created_at: Timestamp,
    pub state: TargetState,
    /// True if a delivery was accepted, other than a trial.
    #[serde(default)]
    pub delivered: bool,
    /// Deliveries that have not ended, over all agents.
    pub pending: u64,
    /// Time of the next attempt. Absent unless the state is `retrying`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Begin of the oldest attempt that has no answer yet. Absent if nothing is being sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending_since: Option<Timestamp>,
    /// Time since which attempts fail, or at which the last delivery was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

impl DeliveryTargetView {
    /// Builds the view of a target without deliveries. The query of its address may hold a token and is not shown.
    #[must_use]
    pub fn new(mut target: DeliveryTarget) -> Self {
        if let TargetKind::Http { url, .. } | TargetKind::Ntfy { url, .. } = &mut target.kind {
            hide_query(url);
        }
        Self {
            name: target.name,
            kind: target.kind,
            turn_results: target.turn_results,
            agents: target.agents,
            created_at: target.created_at,
            state: TargetState::Ok,
            delivered: false,
            pending: 0,
            retry_at: None,
            sending_since: None,
            failing_since: None,
            last_error: None,
        }
    }

    /// Leaves of an address its host and of a command its program, for clients that may only read: a path and an argument
    /// may be secrets too.
    pub fn hide_address(&mut self) {
        match &mut self.kind {
            TargetKind::Http { url, .. } | TargetKind::Ntfy { url, .. } => hide_path(url),
            TargetKind::Command { argv } if argv.len() > 1 => {
                argv.truncate(1);
                argv.push("…".to_owned());
            }
            TargetKind::Command { .. } => {}
        }
    }
}

/// Replaces all that follows the host of an address by a mark.
fn hide_path(url: &mut String) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if let Some((host, _)) = rest.split_once(['/', '?', '#']) {
        *url = format!("{scheme}://{host}/…");
    }
}

/// Replaces the query and the fragment of an address by a mark.
fn hide_query(url: &mut String) {
    if let Some(at) = url.find(['?', '#']) {
        url.truncate(at);
        url.push_str("?…");
    }
}

/// Response of `GET /delivery/targets`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryTargetsResponse {
    /// Sorted by name, each with its one state.
    pub targets: Vec<DeliveryTargetView>,
}

/// Response to a [`CreateDeliveryTargetRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryTargetResponse {
    pub ok: bool,
    pub target: DeliveryTargetView,
}

/// Response of `POST /control/delivery/targets/{name}/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestDeliveryResponse {
    /// True if the receiver accepted the trial.
    pub ok: bool,
    pub name: String,
    /// The request or command, without secrets.
    pub sent: String,
    /// The answer, or what the program printed.
    pub received: String,
    /// The reason for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Response of `POST /control/delivery/targets/{name}/remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoveDeliveryTargetResponse {
    pub ok: bool,
    pub name: String,
    /// Deliveries that waited for the target and were given up.
    #[serde(default)]
    pub given_up: u64,
}

/// Response of `POST /control/delivery/targets/{name}/retry` and of the same request for a binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetryDeliveriesResponse {
    pub ok: bool,
    /// Name of the target, or id of the binding.
    pub name: String,
    /// Deliveries that wait there. The first one of each agent is being submitted.
    pub pending: u64,
}

/// Authentication of deliveries to a transport.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryAuthRequest {
    /// `bearer` or `hmac`; `none` for a transport on this machine.
    #[schemars(with = "String", extend("enum" = ["none", "bearer", "hmac"]))]
    pub kind: TargetAuth,
    /// Name of the key, for the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Token or key. It goes to the credential store and is never shown.
    #[serde(
        default,
        alias = "bearer_token",
        skip_serializing_if = "Option::is_none"
    )]
    pub secret: Option<String>,
}

impl std::fmt::Debug for DeliveryAuthRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is not shown.
        f.debug_struct("DeliveryAuthRequest")
            .field("kind", &self.kind)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// Body of `POST /control/agents/{id}/operator-bindings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorTransportBindingRequest {
    /// Binding to replace; a new one is made when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_id: Option<String>,
    /// Program that connects the messaging system.
    pub transport: String,
    /// Operator as the transport names them.
    pub operator_actor_id: String,
    /// Must be the agent of the path when present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<String>,
    /// Route for deliveries that answer no message.
    pub default_route_id: String,
    /// Other routes that a message may name for its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_route_ids: Vec<String>,
    /// Address to which deliveries are posted.
    pub delivery_callback_url: String,
    pub delivery_auth: DeliveryAuthRequest,
    #[schemars(with = "serde_json::Value")]
    pub capabilities: TransportCapabilities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_identity_ref: Option<String>,
    /// Time from which on the binding admits nothing.
    #[serde(
        default,
        deserialize_with = "holon_domain::time::rfc3339::optional",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub expires_at: Option<Timestamp>,
    /// True to deliver results of turns that answer no message of the binding.
    #[serde(default)]
    pub turn_results: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// A binding as clients see it. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorBindingView {
    #[serde(flatten)]
    pub binding: OperatorTransportBinding,
    pub target_agent_id: AgentId,
    /// State of the deliveries, as of a target.
    #[serde(default)]
    pub state: TargetState,
    /// True if a delivery was accepted.
    #[serde(default)]
    pub delivered: bool,
    /// Deliveries that have not ended.
    #[serde(default)]
    pub pending: u64,
    /// Error of the last attempt. Absent while attempts succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Time since which attempts fail, or at which the last delivery was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// Time of the next attempt. Absent while none is planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

impl OperatorBindingView {
    /// Builds the view of a binding with its status at a time.
    #[must_use]
    pub fn new(agent_id: AgentId, mut binding: OperatorTransportBinding, now: Timestamp) -> Self {
        binding.status = binding.status_at(now);
        binding.secret_id = None;
        hide_query(&mut binding.delivery_callback_url);
        Self {
            binding,
            target_agent_id: agent_id,
            state: TargetState::Ok,
            delivered: false,
            pending: 0,
            last_error: None,
            failing_since: None,
            retry_at: None,
        }
    }

    /// Leaves of the address its host, for clients that may only read.
    pub fn hide_address(&mut self) {
        hide_path(&mut self.binding.delivery_callback_url);
    }

    /// Returns true if the binding admits and receives.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.binding.status == BindingStatus::Active
    }
}

/// Response to a change of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorBindingResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    pub binding: OperatorBindingView,
}

/// Response of `GET /agents/{id}/operator-bindings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorBindingsResponse {
    pub agent_id: AgentId,
    /// Oldest first, ended ones included.
    pub bindings: Vec<OperatorBindingView>,
}

/// Response of `POST /control/agents/{id}/operator-bindings/{binding}/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokeBindingResponse {
    pub ok: bool,
    pub binding_id: String,
}

/// Body of `POST /control/agents/{id}/operator-ingress`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorIngressRequest {
    pub text: String,
    /// Writer as the transport names them; must be the binding's operator.
    pub actor_id: String,
    pub binding_id: String,
    /// Route of the answer, if the binding lists it; the binding's default route otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_route_id: Option<String>,
    /// Messaging system; must be the binding's if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Identity of the writer there; must be the binding's if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_identity_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_provider: Option<String>,
    /// Id of the message in the messaging system; stored with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_message_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}
