//! The gate at the router's root: every request passes it, and it denies by default.
//!
//! It checks only the head of a request. It protects against other users, browsers and networks. A command of an agent,
//! which runs as the same user, is recognised by its ancestors as far as that can be told: it reads its own agent and
//! enqueues to it, and every other route is closed to it.

use crate::hosts::AllowedHosts;
use crate::named_tokens::{NamedCaller, NamedTokens};
use crate::ports::PeerCommand;
use crate::refusal::{Refusal, RequestFault};
use crate::route::image;
use crate::slots::Newcomer;
use crate::state::{Host, Peer, PeerAddress, Transport};
use crate::token::Token;
use axum::body::{Body, HttpBody as _};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use holon_api::ARCHIVE_MEDIA_TYPE;
use holon_domain::image::ImageFormat;
use holon_domain::limits::REQUEST_HEAD_BYTES;
use holon_domain::request_key::TokenScope;
use holon_engine::ControlHandle;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Routes open to anonymous callers, as patterns. All others need the token or the socket.
pub const PUBLIC: [&str; 5] = [
    "/healthz",
    "/handshake",
    "/callbacks/enqueue/{token}",
    "/callbacks/wake/{token}",
    "/webhooks/generic/{id}",
];

/// Returns true if a path is open to anonymous callers.
fn is_public(path: &str) -> bool {
    PUBLIC.iter().any(|pattern| match pattern.split_once('{') {
        Some(_) => is_delivery_to(path, pattern),
        None => *pattern == path,
    })
}

/// Returns true if deliveries of any content are accepted at this path.
fn takes_deliveries(path: &str) -> bool {
    PUBLIC.iter().any(|pattern| is_delivery_to(path, pattern))
}

/// Returns true if a path has one segment in place of the pattern's last one.
fn is_delivery_to(path: &str, pattern: &str) -> bool {
    let prefix = pattern.split_once('{').map(|(prefix, _)| prefix);
    let last = prefix.and_then(|prefix| path.strip_prefix(prefix));
    last.is_some_and(|last| !last.is_empty() && !last.contains('/'))
}

/// Identity of the caller of a request.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// No valid token was sent; only public routes are allowed.
    Anonymous,
    /// The same user on this machine, over the socket.
    Local,
    /// A command of an agent, over the socket.
    Agent(PeerCommand),
    /// The caller sent the control token.
    Control,
    /// The caller sent a named token.
    Named(NamedCaller),
}

impl Caller {
    /// Returns the rights of the caller; `None` for an anonymous one.
    pub(crate) const fn scope(&self) -> Option<TokenScope> {
        match self {
            Self::Anonymous => None,
            Self::Agent(_) => Some(TokenScope::Prompt),
            Self::Local | Self::Control => Some(TokenScope::Control),
            Self::Named(named) => Some(named.scope),
        }
    }

    /// Returns the name that idempotency keys are scoped to. No named token has the form of the other names.
    pub(crate) fn key_name(&self) -> String {
        match self {
            Self::Anonymous => "@anonymous".to_owned(),
            Self::Local => "@local".to_owned(),
            Self::Agent(command) => format!("@agent:{}", command.agent_id),
            Self::Control => "@control".to_owned(),
            Self::Named(named) => named.name.clone(),
        }
    }

    /// Refuses a caller without these rights.
    pub(crate) fn require(&self, needed: TokenScope) -> Result<(), Refusal> {
        match self.scope() {
            Some(scope) if scope >= needed => Ok(()),
            Some(scope) => {
                let message = format!(
                    "this needs a token with the scope {:?}, and this one has {:?}",
                    needed.as_str(),
                    scope.as_str()
                );
                Err(RequestFault::SCOPE.refuse(message))
            }
            None => Err(RequestFault::UNAUTHORIZED.refuse("this needs a token of the host")),
        }
    }
}

/// Rights that a route needs. Every route of the table declares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Open to anonymous callers.
    Public,
    /// Needs a token with this scope, or the socket.
    Scope(TokenScope),
}

