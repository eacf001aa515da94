//! Idempotency keys: a request that its caller repeats with the same key takes effect once and gets the same answer.
//!
//! The engine keeps the reply of a decision in the commit of the decision itself. A route whose answer comes from an
//! effect keeps its whole response here, after the effect. Such a request is served by a task of its own, so that its
//! response is kept although its caller has left. A second request with the same key waits for the first one. Refusals
//! are not kept.

use crate::body::read_body;
use crate::gate::{Caller, single_header};
use crate::refusal::{Refusal, RequestFault};
use crate::route::archive::ReceivedArchive;
use axum::RequestExt as _;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use holon_api::{ARCHIVE_MEDIA_TYPE, IDEMPOTENCY_KEY_HEADER};
use holon_domain::AgentId;
use holon_domain::limits::{KEPT_RESPONSE_BYTES, REQUEST_KEY_BYTES};
use holon_domain::request_key::{KeyScope, RequestKey};
use holon_domain::text;
use holon_engine::{ControlHandle, Error};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const JSON: &str = "application/json";

/// The fact of a route that is kept for repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing: a repetition changes nothing by itself.
    Nothing,
    /// The reply of the decision, in its commit.
    Decision,
    /// The response, after the effect.
    Response,
    /// The response, after the effect, for every agent of the name: a repetition must not make a removed agent again.
    Creation,
    /// The response, after the effect, as far as the store allows it: a host whose store fails must still be shut down.
    ResponseIfPossible,
    /// Both: a repetition finds the decision, and the effect can be performed again without harm.
    Both,
    /// Both, and the engine lets a repetition join the first request. It has to know when a caller leaves, so the request
    /// is served only as long as its caller waits.
    Joined,
}

/// The keys of requests that are served at the moment.
#[derive(Debug, Default)]
pub(crate) struct ServedKeys(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl ServedKeys {
    /// Waits until no other request with this key is served.
    async fn enter(&self, id: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, served| served.strong_count() > 0);
            match all.get(id).and_then(Weak::upgrade) {
                Some(lock) => lock,
                None => {
                    let lock = Arc::default();
                    all.insert(id.to_owned(), Arc::downgrade(&lock));
                    lock
                }
            }
        };
        lock.lock_owned().await
    }
}

/// State of the middleware of one route.
#[derive(Clone)]
pub(crate) struct KeyedRoute {
    pub(crate) control: ControlHandle,
    pub(crate) served: Arc<ServedKeys>,
    pub(crate) keep: Keep,
    /// Tracks requests that are served without their callers.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the drain has used up its time.
    pub(crate) cut_off: CancellationToken,
}

/// Middleware of a route that changes something.
pub(crate) async fn serve_once(
    State(route): State<KeyedRoute>,
    request: Request,
    next: Next,
) -> Response {
    match route.serve(request, next).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

impl KeyedRoute {
    async fn serve(self, request: Request, next: Next) -> Result<Response, Refusal> {
        let Some(key) = read_key(request.headers())? else {
            return Ok(next.run(request).await);
        };
        if self.keep == Keep::Nothing {
            return Ok(next.run(request).await);
        }
        let (mut request, digest) = digest_of(&self.control, request).await?;
        let (decision, response, agent) = keys_of(&mut request, &key, digest).await;
        let agent = agent.filter(|_| self.keep != Keep::Creation);
        let alone = self.served.enter(&response.id).await;
        if matches!(self.keep, Keep::Decision | Keep::Both | Keep::Joined) {
            request.extensions_mut().insert(decision);
        }
        if self.keep == Keep::Decision {
            return Ok(next.run(request).await);
        }
        let kept = self.control.kept_response(&response, agent.clone()).await;
        let kept = match (kept, self.keep) {
            (Err(error), Keep::ResponseIfPossible) => {
                tracing::warn!(%error, "earlier responses cannot be read");
                None
            }
            (kept, _) => kept?,
        };
        if let Some(kept) = kept {
            return Ok(([(CONTENT_TYPE, JSON)], kept).into_response());
        }
        let (joined, tasks) = (self.keep == Keep::Joined, self.tasks.clone());
        let served = async move {
            let served = async {
                let answered = next.run(request).await;
                self.keep_answer(response, agent, answered).await
            };
            let answered = self.cut_off.run_until_cancelled(served).await;
            drop(alone);
            answered.unwrap_or_else(|| Err(self.control.shutdown_error().into()))
        };
        if joined {
            return served.await;
        }
        match tasks.spawn(served).await {
            Ok(answered) => answered,
            // The outermost middleware answers for handlers that panic.
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::ShuttingDown.into()),
            },
        }
    }

    /// Keeps a response that is JSON and not too large. The response is given also if it cannot be kept, because the
    /// effect has happened.
    async fn keep_answer(
        &self,
        key: RequestKey,
        agent: Option<AgentId>,
        answered: Response,
    ) -> Result<Response, Refusal> {
        let is_json = answered
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind == JSON);
        let size = answered.body().size_hint().upper();
        let fits = size.is_some_and(|bytes| bytes <= KEPT_RESPONSE_BYTES as u64);
        if answered.status() != StatusCode::OK || !is_json || !fits {
            return Ok(answered);
        }
        let (head, body) = answered.into_parts();
        let Ok(bytes) = to_bytes(body, KEPT_RESPONSE_BYTES).await else {
            return Err(RequestFault::BODY_BROKEN.refuse("the response broke off"));
        };
        if let Ok(text) = std::str::from_utf8(&bytes)
            && let Err(error) = self
                .control
                .keep_response(key, agent, text.to_owned())
                .await
        {
            tracing::warn!(%error, "a response could not be kept for repetitions");
        }
        Ok(Response::from_parts(head, Body::from(bytes)))
    }
}

