//! Messages from outside: an operator's prompt, and anybody's event.
//!
//! The door decides the labels. A prompt comes from somebody who may control the host; an enqueued event is
//! evidence whoever holds the token, since the token admits the caller and does not vouch for the author.

use crate::body::JsonBody;
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::Refusal;
use crate::state::ActState;
use axum::Json;
use axum::extract::State;
use holon_api::{AdmittedResponse, EnqueueRequest, PromptRequest};
use holon_domain::AgentId;
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_engine::request::Ingress;

/// `POST /control/agents/{id}/prompt`.
pub(crate) async fn prompt(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<PromptRequest>,
) -> Result<Json<AdmittedResponse>, Refusal> {
    admit(&state, &agent_id, prompt_ingress(request)?).await
}

/// `POST /agents/{id}/enqueue`.
pub(crate) async fn enqueue(
    State(state): State<ActState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<EnqueueRequest>,
) -> Result<Json<AdmittedResponse>, Refusal> {
    admit(&state, &agent_id, public_ingress(request)?).await
}

/// `POST /enqueue`.
pub(crate) async fn default_enqueue(
    State(state): State<ActState>,
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
    let admitted = state.acts.admit(agent_id, ingress).await?;
    Ok(Json(AdmittedResponse {
        ok: true,
        agent_id: admitted.agent_id,
        message_id: admitted.message_id,
    }))
}

/// A bound on rounds, if one is given.
pub(super) fn max_rounds(max_turns: Option<u32>) -> Result<Option<u32>, Refusal> {
    match max_turns {
        Some(0) => Err(Refusal::bad_request(
            "invalid_max_turns",
            "max_turns must be at least 1",
        )),
        Some(_) | None => Ok(max_turns),
    }
}

fn prompt_ingress(request: PromptRequest) -> Result<Ingress, Refusal> {
    let mut ingress = Ingress::operator_prompt(
        request.text,
        request.priority.unwrap_or(Priority::Interject),
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    );
    ingress.origin = Origin::Operator {
        actor_id: Some("control".into()),
    };
    ingress.max_rounds = max_rounds(request.max_turns)?;
    Ok(ingress)
}

fn public_ingress(request: EnqueueRequest) -> Result<Ingress, Refusal> {
    if let Some(field) = request.claimed_authority() {
        return Err(Refusal::bad_request(
            "authority_not_accepted",
            format!("the field {field:?} is not accepted"),
        )
        .hint("leave it out; how far a message is trusted follows from the route it comes in by"));
    }
    let (kind, origin) = source(request.kind, request.origin)?;
    Ok(Ingress {
        kind,
        origin,
        priority: public_priority(request.priority)?,
        body: body(request.body, request.text, request.json)?,
        metadata: request.metadata,
        delivery_surface: DeliverySurface::HttpPublicEnqueue,
        admission_context: AdmissionContext::PublicUnauthenticated,
        correlation_id: request.correlation_id,
        causation_id: request.causation_id,
        max_rounds: None,
    })
}

fn public_priority(priority: Option<Priority>) -> Result<Priority, Refusal> {
    match priority.unwrap_or_default() {
        Priority::Interject => Err(Refusal::forbidden(
            "priority_not_allowed",
            "only an operator may interject",
        )
        .hint("use next, normal or background here, or send it to /control/agents/{id}/prompt")),
        allowed @ (Priority::Next | Priority::Normal | Priority::Background) => Ok(allowed),
    }
}

/// Kind and origin belong together; either follows from the other.
fn source(
    kind: Option<MessageKind>,
    origin: Option<Origin>,
) -> Result<(MessageKind, Origin), Refusal> {
    let implied = match &origin {
        None => None,
        Some(Origin::Channel { .. }) => Some(MessageKind::ChannelEvent),
        Some(Origin::Webhook { .. }) => Some(MessageKind::WebhookEvent),
        Some(
            Origin::Operator { .. }
            | Origin::Callback { .. }
            | Origin::Timer { .. }
            | Origin::System { .. }
            | Origin::Task { .. },
        ) => {
            return Err(Refusal::forbidden(
                "origin_not_accepted",
                "this origin cannot be claimed here",
            )
            .hint(
                "use a channel or a webhook origin; operators send to /control/agents/{id}/prompt",
            ));
        }
    };
    let kind = kind.or(implied).unwrap_or(MessageKind::WebhookEvent);
    let default = public_origin(kind)?;
    match implied {
        Some(implied) if implied != kind => {
            Err(Refusal::bad_request("origin_mismatch", "kind and origin do not belong together")
                .hint("send channel_event with a channel origin, webhook_event with a webhook origin, or only one of the two"))
        }
        Some(_) | None => Ok((kind, origin.unwrap_or(default))),
    }
}

/// The origin of a kind when the caller names none; refuses kinds that are not the public's.
fn public_origin(kind: MessageKind) -> Result<Origin, Refusal> {
    match kind {
        MessageKind::WebhookEvent => Ok(Origin::Webhook {
            source: "http".into(),
            event_type: None,
        }),
        MessageKind::ChannelEvent => Ok(Origin::Channel {
            channel_id: "http".into(),
            sender_id: None,
        }),
        MessageKind::OperatorPrompt
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => Err(Refusal::forbidden(
            "kind_not_allowed",
            "this kind of message cannot be enqueued from outside",
        )
        .hint("use channel_event or webhook_event; operators send to /control/agents/{id}/prompt")),
    }
}

fn body(
    body: Option<Body>,
    text: Option<String>,
    json: Option<serde_json::Value>,
) -> Result<Body, Refusal> {
    match (body, text, json) {
        (Some(Body::Brief { .. }), None, None) => Err(Refusal::forbidden(
            "body_not_allowed",
            "a delivery record cannot be enqueued from outside",
        )
        .hint("send text or json")),
        (Some(body @ (Body::Text { .. } | Body::Json { .. })), None, None) => Ok(body),
        (None, Some(text), None) => Ok(Body::Text { text }),
        (None, None, Some(value)) => Ok(Body::Json { value }),
        (None, None, None) => Err(Refusal::bad_request(
            "missing_content",
            "there is nothing in the message",
        )
        .hint("send exactly one of text, json and body")),
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => Err(
            Refusal::bad_request("ambiguous_content", "the message has more than one content")
                .hint("send exactly one of text, json and body"),
        ),
    }
}

#[cfg(test)]
mod tests;