/// Middleware of one route that refuses callers without the rights that the route declares. A request without a
/// caller has not passed the gate and is refused too.
pub(crate) async fn check_access(
    State(access): State<Access>,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Caller>();
    let verdict = match (access, caller) {
        (Access::Public, _) => Ok(()),
        (Access::Scope(needed), Some(Caller::Agent(command))) => {
            check_own(command, needed, &request)
        }
        (Access::Scope(needed), Some(caller)) => caller.require(needed),
        (Access::Scope(needed), None) => Caller::Anonymous.require(needed),
    };
    match verdict {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Refuses every request of an agent's command but a look at its own agent and a message to it, as far as the rights to
/// prompt allow them.
fn check_own(command: &PeerCommand, needed: TokenScope, request: &Request) -> Result<(), Refusal> {
    // The route says that the segment is the name of an agent: an agent may be named like a segment of another route.
    let route = request.extensions().get::<MatchedPath>();
    let route = route.and_then(|route| route.as_str().strip_prefix("/agents/{id}/"));
    let id = request.uri().path().strip_prefix("/agents/");
    let id = id.and_then(|rest| rest.split('/').next());
    let is_own = id == Some(command.agent_id.as_str());
    let is_of_own = match (route, request.method()) {
        (Some(_), &Method::GET | &Method::HEAD) => is_own,
        (Some("enqueue"), &Method::POST) => is_own,
        (Some(_), _) | (None, _) => false,
    };
    if is_of_own && needed <= TokenScope::Prompt {
        return Ok(());
    }
    let message = format!(
        "a command of agent {} reads its own agent and enqueues to it, and does nothing else here",
        command.agent_id
    );
    Err(RequestFault::AGENT_COMMAND.refuse(message).hint(format!(
        "send it to /agents/{}/enqueue, or let the operator do it",
        command.agent_id
    )))
}

/// Presence of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    Empty,
    /// The request has a body, or may have one.
    Present,
}

/// Refuses a request whose URL and headers are longer than the limit.
fn refuse_large_head(request: &Request) -> Result<(), Refusal> {
    let target = request.uri().path_and_query();
    let target = target.map_or(0, |target| target.as_str().len());
    let headers = request.headers().iter();
    let bytes = headers.fold(target, |bytes, (name, value)| {
        bytes + name.as_str().len() + value.len()
    });
    if bytes <= REQUEST_HEAD_BYTES {
        return Ok(());
    }
    let message =
        format!("the URL and the headers have {bytes} bytes; the limit is {REQUEST_HEAD_BYTES}");
    Err(RequestFault::HEAD_TOO_LARGE.refuse(message))
}

/// Access rules of one listener.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) transport: Transport,
    pub(crate) token: Token,
    pub(crate) named: Arc<NamedTokens>,
    pub(crate) hosts: AllowedHosts,
}

impl Gate {
    /// Checks a request and returns its caller, or the refusal.
    pub(crate) fn check(&self, request: &Request) -> Result<Caller, Refusal> {
        refuse_large_head(request)?;
        let headers = request.headers();
        let caller = match self.transport {
            Transport::Unix => {
                refuse_origin(headers)?;
                match request.extensions().get::<Peer>() {
                    Some(Peer(command)) => Caller::Agent(command.clone()),
                    None => Caller::Local,
                }
            }
            Transport::Tcp => {
                self.check_host(request)?;
                refuse_origin(headers)?;
                self.authenticate(headers)
            }
        };
        if caller.scope().is_none() && !is_public(request.uri().path()) {
            return Err(RequestFault::UNAUTHORIZED.refuse("this needs a token of the host"));
        }
        if takes_deliveries(request.uri().path()) {
            return Ok(caller);
        }
        check_content_type(request.method(), headers, payload_of(request))
            .or_else(|refusal| accept_upload(request).then_some(()).ok_or(refusal))?;
        Ok(caller)
    }

    fn check_host(&self, request: &Request) -> Result<(), Refusal> {
        let named = single_header(request.headers(), &HOST).and_then(|value| value.to_str().ok());
        let target = request
            .uri()
            .authority()
            .map(|authority| authority.as_str());
        let allowed = named.is_some_and(|host| self.hosts.allow(host))
            && target.is_none_or(|host| self.hosts.allow(host));
        if allowed {
            return Ok(());
        }
        Err(RequestFault::HOST_NOT_ALLOWED.refuse("this host name is not served here"))
    }

    /// Returns true if a request offers a bearer token that is none of this host.
    fn is_wrong_token(&self, request: &Request) -> bool {
        let offered = single_header(request.headers(), &AUTHORIZATION);
        self.transport == Transport::Tcp
            && offered.is_some_and(|value| bearer_secret(value.as_bytes()).is_some())
            && self.authenticate(request.headers()).scope().is_none()
    }

    fn authenticate(&self, headers: &HeaderMap) -> Caller {
        let offered = single_header(headers, &AUTHORIZATION)
            .and_then(|value| bearer_secret(value.as_bytes()));
        match offered {
            Some(secret) if self.token.matches(secret) => Caller::Control,
            Some(secret) => match self.named.find(secret) {
                Some(named) => Caller::Named(named),
                None => Caller::Anonymous,
            },
            None => Caller::Anonymous,
        }
    }
}

/// The gate of a listener, and what counts the wrong tokens that it meets.
pub(crate) struct Guard {
    pub(crate) gate: Gate,
    pub(crate) host: Arc<Host>,
    pub(crate) control: ControlHandle,
}

impl Guard {
    /// Counts a refused request with a wrong token, and returns the answer to it.
    fn count(&self, request: &Request, refusal: Refusal) -> Refusal {
        match request.extensions().get::<PeerAddress>() {
            Some(PeerAddress(address)) if self.gate.is_wrong_token(request) => {
                let now = self.control.elapsed();
                let limits = &self.host.deliveries;
                limits.count_wrong_token(*address, refusal, now)
            }
            Some(_) | None => refusal,
        }
    }
}