/// Reads the key of a request; `None` if there is none.
fn read_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let name = HeaderName::from_static(IDEMPOTENCY_KEY_HEADER);
    if !headers.contains_key(&name) {
        return Ok(None);
    }
    let value = single_header(headers, &name).map(HeaderValue::as_bytes);
    let is_valid = |key: &&[u8]| {
        (1..=REQUEST_KEY_BYTES).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic)
    };
    let key = value
        .filter(is_valid)
        .and_then(|key| std::str::from_utf8(key).ok());
    key.map(|key| Some(key.to_owned()))
        .ok_or_else(|| RequestFault::IDEMPOTENCY_KEY.refuse("the idempotency key is not valid"))
}

/// Reads the body of a request and returns the request with the digest of what it asks for. An archive goes to a file,
/// which the request has as an extension then.
async fn digest_of(
    control: &ControlHandle,
    request: Request,
) -> Result<(Request, String), Refusal> {
    let target = request.uri().path_and_query().map(ToString::to_string);
    let kind = request.headers().get(CONTENT_TYPE);
    let is_archive = kind.is_some_and(|kind| kind == ARCHIVE_MEDIA_TYPE);
    let (mut head, body) = request.into_parts();
    let (content, body) = if is_archive {
        let received = ReceivedArchive::receive(control, &head.headers, body).await?;
        let content = received.sha256.clone();
        head.extensions.insert(received);
        (content, Body::empty())
    } else {
        let sized = Request::from_parts(head.clone(), body);
        let bytes = read_body(sized).await?.freeze();
        (text::sha256_hex(&bytes), Body::from(bytes))
    };
    let digest = text::sha256_hex(json!([target, content]).to_string());
    Ok((Request::from_parts(head, body), digest))
}

/// Returns the keys of the decision and of the response, and the agent in the path.
async fn keys_of(
    request: &mut Request,
    key: &str,
    digest: String,
) -> (RequestKey, RequestKey, Option<AgentId>) {
    let params = request.extract_parts::<RawPathParams>().await;
    let agent = params
        .iter()
        .flat_map(|params| params.iter())
        .find_map(|(name, value)| (name == "id").then(|| value.to_owned()));
    let caller = request.extensions().get::<Caller>().map(Caller::key_name);
    let path = request.extensions().get::<MatchedPath>();
    let route = path.map_or("", MatchedPath::as_str).to_owned();
    let (caller, agent) = (caller.unwrap_or_default(), agent.unwrap_or_default());
    let scope = KeyScope {
        caller: &caller,
        route: &route,
        agent: &agent,
        kind: "decision",
    };
    let decision = RequestKey::new(scope, key, digest.clone());
    let scope = KeyScope {
        kind: "response",
        ..scope
    };
    let named = AgentId::parse_stored(&agent).ok();
    (decision, RequestKey::new(scope, key, digest), named)
}

#[cfg(test)]
mod tests;
