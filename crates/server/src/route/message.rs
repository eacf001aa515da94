//! Routes that put messages into a queue: an operator's prompt, and an event from outside.
//!
//! The route decides the origin of a message: a prompt is the operator's, and an enqueued event is public, because the
//! token authenticates the caller but not the author. `core` decides the authority that follows from it. A prompt may
//! ask for less than it would have.

use crate::body::JsonBody;
use crate::extract::{AgentPath, NoParams, Params};
use crate::gate::Caller;
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ActState};
use axum::http::HeaderMap;
use axum::{Extension, Json};
use holon_api::{AdmittedResponse, CLI_SURFACE, EnqueueRequest, PromptRequest, SURFACE_HEADER};
use holon_domain::AgentId;
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_engine::request::AdmittedMessage;
use holon_engine::request::Ingress;

/// `POST /control/agents/{id}/prompt`: queues an operator's message.
pub(crate) async fn prompt(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PromptRequest>,
) -> Result<Json<AdmittedResponse>, Refusal> {
    let surface = surface_of(&headers, &caller);
    let images = state.control.claim_images(&request.images).await?;
    let ingress = Ingress {
        images,
        ..prompt_ingress(request, surface)
    };
    admit(&state, &agent_id, ingress).await
}

/// Returns the surface of a prompt: the program's own if it says so at the local socket, else the route. A program that
/// comes over the network is no local process.
fn surface_of(headers: &HeaderMap, caller: &Caller) -> DeliverySurface {
    let says_cli = headers
        .get(SURFACE_HEADER)
        .is_some_and(|named| named == CLI_SURFACE);
    match caller {
        Caller::Local if says_cli => DeliverySurface::CliPrompt,
        Caller::Local
        | Caller::Anonymous
        | Caller::Agent(_)
        | Caller::Control
        | Caller::Named(_) => DeliverySurface::HttpControlPrompt,
    }
}

/// `POST /agents/{id}/enqueue`: queues an event from outside.
pub(crate) async fn enqueue(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<EnqueueRequest>,
) -> Result<Json<AdmittedResponse>, Refusal> {
    let ingress = public_ingress(request)?;
    match caller {
        // The rights of the caller are checked: the agent is its own.
        Caller::Agent(command) => {
            let (task_id, ingress) = (command.task_id, own_ingress(ingress));
            let admitted = state
                .control
                .admit_from_command(&agent_id, task_id, ingress);
            Ok(Json(response(admitted.await?)))
        }
        Caller::Anonymous | Caller::Local | Caller::Control | Caller::Named(_) => {
            admit(&state, &agent_id, ingress).await
        }
    }
}

/// `POST /enqueue`: queues an event for the default agent.
pub(crate) async fn default_enqueue(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<EnqueueRequest>,
) -> Result<Json<AdmittedResponse>, Refusal> {
    admit(&state, &state.host.default_agent, public_ingress(request)?).await
}

async fn admit(
    state: &ActState,
    agent_id: &AgentId,
    ingress: Ingress,
) -> Result<Json<AdmittedResponse>, Refusal> {
    let admitted = state.control.admit(agent_id, ingress).await?;
    Ok(Json(response(admitted)))
}

fn response(admitted: AdmittedMessage) -> AdmittedResponse {
    AdmittedResponse {
        ok: true,
        agent_id: admitted.agent_id,
        message_id: admitted.message_id,
    }
}

/// Converts a message of an agent's command to its own agent: a follow-up, as if the agent had queued it. Its metadata
/// stays data of the command and binds nothing.
fn own_ingress(ingress: Ingress) -> Ingress {
    Ingress {
        kind: MessageKind::InternalFollowup,
        origin: Origin::System {
            subsystem: "agent_command".to_owned(),
        },
        metadata: ingress
            .metadata
            .map(|metadata| serde_json::json!({ "command": metadata })),
        admission_context: AdmissionContext::RuntimeOwned,
        ..ingress
    }
}

fn prompt_ingress(request: PromptRequest, surface: DeliverySurface) -> Ingress {
    let at_most = request.trust.map(AuthorityClass::from);
    let usual = match request.trust {
        None | Some(TrustLevel::TrustedOperator) => Priority::Interject,
        Some(
            TrustLevel::TrustedSystem
            | TrustLevel::TrustedIntegration
            | TrustLevel::UntrustedExternal,
        ) => Priority::Next,
    };
    Ingress {
        at_most,
        origin: Origin::Operator {
            actor_id: Some("control".into()),
        },
        // The public name of the bound on rounds.
        max_rounds: request.max_turns,
        ..Ingress::operator_prompt(
            request.text,
            request.priority.unwrap_or(usual),
            surface,
            AdmissionContext::ControlAuthenticated,
        )
    }
}

fn public_ingress(request: EnqueueRequest) -> Result<Ingress, Refusal> {
    if let Some(field) = request.claimed_authority() {
        let message = format!("the field {field:?} is not accepted");
        return Err(RequestFault::CLAIMED_AUTHORITY.refuse(message));
    }
    let (kind, origin) = kind_and_origin(request.kind, request.origin);
    Ok(Ingress {
        kind,
        origin,
        priority: request.priority.unwrap_or_default(),
        body: body(request.body, request.text, request.json)?,
        images: Vec::new(),
        metadata: request.metadata,
        delivery_surface: DeliverySurface::HttpPublicEnqueue,
        admission_context: AdmissionContext::PublicUnauthenticated,
        correlation_id: request.correlation_id,
        causation_id: request.causation_id,
        max_rounds: None,
        at_most: None,
    })
}

/// Derives kind and origin from each other where only one is given. Admission checks that they fit together and are
/// allowed.
fn kind_and_origin(kind: Option<MessageKind>, origin: Option<Origin>) -> (MessageKind, Origin) {
    let from_channel = match (&kind, &origin) {
        (Some(kind), _) => *kind == MessageKind::ChannelEvent,
        (None, Some(origin)) => matches!(origin, Origin::Channel { .. }),
        (None, None) => false,
    };
    let (event, sender) = if from_channel {
        let channel = Origin::Channel {
            channel_id: "http".into(),
            sender_id: None,
        };
        (MessageKind::ChannelEvent, channel)
    } else {
        let webhook = Origin::Webhook {
            source: "http".into(),
            event_type: None,
        };
        (MessageKind::WebhookEvent, webhook)
    };
    (kind.unwrap_or(event), origin.unwrap_or(sender))
}

fn body(
    body: Option<Body>,
    text: Option<String>,
    json: Option<serde_json::Value>,
) -> Result<Body, Refusal> {
    match (body, text, json) {
        (Some(body), None, None) => Ok(body),
        (None, Some(text), None) => Ok(Body::Text { text }),
        (None, None, Some(value)) => Ok(Body::Json { value }),
        (None, None, None) => {
            Err(RequestFault::NO_CONTENT.refuse("there is nothing in the message"))
        }
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            Err(RequestFault::SEVERAL_CONTENTS.refuse("the message has more than one content"))
        }
    }
}

#[cfg(test)]
mod tests;