/// Middleware that refuses a request, or passes it on with its [`Caller`] as an extension.
pub(crate) async fn guard(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let checked = guard.gate.check(&request);
    let is_known = checked
        .as_ref()
        .is_ok_and(|caller| caller.scope().is_some());
    let newcomer = request.extensions().get::<Arc<Newcomer>>();
    if is_known && newcomer.is_some_and(|newcomer| !newcomer.admit()) {
        // The connection lost its place and is being closed.
        return std::future::pending().await;
    }
    if checked.is_ok() {
        let rooms = &guard.host.bodies;
        let room = if is_known {
            &rooms.known
        } else {
            &rooms.anonymous
        };
        request.extensions_mut().insert(room.clone());
    }
    match checked {
        Ok(Caller::Named(named)) => {
            let revoked = named.revoked.clone();
            let cut = Cut::of(request.method());
            request.extensions_mut().insert(Caller::Named(named));
            end_when_revoked(revoked, cut, next.run(request)).await
        }
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => guard.count(&request, refusal).into_response(),
    }
}

/// Effect of a revocation on a request that is being served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The request ends at once.
    AtOnce,
    /// The request is answered, because it changes something, and its caller must learn whether it has. It may be the
    /// revocation itself.
    Stream,
}

impl Cut {
    fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::AtOnce,
            _ => Self::Stream,
        }
    }
}

/// Ends what a request shows when the caller's token is revoked: a look at once, and every response that streams.
async fn end_when_revoked(
    revoked: CancellationToken,
    cut: Cut,
    response: impl Future<Output = Response>,
) -> Response {
    let cut_off = async {
        match cut {
            Cut::AtOnce => revoked.cancelled().await,
            Cut::Stream => std::future::pending().await,
        }
    };
    let response = tokio::select! {
        biased;
        () = cut_off => {
            let refusal = RequestFault::UNAUTHORIZED.refuse("the token was revoked");
            return refusal.into_response();
        }
        response = response => response,
    };
    response.map(|body| match body.size_hint().exact() {
        Some(_) => body,
        None => {
            let parts = body.into_data_stream();
            Body::from_stream(parts.take_until(revoked.cancelled_owned()))
        }
    })
}

/// Returns a header's value if the header occurs exactly once; a repeated header is ambiguous.
pub(crate) fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Option<&'a axum::http::HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

fn bearer_secret(value: &[u8]) -> Option<&[u8]> {
    let (scheme, secret) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(secret)
}

/// Refuses requests of browsers; only they send `Origin`.
fn refuse_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(ORIGIN) {
        return Ok(());
    }
    Err(RequestFault::ORIGIN_NOT_ALLOWED.refuse("requests from web pages are not served"))
}

fn payload_of(request: &Request) -> Payload {
    if request.body().size_hint().exact() == Some(0) {
        Payload::Empty
    } else {
        Payload::Present
    }
}

/// Refuses every body but JSON: a web page can post forms and plain text without a preflight request.
fn check_content_type(
    method: &Method,
    headers: &HeaderMap,
    payload: Payload,
) -> Result<(), Refusal> {
    if method == Method::GET || method == Method::HEAD || method == Method::OPTIONS {
        return Ok(());
    }
    let acceptable = match (headers.get(CONTENT_TYPE), payload) {
        (None, Payload::Empty) => true,
        (None, Payload::Present) => false,
        (Some(_), Payload::Empty | Payload::Present) => single_header(headers, &CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(is_json),
    };
    if acceptable {
        return Ok(());
    }
    Err(RequestFault::MEDIA_TYPE.refuse("the body must be JSON"))
}

/// Returns true if a request sends no JSON to a route that takes none. That of images refuses other types itself.
fn accept_upload(request: &Request) -> bool {
    let is_post = request.method() == Method::POST;
    is_post && (request.uri().path() == image::PATH || is_archive(request))
}

/// Returns the format that a request declares for its body; `None` if that is no image. A web page cannot send such a type
/// without a preflight request.
pub(crate) fn declared_image(headers: &HeaderMap) -> Option<ImageFormat> {
    let declared = single_header(headers, &CONTENT_TYPE)?.to_str().ok()?;
    let mut formats = ImageFormat::ALL.into_iter();
    formats.find(|format| is_media_type(declared, format.media_type()))
}

/// Returns true if a request sends an archive to the one route that takes it. A web page cannot send this type without
/// a preflight request.
fn is_archive(request: &Request) -> bool {
    let declared = single_header(request.headers(), &CONTENT_TYPE);
    let declared = declared.and_then(|value| value.to_str().ok());
    request.uri().path().ends_with("/import")
        && declared.is_some_and(|declared| is_media_type(declared, ARCHIVE_MEDIA_TYPE))
}

/// Returns true for JSON in UTF-8, which is its only encoding here.
fn is_json(content_type: &str) -> bool {
    let charset = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    });
    let is_utf8 = charset.is_none_or(|charset| charset.eq_ignore_ascii_case("utf-8"));
    is_utf8 && is_media_type(content_type, "application/json")
}

fn is_media_type(content_type: &str, expected: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(expected)
}

#[cfg(test)]
mod tests;
