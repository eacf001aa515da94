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
use holon_domain::limits::{ORIGIN_NAME_CHARACTERS, WEBHOOK_BODY_BYTES, WEBHOOK_SECRET_CHARACTERS};
use holon_domain::message::{AdmissionContext, DeliverySurface, MessageKind, Origin, Priority};
use holon_domain::text;
use holon_domain::trigger::DeliveryContent;
use holon_engine::request::Ingress;
use holon_engine::{Error, Rejection, WebhookTerms};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

const WEBHOOK_BODY: BodyLimit = BodyLimit {
    what: "webhook body",
    max: WEBHOOK_BODY_BYTES,
};
/// Name of GitHub's way to sign.
const GITHUB: &str = "github";
/// Header in which GitHub names the type of an event.
const GITHUB_EVENT: HeaderName = HeaderName::from_static("x-github-event");
/// Headers that may name the type of an event.
const EVENT_TYPES: [HeaderName; 2] = [GITHUB_EVENT, HeaderName::from_static("webhook-event")];

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
    let content = content_of(&proof, &headers, &payload);
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
    let (secrets, limits) = (&state.host.webhook_secrets, &state.host.deliveries);
    if !secrets.is_receiver(&agent_id) {
        secrets.fill(find_receivers(state)).await;
    }
    let is_guess = !secrets.is_receiver(&agent_id);
    if is_guess {
        limits.count_name(state.control.elapsed())?;
    }
    let found = find_known(state, &agent_id).await?;
    secrets.note_receiver(&agent_id, found.is_some());
    match found {
        Some((terms, secret)) => {
            if is_guess {
                limits.give_back_name();
            }
            Ok((agent_id, terms, secret))
        }
        None if is_guess => Err(unknown_webhook()),
        None => Err(unknown()),
    }
}

/// Lists the agents that accept webhooks; `Err` has those that can be read.
async fn find_receivers(state: &ActState) -> Result<Vec<AgentId>, Vec<AgentId>> {
    let agents = match state.reads.webhook_agents().await {
        Ok(agents) => agents,
        Err(error) => {
            tracing::warn!(%error, "the agents that accept webhooks cannot be listed");
            return Err(Vec::new());
        }
    };
    let (mut receivers, mut others) = (Vec::new(), Vec::new());
    for (agent_id, allow_unsigned) in agents {
        if allow_unsigned {
            receivers.push(agent_id);
        } else {
            others.push(agent_id);
        }
    }
    match state.manage.with_webhook_secret(others).await {
        Ok(found) => receivers.extend(found),
        Err(reason) => {
            tracing::warn!(reason, "the secrets of webhooks cannot be listed");
            return Err(receivers);
        }
    }
    Ok(receivers)
}

/// Looks up an agent and its secret. `None` if no agent of this name accepts webhooks.
async fn find_known(
    state: &ActState,
    agent_id: &AgentId,
) -> Result<Option<(WebhookTerms, Option<SecretString>)>, Refusal> {
    let (secrets, now) = (&state.host.webhook_secrets, state.control.elapsed());
    let terms = secrets.find_terms(state.control.webhook_terms(agent_id));
    let Some(terms) = terms.await? else {
        return Ok(None);
    };
    let look_up = state.manage.webhook_secret(agent_id, terms.birth);
    let secret = secrets.find(agent_id, terms.birth, now, look_up).await;
    let secret = secret.map_err(|reason| hide_secret_fault(&reason))?;
    Ok((secret.is_some() || terms.allow_unsigned).then_some((terms, secret)))
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
        Unproven::Unsigned if terms.allow_unsigned => Ok(unsigned_proof()),
        Unproven::Unsigned => {
            Err(RequestFault::WEBHOOK_SIGNATURE.refuse("the webhook has no signature"))
        }
        Unproven::Wrong => {
            Err(RequestFault::WEBHOOK_SIGNATURE.refuse("the signature of the webhook is wrong"))
        }
        Unproven::DottedId => Err(RequestFault::WEBHOOK_SIGNATURE.refuse(
            "the id of the webhook has a dot, so its signature could stand for another message; send an id without one",
        )),
        Unproven::OutsideWindow => {
            Err(RequestFault::WEBHOOK_TIME.refuse("the time of the webhook is too far away"))
        }
    }
}

const fn unsigned_proof() -> Proof {
    Proof {
        context: AdmissionContext::PublicUnauthenticated,
        scheme: "none",
        source: "http",
        marks: Vec::new(),
    }
}

fn signed_proof(signed: Signed) -> Proof {
    let (scheme, source, mark) = match signed {
        Signed::Standard { id } => ("standard_webhooks", "webhook", ("signed_id", id)),
        Signed::GitHub { signature } => (GITHUB, "github", ("signature", signature)),
    };
    Proof {
        context: AdmissionContext::SignedIntegration,
        scheme,
        source,
        marks: vec![mark],
    }
}

