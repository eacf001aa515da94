//! Sends one request within its bounds and follows its redirects.

use crate::address::is_public;
use crate::error::WebError;
use crate::hosts::{HostRules, Reach};
use crate::proxy;
use crate::resolve::{Lookup, NotPublic, Resolver, SystemLookup};
use holon_domain::limits::WEB_URL_BYTES;
use holon_domain::proxy::ProxyVariables;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, Url, redirect, retry};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const USER_AGENT: &str = concat!("holon/", env!("CARGO_PKG_VERSION"));
const CONNECT: Duration = Duration::from_secs(10);
/// Most bytes of a redirect's target that an error shows.
const SHOWN_LOCATION_BYTES: usize = 400;

/// Headers that hold a credential. They go to the first site only.
const SECRET_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-subscription-token"];

/// Author of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An operator configured it. It is used as written, also if it is not public.
    Configured,
    /// A model or a document named it. It must be public, unless the rules of the request permit its host.
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
    /// Most redirects that are followed. One more fails the request.
    pub max_redirects: usize,
    /// Hosts that may be asked. They hold for every address that no operator configured.
    pub rules: HostRules,
}

/// Reason for which the body of an answer is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It was longer than the bytes that were kept, counted after decompression.
    Bytes,
    /// It did not end in time.
    Time,
    /// The connection broke off, or the compressed form was damaged.
    Broken,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// Absent if the body is complete.
    pub cut: Option<Cut>,
    /// Address that answered, behind all redirects.
    pub url: String,
}

/// Sends requests. Clients are built when they are first needed.
pub struct WebClient {
    lookup: Arc<dyn Lookup>,
    proxies: ProxyVariables,
    /// For addresses that an operator configured.
    configured: OnceLock<Client>,
    /// For all other addresses. Names resolve to public addresses only, apart from those of proxies.
    guarded: OnceLock<Client>,
    /// For hosts that the rules of a request permit although they may be private. No proxy stands between.
    permitted: OnceLock<Client>,
}

impl std::fmt::Debug for WebClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebClient").finish_non_exhaustive()
    }
}

impl Default for WebClient {
    fn default() -> Self {
        Self::new(ProxyVariables::default())
    }
}

impl WebClient {
    /// Sends requests through these proxies.
    #[must_use]
    pub fn new(proxies: ProxyVariables) -> Self {
        Self {
            proxies,
            ..Self::with_lookup(Arc::new(SystemLookup))
        }
    }

    fn with_lookup(lookup: Arc<dyn Lookup>) -> Self {
        Self {
            lookup,
            proxies: ProxyVariables::default(),
            configured: OnceLock::new(),
            guarded: OnceLock::new(),
            permitted: OnceLock::new(),
        }
    }

    /// Sends a request and reads its answer. A status of failure is an answer, not an error. If the time is up while the
    /// body is read, the part that has come is returned.
    ///
    /// # Errors
    /// No answer came within the bounds, or the guard forbids an address.
    pub async fn send(&self, request: &Request) -> Result<Response, WebError> {
        let mut answer = None;
        let sent = tokio::time::timeout(request.timeout, self.follow(request, &mut answer)).await;
        let in_time = match sent {
            Ok(followed) => followed.map(|()| true)?,
            Err(_) => false,
        };
        let mut response = answer.ok_or(WebError::TimedOut(request.timeout))?;
        if !in_time {
            response.cut = Some(Cut::Time);
        }
        Ok(response)
    }

