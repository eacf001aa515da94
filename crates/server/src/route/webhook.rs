//! Webhooks: deliveries that their sender signs with a secret of the agent, and the routes that set the secret.
//!
//! A body is evidence and never interpreted. What the headers say about the delivery is metadata.

use super::callback::{content_type, delivery_id};
use crate::body::{BodyLimit, JsonBody, OptionalJson, read_within};
use crate::extract::{AgentPath, NoParams, Params};
use crate::gate::single_header;
use crate::refusal::{Refusal, RequestFault};
use crate::signature::{self, Signed, Unproven, check_secret};
use crate::state::{Act, ActState, ReadState};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName};
use holon_api::{AdmittedResponse, EmptyRequest, SetWebhookRequest, WebhookResponse};
use holon_domain::AgentId;
use holon_domain::limits::{ORIGIN_NAME_BYTES, WEBHOOK_BODY_BYTES, WEBHOOK_SECRET_BYTES};
use holon_domain::message::{AdmissionContext, DeliverySurface, MessageKind, Origin, Priority};
use holon_domain::text;
use holon_domain::trigger::DeliveryContent;
use holon_engine::request::Ingress;
use holon_engine::{Error, Rejection, WebhookTerms};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;

const WEBHOOK_BODY: BodyLimit = BodyLimit {
    what: "webhook body",
    max: WEBHOOK_BODY_BYTES,
};
/// Headers that may name the type of an event.
const EVENT_TYPES: [HeaderName; 2] = [
    HeaderName::from_static("x-github-event"),
    HeaderName::from_static("webhook-event"),
];

/// Query of a webhook. A sender can name itself; it can claim nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookParams {
    source: Option<String>,
}