/// Takes the content of a webhook. GitHub can send its JSON as the field `payload` of a form; it is unwrapped, because the
/// agent is to read the event and not its envelope. The signature is that of the form. Without one, GitHub is known by
/// the header that names its event: whoever may send unsigned webhooks could send the JSON as well.
fn content_of(proof: &Proof, headers: &HeaderMap, payload: &[u8]) -> DeliveryContent {
    let content_type = content_type(headers);
    let is_github = match proof.context {
        AdmissionContext::SignedIntegration => proof.scheme == GITHUB,
        _ => headers.contains_key(GITHUB_EVENT),
    };
    let unwrapped = is_github.then(|| form_payload(content_type.as_deref(), payload));
    match unwrapped.flatten() {
        Some(json) => DeliveryContent::of(Some("application/json".to_owned()), json.as_bytes()),
        None => DeliveryContent::of(content_type, payload),
    }
}

/// Returns the field `payload` of a form, if it is JSON.
fn form_payload(content_type: Option<&str>, payload: &[u8]) -> Option<String> {
    let essence = content_type?.split(';').next()?.trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    let mut fields = payload.split(|byte| *byte == b'&');
    let json = decode_field(fields.find_map(|field| field.strip_prefix(b"payload="))?)?;
    serde_json::from_str::<IgnoredAny>(&json).ok().map(|_| json)
}

/// Decodes a field of a form. `None` if it is not UTF-8, or a percent sign is not followed by two digits.
fn decode_field(field: &[u8]) -> Option<String> {
    let mut decoded = Vec::with_capacity(field.len());
    let mut bytes = field.iter().copied();
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(decoded).ok()
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
        .map(|kind| text::preview(kind, ORIGIN_NAME_CHARACTERS));
    let source = params.source.filter(|source| !source.trim().is_empty());
    let content_type = content.content_type.as_deref();
    let metadata = json!({
        "delivery_id": delivery_id,
        "event_type": event_type,
        "content_type": content_type.map(|kind| text::preview(kind, ORIGIN_NAME_CHARACTERS)),
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
        images: Vec::new(),
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
        let characters = secret.expose_secret().chars().count();
        if characters == 0 || characters > WEBHOOK_SECRET_CHARACTERS {
            let message = format!("a secret has 1 to {WEBHOOK_SECRET_CHARACTERS} characters");
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
            let stored = stored.await;
            state.host.webhook_secrets.forget(&agent_id).await;
            stored.map_err(unusable_secret)?;
        }
        let control = &state.control;
        let configured = control.configure_webhook(&agent_id, request.allow_unsigned);
        configured.await?;
        state.host.webhook_secrets.note_receiver(&agent_id, true);
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
        state.host.webhook_secrets.forget(&agent_id).await;
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::CONTENT_TYPE;
    use holon_domain::message::Body;

    fn is_unwrapped(proof: &Proof, headers: &HeaderMap, payload: &[u8], json: &Body) -> bool {
        content_of(proof, headers, payload).body == *json
    }

    #[test]
    fn a_form_of_github_is_read_as_the_json_in_it() {
        let proof = |signed: Signed| signed_proof(signed);
        let github = || {
            proof(Signed::GitHub {
                signature: String::new(),
            })
        };
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        let of_kind = |kind: &str| {
            let kind = kind.parse().expect("a value");
            HeaderMap::from_iter([(CONTENT_TYPE, kind)])
        };
        let read = |proof: &Proof, kind: &str, payload: &[u8]| {
            content_of(proof, &of_kind(kind), payload).body
        };
        let payload = b"payload=%7B%22a%22%3A+%22x%26y+%C3%BC%2B%22%7D&other=1";
        let value = json!({ "a": "x&y ü+" });
        let unwrapped = Body::Json { value };
        assert_eq!(read(&github(), form, payload), unwrapped);
        let mut unsigned = of_kind(form);
        assert!(!is_unwrapped(
            &unsigned_proof(),
            &unsigned,
            payload,
            &unwrapped
        ));
        unsigned.insert(GITHUB_EVENT, "push".parse().expect("a value"));
        assert!(is_unwrapped(
            &unsigned_proof(),
            &unsigned,
            payload,
            &unwrapped
        ));
        let is_wrapped =
            |body: Body| matches!(body, Body::Json { value } if value.get("body_base64").is_some());
        for other in [
            b"state=1".as_slice(),
            b"payload=no+json",
            b"payload=%7",
            b"payload=%zz",
            b"payload=%ff",
        ] {
            assert!(is_wrapped(read(&github(), form, other)), "{other:?}");
        }
        let standard = proof(Signed::Standard { id: String::new() });
        assert!(is_wrapped(read(&standard, form, payload)));
        assert!(is_wrapped(read(&github(), "application/x-other", payload)));
    }
}