    /// Follows redirects and reads the last answer into `kept`, which also holds what was read when this is dropped.
    async fn follow(&self, request: &Request, kept: &mut Option<Response>) -> Result<(), WebError> {
        let mut url = parse(&request.url)?;
        let first = url.clone();
        let mut origin = request.origin;
        for _ in 0..=request.max_redirects {
            let same_site = is_same_site(&first, &url);
            let answer = self.exchange(request, &url, origin, same_site).await?;
            let Some(next) = redirect_of(&answer, &url)? else {
                read(answer, request.max_bytes, kept).await;
                return Ok(());
            };
            let status = answer.status().as_u16();
            if !request.body.is_empty() && !matches!(status, 307 | 308) {
                let location = next.to_string();
                return Err(WebError::DropsBody { status, location });
            }
            // An endpoint that an operator configured stays that one while it redirects to itself. Behind another site,
            // every address is one that somebody else chose.
            if !is_same_site(&first, &next) {
                origin = Origin::Foreign;
            }
            url = next;
        }
        Err(WebError::TooManyRedirects(request.max_redirects))
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
            Origin::Configured => {
                get_or_build(&self.configured, || proxy::apply(base(), &self.proxies))
            }
            Origin::Foreign => match request.rules.check(url)? {
                Reach::PublicOnly => {
                    check_literal(url)?;
                    self.check_name(url).await?;
                    let lookup = Arc::clone(&self.lookup);
                    let resolver = Resolver::public_only(lookup, proxy::hosts(&self.proxies));
                    get_or_build(&self.guarded, || {
                        proxy::apply(base().dns_resolver(resolver), &self.proxies)
                    })
                }
                Reach::Any => {
                    let resolver = Resolver::any(Arc::clone(&self.lookup));
                    get_or_build(&self.permitted, || {
                        Ok(base().no_proxy().dns_resolver(resolver))
                    })
                }
            },
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

    /// Refuses a name if a proxy may look it up instead of this host, unless all its addresses are known here and
    /// public: the proxy connects to whichever it likes.
    async fn check_name(&self, url: &Url) -> Result<(), WebError> {
        let Some(name) = url.domain().filter(|_| self.proxies.is_set()) else {
            return Ok(());
        };
        let unknown = |reason: &str| {
            WebError::Connection(format!(
                "{}: the host cannot look the name up, so it is not left to the proxy: {reason}",
                site(url)
            ))
        };
        let found = self.lookup.lookup(name.to_owned()).await;
        let found = found.map_err(|error| unknown(&error.to_string()))?;
        if found.is_empty() {
            return Err(unknown("it has no address"));
        }
        match found.iter().find(|address| !is_public(**address)) {
            None => Ok(()),
            Some(private) => Err(WebError::Forbidden {
                what: site(url),
                address: private.to_string(),
            }),
        }
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
    builder: impl FnOnce() -> Result<ClientBuilder, reqwest::Error>,
) -> Result<&Client, reqwest::Error> {
    if let Some(client) = place.get() {
        return Ok(client);
    }
    // The client uses the process-wide crypto provider; if another component has installed one, that one is used.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = builder()?.build()?;
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

/// Returns true if an address belongs to the first site: to its origin, or to its host after a change from http to https.
fn is_same_site(first: &Url, url: &Url) -> bool {
    let is_upgrade = first.scheme() == "http" && url.scheme() == "https";
    url.origin() == first.origin() || (is_upgrade && url.host() == first.host())
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
    let status = answer.status().as_u16();
    let location = String::from_utf8_lossy(location.as_bytes());
    let refused = |reason: String| WebError::BadRedirect {
        status,
        location: holon_domain::text::preview(&location, SHOWN_LOCATION_BYTES),
        reason,
    };
    let next = from.join(&location);
    let next = next.map_err(|error| refused(error.to_string()))?;
    if next.as_str().len() > WEB_URL_BYTES {
        return Err(refused(format!("it has more than {WEB_URL_BYTES} bytes")));
    }
    match parse(next.as_str()) {
        Ok(next) => Ok(Some(next)),
        Err(WebError::Address { reason, .. }) => Err(refused(reason)),
        Err(other) => Err(other),
    }
}

fn headers(request: &Request, same_site: bool) -> Result<HeaderMap, WebError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        let invalid = |_: &dyn std::error::Error| WebError::Header { name: name.clone() };
        let key = HeaderName::try_from(name.as_str()).map_err(|error| invalid(&error))?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|error| invalid(&error))?;
        if SECRET_HEADERS.contains(&key.as_str()) {
            if !same_site {
                continue;
            }
            value.set_sensitive(true);
        }
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Reads the answer up to a bound. A body that breaks off is cut there; the status has come.
async fn read(mut answer: reqwest::Response, max_bytes: usize, kept: &mut Option<Response>) {
    let response = kept.insert(Response {
        status: answer.status().as_u16(),
        headers: answer.headers().clone(),
        url: answer.url().to_string(),
        body: Vec::new(),
        cut: None,
    });
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => {
                let room = max_bytes.saturating_sub(response.body.len());
                let taken = chunk.get(..room.min(chunk.len())).unwrap_or_default();
                response.body.extend_from_slice(taken);
                if chunk.len() > room {
                    response.cut = Some(Cut::Bytes);
                    return;
                }
            }
            Ok(None) => return,
            Err(_) => {
                response.cut = Some(Cut::Broken);
                return;
            }
        }
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
mod hostile;
#[cfg(test)]
mod tests;
