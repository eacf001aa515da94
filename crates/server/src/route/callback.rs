//! Deliveries to capability URLs. The token is the only authority, and every token that leads nowhere gets one answer.

use crate::body::{BodyLimit, read_within};
use crate::extract::Params;
use crate::gate::single_header;
use crate::refusal::{Refusal, RequestFault};
use crate::signature::WEBHOOK_ID;
use crate::state::{Act, ActState};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use holon_api::{CallbackResponse, IDEMPOTENCY_KEY_HEADER};
use holon_domain::limits::{CALLBACK_BODY_BYTES, DELIVERY_ID_CHARACTERS};
use holon_domain::trigger::{
    CallbackDelivery, CallbackReceipt, DeliveryContent, DeliveryMode, TriggerRecord, TriggerScope,
};
use holon_engine::{Error, Rejection};
use serde::Deserialize;

const CALLBACK_BODY: BodyLimit = BodyLimit {
    what: "callback body",
    max: CALLBACK_BODY_BYTES,
};

/// Headers that may hold a sender's id of a delivery. The first one that is there counts.
const DELIVERY_IDS: [HeaderName; 3] = [
    WEBHOOK_ID,
    HeaderName::from_static("x-github-delivery"),
    HeaderName::from_static(IDEMPOTENCY_KEY_HEADER),
];

/// Query of a capability URL. A sender can name itself and link the delivery; it can claim nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallbackParams {
    source: Option<String>,
    correlation_id: Option<String>,
    causation_id: Option<String>,
}

/// `POST /callbacks/wake/{token}`: wakes the agent of a capability.
pub(crate) async fn wake(
    Act(state): Act,
    token: Result<Path<String>, PathRejection>,
    Params(params): Params<CallbackParams>,
    request: Request,
) -> Result<Json<CallbackResponse>, Refusal> {
    deliver(&state, DeliveryMode::WakeHint, token, params, request).await
}

/// `POST /callbacks/enqueue/{token}`: enqueues the content for the agent of a capability.
pub(crate) async fn enqueue(
    Act(state): Act,
    token: Result<Path<String>, PathRejection>,
    Params(params): Params<CallbackParams>,
    request: Request,
) -> Result<Json<CallbackResponse>, Refusal> {
    deliver(&state, DeliveryMode::EnqueueMessage, token, params, request).await
}

async fn deliver(
    state: &ActState,
    mode: DeliveryMode,
    token: Result<Path<String>, PathRejection>,
    params: CallbackParams,
    request: Request,
) -> Result<Json<CallbackResponse>, Refusal> {
    let token = token.map_or_else(|_| String::new(), |Path(token)| token);
    let limits = &state.host.deliveries;
    let Some(trigger) = state.control.find_capability(&token).await? else {
        return Err(limits.count_guess(unknown_token(), state.control.elapsed()));
    };
    limits.count(trigger.id.as_str(), state.control.elapsed())?;
    // The decision checks it too, and is not made for a delivery whose answer is kept.
    if trigger.delivery_mode != mode {
        return Err(Error::from(Rejection::TriggerModeMismatch).into());
    }
    let delivery = read(mode, &trigger, params, request).await?;
    let agent_id = &trigger.target_agent_id;
    let delivered = state.control.deliver_callback(agent_id, delivery).await;
    match delivered {
        Ok(receipt) => Ok(Json(response(receipt))),
        // The capability was revoked since it was found.
        Err(Error::Rejected(Rejection::UnknownToken)) => {
            Err(limits.count_guess(unknown_token(), state.control.elapsed()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The one answer for tokens that are unknown, revoked or rotated.
fn unknown_token() -> Refusal {
    Refusal::from(Error::from(Rejection::UnknownToken))
}

async fn read(
    mode: DeliveryMode,
    trigger: &TriggerRecord,
    params: CallbackParams,
    request: Request,
) -> Result<CallbackDelivery, Refusal> {
    let delivery_id = delivery_id(request.headers())?;
    let content_type = content_type(request.headers());
    let payload = read_within(request, CALLBACK_BODY).await?;
    Ok(CallbackDelivery {
        trigger_id: trigger.id.clone(),
        generation: trigger.generation,
        mode,
        source: params.source.filter(|source| !source.trim().is_empty()),
        delivery_id,
        correlation_id: params.correlation_id,
        causation_id: params.causation_id,
        content: DeliveryContent::of(content_type, &payload),
    })
}

/// Returns the declared type of a body. A header that is repeated or not text declares nothing.
pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    let declared = single_header(headers, &CONTENT_TYPE)?.to_str().ok()?;
    Some(declared.to_owned()).filter(|declared| !declared.trim().is_empty())
}

/// Returns the sender's id of a delivery.
///
/// # Errors
/// When the header is there and holds no id.
pub(super) fn delivery_id(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(name) = DELIVERY_IDS
        .into_iter()
        .find(|name| headers.contains_key(name))
    else {
        return Ok(None);
    };
    let value = single_header(headers, &name).map(HeaderValue::as_bytes);
    let is_valid = |id: &&[u8]| {
        (1..=DELIVERY_ID_CHARACTERS).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
    };
    let id = value
        .filter(is_valid)
        .and_then(|id| std::str::from_utf8(id).ok());
    id.map(|id| Some(id.to_owned()))
        .ok_or_else(|| RequestFault::DELIVERY_ID.refuse("the id of the delivery is not valid"))
}

fn response(receipt: CallbackReceipt) -> CallbackResponse {
    CallbackResponse {
        ok: true,
        agent_id: receipt.target_agent_id,
        waiting_intent_id: receipt.wait_ids.into_iter().next(),
        external_trigger_id: receipt.external_trigger_id,
        scope: TriggerScope::Agent,
        delivery_mode: receipt.delivery_mode,
        disposition: receipt.disposition,
        message_id: receipt.message_id,
    }
}