/// A webhook whose sender is known, or allowed to be unknown.
struct Proof {
    context: AdmissionContext,
    /// Name of the scheme, for the metadata.
    scheme: &'static str,
    /// Sender if the URL names none.
    source: &'static str,
    /// Marks by which a repetition is known, each with its kind.
    marks: Vec<(&'static str, String)>,
}

/// `POST /webhooks/generic/{id}`: enqueues a webhook for an agent.
pub(crate) async fn deliver(
    Act(state): Act,
    agent: Result<Path<String>, PathRejection>,
    Params(params): Params<WebhookParams>,
    request: Request,
) -> Result<Json<AdmittedResponse>, Refusal> {
    let (agent_id, terms, secret) = find_receiver(&state, agent).await?;
    let limits = &state.host.deliveries;
    let headers = request.headers().clone();
    let delivery_id = delivery_id(&headers)?;
    let payload = read_within(request, WEBHOOK_BODY).await?;
    let proof = prove(&state, terms, secret.as_ref(), &headers, &payload)
        .map_err(|refusal| limits.count_guess(refusal, state.control.elapsed()))?;
    // Only what is proven uses up the allowance of proven ones, or else anybody could shut out their sender.
    let receiver = match proof.context {
        AdmissionContext::SignedIntegration => format!("webhook {agent_id}"),
        _ => format!("unsigned webhook {agent_id}"),
    };
    limits.count(&receiver, state.control.elapsed())?;
    let proof = with_id(proof, delivery_id.as_deref());
    let marks: Vec<(&str, &str)> = proof
        .marks
        .iter()
        .map(|(kind, mark)| (*kind, mark.as_str()))
        .collect();
    let content = DeliveryContent::of(content_type(&headers), &payload);
    let ingress = ingress(&proof, params, &headers, delivery_id.as_deref(), content);
    let admitted = state.control.deliver_webhook(&agent_id, &marks, ingress);
    let admitted = admitted.await.map_err(|error| hide_agent(&state, error))?;
    Ok(Json(AdmittedResponse {
        ok: true,
        agent_id: admitted.agent_id,
        message_id: admitted.message_id,
    }))
}

/// Finds an agent that accepts webhooks. An agent that does not is as unknown as one that does not exist.
async fn find_receiver(
    state: &ActState,
    agent: Result<Path<String>, PathRejection>,
) -> Result<(AgentId, WebhookTerms, Option<SecretString>), Refusal> {
    let unknown = || count_unknown(state);
    let agent_id = agent
        .ok()
        .and_then(|Path(text)| AgentId::parse_stored(&text).ok())
        .ok_or_else(unknown)?;
    let terms = state.control.webhook_terms(&agent_id).await?;
    let terms = terms.ok_or_else(unknown)?;
    let secret = state.manage.webhook_secret(&agent_id, terms.birth).await;
    let secret = secret.map_err(|reason| hide_secret_fault(&reason))?;
    if secret.is_none() && !terms.allow_unsigned {
        return Err(unknown());
    }
    Ok((agent_id, terms, secret))
}

/// Counts a guess, and answers that there is no such webhook.
fn count_unknown(state: &ActState) -> Refusal {
    let limits = &state.host.deliveries;
    limits.count_guess(unknown_webhook(), state.control.elapsed())
}

fn unknown_webhook() -> Refusal {
    RequestFault::WEBHOOK_UNKNOWN.refuse("there is no such webhook")
}

fn hide_agent(state: &ActState, error: Error) -> Refusal {
    match error {
        Error::AgentNotFound { .. } | Error::Rejected(Rejection::Deleting { .. }) => {
            count_unknown(state)
        }
        error => error.into(),
    }
}

fn unusable_secret(reason: String) -> Refusal {
    RequestFault::WEBHOOK_SECRET.refuse(reason)
}

/// Says nothing about the host's files to a sender that is not known yet; the operator reads them in the log.
fn hide_secret_fault(reason: &str) -> Refusal {
    tracing::error!(reason, "the secret of a webhook cannot be read");
    RequestFault::WEBHOOK_SECRET.refuse("the host cannot check signatures now; its log says why")
}

fn prove(
    state: &ActState,
    terms: WebhookTerms,
    secret: Option<&SecretString>,
    headers: &HeaderMap,
    payload: &[u8],
) -> Result<Proof, Refusal> {
    let now = state.control.now();
    let checked =
        secret.map(|secret| signature::check(headers, payload, secret.expose_secret(), now));
    let unproven = match checked {
        Some(Ok(signed)) => return Ok(signed_proof(signed)),
        Some(Err(unproven)) => unproven,
        None => Unproven::Unsigned,
    };
    match unproven {
        Unproven::Unsigned if terms.allow_unsigned => Ok(Proof {
            context: AdmissionContext::PublicUnauthenticated,
            scheme: "none",
            source: "http",
            marks: Vec::new(),
        }),
        Unproven::Unsigned => {
            Err(RequestFault::WEBHOOK_SIGNATURE.refuse("the webhook has no signature"))
        }
        Unproven::Wrong => {
            Err(RequestFault::WEBHOOK_SIGNATURE.refuse("the signature of the webhook is wrong"))
        }
        Unproven::OutsideWindow => {
            Err(RequestFault::WEBHOOK_TIME.refuse("the time of the webhook is too far away"))
        }
    }
}

fn signed_proof(signed: Signed) -> Proof {
    let (scheme, source, mark) = match signed {
        Signed::Standard { id } => ("standard_webhooks", "webhook", ("signed_id", id)),
        Signed::GitHub { signature } => ("github", "github", ("signature", signature)),
    };
    Proof {
        context: AdmissionContext::SignedIntegration,
        scheme,
        source,
        marks: vec![mark],
    }
}

/// Adds the sender's id to the marks. Ids of senders that are not proven are kept apart from the others.
fn with_id(mut proof: Proof, delivery_id: Option<&str>) -> Proof {
    let kind = match proof.context {
        AdmissionContext::SignedIntegration => "signed_id",
        _ => "unsigned_id",
    };
    let mark = delivery_id.map(|id| (kind, id.to_owned()));
    proof
        .marks
        .extend(mark.filter(|mark| !proof.marks.contains(mark)));
    proof
}

fn ingress(
    proof: &Proof,
    params: WebhookParams,
    headers: &HeaderMap,
    delivery_id: Option<&str>,
    content: DeliveryContent,
) -> Ingress {
    let event_type = EVENT_TYPES
        .into_iter()
        .find_map(|name| single_header(headers, &name)?.to_str().ok())
        .map(|kind| text::preview(kind, ORIGIN_NAME_BYTES));
    let source = params.source.filter(|source| !source.trim().is_empty());
    let content_type = content.content_type.as_deref();
    let metadata = json!({
        "delivery_id": delivery_id,
        "event_type": event_type,
        "content_type": content_type.map(|kind| text::preview(kind, ORIGIN_NAME_BYTES)),
        "signature": proof.scheme,
    });
    Ingress {
        kind: MessageKind::WebhookEvent,
        origin: Origin::Webhook {
            source: source.unwrap_or_else(|| proof.source.to_owned()),
            event_type,
        },
        priority: Priority::Normal,
        body: content.body,
        metadata: Some(metadata),
        delivery_surface: DeliverySurface::HttpWebhook,
        admission_context: proof.context,
        correlation_id: None,
        causation_id: None,
        max_rounds: None,
        at_most: None,
    }
}

/// `GET /agents/{id}/webhook`: says which webhooks an agent accepts.
pub(crate) async fn show(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<WebhookResponse>, Refusal> {
    let (terms, base) = state.reads.webhook_terms(&agent_id).await?;
    let setup = &state.setup;
    let has_secret = setup.has_webhook_secret(&agent_id, terms.birth).await;
    Ok(Json(WebhookResponse {
        ok: true,
        url: webhook_url(&base, &agent_id),
        agent_id,
        has_secret: has_secret.map_err(unusable_secret)?,
        allow_unsigned: terms.allow_unsigned,
    }))
}

/// `POST /control/agents/{id}/webhook`: sets the secret, and whether webhooks without a signature are accepted.
///
/// The decision comes last. Once it is kept, a repetition of the request does not bring an older secret back.
pub(crate) async fn set(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<SetWebhookRequest>,
) -> Result<Json<WebhookResponse>, Refusal> {
    let secret = request.secret.map(SecretString::from);
    if let Some(secret) = &secret {
        let bytes = secret.expose_secret().len();
        if bytes == 0 || bytes > WEBHOOK_SECRET_BYTES {
            let message = format!("a secret has 1 to {WEBHOOK_SECRET_BYTES} bytes");
            return Err(RequestFault::REQUEST.refuse(message));
        }
        check_secret(secret.expose_secret(), RequestFault::REQUEST)?;
    }
    // The agent is checked first: a secret is stored for an agent that exists.
    let terms = present_terms(&state, &agent_id).await?;
    if !state.control.is_decided(&agent_id).await? {
        if let Some(secret) = secret {
            let manage = &state.manage;
            let stored = manage.set_webhook_secret(&agent_id, terms.birth, secret);
            stored.await.map_err(unusable_secret)?;
        }
        let control = &state.control;
        let configured = control.configure_webhook(&agent_id, request.allow_unsigned);
        configured.await?;
    }
    describe(&state, agent_id).await
}

/// `POST /control/agents/{id}/webhook/remove`: forgets the secret and accepts no webhooks any more.
pub(crate) async fn remove(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<WebhookResponse>, Refusal> {
    present_terms(&state, &agent_id).await?;
    if !state.control.is_decided(&agent_id).await? {
        let removed = state.manage.remove_webhook_secret(&agent_id).await;
        removed.map_err(unusable_secret)?;
        state.control.configure_webhook(&agent_id, false).await?;
    }
    describe(&state, agent_id).await
}

/// Returns the terms of an agent, which must exist.
async fn present_terms(state: &ActState, agent_id: &AgentId) -> Result<WebhookTerms, Refusal> {
    let terms = state.control.webhook_terms(agent_id).await?;
    let gone = || Error::AgentNotFound {
        agent_id: agent_id.clone(),
    };
    Ok(terms.ok_or_else(gone)?)
}

async fn describe(state: &ActState, agent_id: AgentId) -> Result<Json<WebhookResponse>, Refusal> {
    let terms = present_terms(state, &agent_id).await?;
    let secret = state.manage.webhook_secret(&agent_id, terms.birth).await;
    let has_secret = secret.map_err(unusable_secret)?.is_some();
    Ok(Json(WebhookResponse {
        ok: true,
        url: webhook_url(state.control.callback_base(), &agent_id),
        agent_id,
        has_secret,
        allow_unsigned: terms.allow_unsigned,
    }))
}

fn webhook_url(base: &str, agent_id: &AgentId) -> String {
    format!("{base}/webhooks/generic/{agent_id}")
}
