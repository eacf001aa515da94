//! The gate at the router's root: every request passes it, and it denies by default.
//!
//! It looks at the head of a request only. What it guards against: other users, browsers and networks.
//! What it does not: commands an agent runs as the same user.

use crate::hosts::AllowedHosts;
use crate::refusal::{Refusal, RequestFault};
use crate::state::Transport;
use crate::token::Token;
use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::sync::Arc;

/// What strangers may ask. Everything else needs the token or the socket.
pub const PUBLIC: [&str; 2] = ["/healthz", "/handshake"];

/// Who is asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Nobody knows; gets the public routes only.
    Stranger,
    /// The holder of the token, or the same user on this machine.
    Known,
}

/// Whether a request carries a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    /// It does not.
    Empty,
    /// It does, or may.
    Present,
}

/// The rules of one listener.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) transport: Transport,
    pub(crate) token: Token,
    pub(crate) hosts: AllowedHosts,
}

impl Gate {
    /// Lets a request pass as somebody, or says why not.
    pub(crate) fn judge(&self, request: &Request) -> Result<Caller, Refusal> {
        let headers = request.headers();
        let caller = match self.transport {
            Transport::Unix => {
                refuse_origin(headers)?;
                Caller::Known
            }
            Transport::Tcp => {
                self.check_host(request)?;
                refuse_origin(headers)?;
                self.recognise(headers)
            }
        };
        if caller == Caller::Stranger && !PUBLIC.contains(&request.uri().path()) {
            return Err(RequestFault::UNAUTHORIZED.refuse("this needs the control token"));
        }
        check_content_type(request.method(), headers, payload_of(request))?;
        Ok(caller)
    }

    fn check_host(&self, request: &Request) -> Result<(), Refusal> {
        let named = single(request.headers(), &HOST).and_then(|value| value.to_str().ok());
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

    fn recognise(&self, headers: &HeaderMap) -> Caller {
        let offered = single(headers, &AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
        match offered {
            Some(secret) if self.token.matches(secret) => Caller::Known,
            Some(_) | None => Caller::Stranger,
        }
    }
}

/// The middleware: what passes carries its [`Caller`].
pub(crate) async fn guard(
    State(gate): State<Arc<Gate>>,
    mut request: Request,
    next: Next,
) -> Response {
    match gate.judge(&request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// A header that must not be ambiguous: the value if there is exactly one.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a axum::http::HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, secret) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(secret)
}

/// Only browsers send `Origin`, and no browser has business here.
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

/// A form or plain text is what a page can post without asking first; only JSON is taken.
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
        (Some(_), Payload::Empty | Payload::Present) => single(headers, &CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(is_json),
    };
    if acceptable {
        return Ok(());
    }
    Err(RequestFault::MEDIA_TYPE.refuse("the body must be JSON"))
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests;
