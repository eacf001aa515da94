//! Sends one request within its bounds and follows its redirects.

use crate::address::is_public;
use crate::error::WebError;
use crate::resolve::{Lookup, NotPublic, PublicOnly, SystemLookup};
use holon_domain::limits::WEB_REDIRECTS;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, Url, redirect, retry};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const USER_AGENT: &str = concat!("holon/", env!("CARGO_PKG_VERSION"));
const CONNECT: Duration = Duration::from_secs(10);

/// Author of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An operator configured it. It is used as written, also if it is not public.
    Configured,
    /// A model or a document named it. It must be public.
    Foreign,
}

/// One request with its bounds.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub url: String,
    pub origin: Origin,
    pub headers: Vec<(String, String)>,
    /// Empty for a request without a body.
    pub body: Vec<u8>,
    /// Longest time until the whole answer is read, redirects included.
    pub timeout: Duration,
    /// Most bytes of the answer that are kept; the rest is dropped with the connection.
    pub max_bytes: usize,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// True if the answer was longer than the bytes that were kept.
    pub cut: bool,
    /// Address that answered, behind all redirects.
    pub url: String,
}

/// Sends requests. Clients are built when they are first needed.
pub struct WebClient {
    lookup: Arc<dyn Lookup>,
    /// For addresses that an operator configured.
    configured: OnceLock<Client>,
    /// For all other addresses. Names resolve to public addresses only, and no proxy stands between.
    guarded: OnceLock<Client>,
}

impl std::fmt::Debug for WebClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebClient").finish_non_exhaustive()
    }
}

impl Default for WebClient {
    fn default() -> Self {
        Self::with_lookup(Arc::new(SystemLookup))
    }
}

impl WebClient {
    fn with_lookup(lookup: Arc<dyn Lookup>) -> Self {
        Self {
            lookup,
            configured: OnceLock::new(),
            guarded: OnceLock::new(),
        }
    }

    /// Sends a request and reads its answer. A status of failure is an answer, not an error.
    ///
    /// # Errors
    /// No answer came within the bounds, or the guard forbids an address.
    pub async fn send(&self, request: &Request) -> Result<Response, WebError> {
        let sent = self.follow(request);
        match tokio::time::timeout(request.timeout, sent).await {
            Ok(answer) => answer,
            Err(_) => Err(WebError::TimedOut(request.timeout)),
        }
    }

    async fn follow(&self, request: &Request) -> Result<Response, WebError> {
        let mut url = parse(&request.url)?;
        let first = url.clone();
        let mut origin = request.origin;
        for _ in 0..=WEB_REDIRECTS {
            let same_site = url.origin() == first.origin();
            let answer = self.exchange(request, &url, origin, same_site).await?;
            let Some(next) = redirect_of(&answer, &url)? else {
                return Ok(read(answer, request.max_bytes).await);
            };
            let status = answer.status().as_u16();
            if !request.body.is_empty() && !matches!(status, 307 | 308) {
                let location = next.to_string();
                return Err(WebError::DropsBody { status, location });
            }
            url = next;
            origin = Origin::Foreign;
        }
        Err(WebError::TooManyRedirects(WEB_REDIRECTS))
    }

    /// Makes one exchange without following a redirect. Credentials go to the first site only.
    async fn exchange(
        &self,
        request: &Request,
        url: &Url,
        origin: Origin,
        same_site: bool,
    ) -> Result<reqwest::Response, WebError> {
        let client = match origin {
            Origin::Configured => get_or_build(&self.configured, base),
            Origin::Foreign => {
                check_literal(url)?;
                let resolver = || PublicOnly(Arc::clone(&self.lookup));
                get_or_build(&self.guarded, || base().no_proxy().dns_resolver(resolver()))
            }
        };
        let client = client.map_err(|error| WebError::Connection(cause(&error)))?;
        let headers = headers(request, same_site)?;
        let mut building = client.request(request.method.clone(), url.clone());
        building = building.headers(headers);
        if !request.body.is_empty() {
            building = building.body(request.body.clone());
        }
        building.send().await.map_err(|error| to_error(&error, url))
    }
}

fn base() -> ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .pool_max_idle_per_host(1)
        .pool_idle_timeout(Duration::from_secs(30))
}

fn get_or_build(
    place: &OnceLock<Client>,
    builder: impl FnOnce() -> ClientBuilder,
) -> Result<&Client, reqwest::Error> {
    if let Some(client) = place.get() {
        return Ok(client);
    }
    // The client uses the process-wide crypto provider; if another component has installed one, that one is used.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = builder().build()?;
    Ok(place.get_or_init(|| client))
}

fn parse(text: &str) -> Result<Url, WebError> {
    let refused = |reason: &str| WebError::Address {
        url: text.to_owned(),
        reason: reason.to_owned(),
    };
    let url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("only http and https are sent"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refused("it names no host"));
    }
    Ok(url)
}

/// Refuses an address without a name that is not public. Names are checked when they are resolved.
fn check_literal(url: &Url) -> Result<(), WebError> {
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    match literal.parse::<IpAddr>() {
        Ok(address) if !is_public(address) => Err(WebError::Forbidden {
            what: site(url),
            address: address.to_string(),
        }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the address without path and query, which may hold a secret.
fn site(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn redirect_of(answer: &reqwest::Response, from: &Url) -> Result<Option<Url>, WebError> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = answer.headers().get(header::LOCATION) else {
        return Ok(None);
    };
    let location = location.to_str().unwrap_or_default();
    let next = from.join(location).map_err(|error| WebError::Address {
        url: location.to_owned(),
        reason: error.to_string(),
    })?;
    parse(next.as_str()).map(Some)
}

fn headers(request: &Request, same_site: bool) -> Result<HeaderMap, WebError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        let invalid = |_: &dyn std::error::Error| WebError::Address {
            url: request.url.clone(),
            reason: format!("the header {name} has characters that cannot be sent"),
        };
        let name = HeaderName::try_from(name.as_str()).map_err(|error| invalid(&error))?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|error| invalid(&error))?;
        if name == header::AUTHORIZATION {
            if !same_site {
                continue;
            }
            value.set_sensitive(true);
        }
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Reads the answer up to a bound. A body that breaks off is cut there; the status has come.
async fn read(mut answer: reqwest::Response, max_bytes: usize) -> Response {
    let status = answer.status().as_u16();
    let (headers, url) = (answer.headers().clone(), answer.url().to_string());
    let (mut body, mut cut) = (Vec::new(), false);
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => {
                let room = max_bytes.saturating_sub(body.len());
                body.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
                if chunk.len() > room {
                    cut = true;
                    break;
                }
            }
            Ok(None) => break,
            Err(_) => {
                cut = true;
                break;
            }
        }
    }
    Response {
        status,
        headers,
        body,
        cut,
        url,
    }
}

fn to_error(error: &reqwest::Error, url: &Url) -> WebError {
    if let Some(refused) = find_not_public(error) {
        return WebError::Forbidden {
            what: site(url),
            address: refused.address.clone(),
        };
    }
    WebError::Connection(format!("{}: {}", site(url), cause(error)))
}

fn find_not_public<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a NotPublic> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref::<NotPublic>() {
            return Some(found);
        }
        current = error.source();
    }
    None
}

/// Returns the innermost cause, which says what went wrong. The outer ones repeat the address.
fn cause(error: &reqwest::Error) -> String {
    let mut current: &dyn std::error::Error = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}

#[cfg(test)]
mod tests;
