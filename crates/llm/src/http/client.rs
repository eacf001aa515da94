//! HTTP clients: one that may use a proxy, and those for this machine, which never do.
//!
//! Each client is built when it is first needed, so a host that calls no provider loads no certificates, and plain HTTP
//! to a local server needs none. Redirects are not followed and nothing is sent twice: the caller decides about retries
//! and counts them.

use super::HttpLimits;
use super::names::{Lookup, TimedLookup};
use crate::host::Proximity;
use holon_domain::limits::{PROVIDER_IDLE_CONNECTIONS, PROVIDER_KEEP_ALIVE_MS};
use reqwest::{Client, ClientBuilder, Url, redirect, retry};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Sent to every provider alike.
const USER_AGENT: &str = concat!("holon/", env!("CARGO_PKG_VERSION"));

/// The clients and their connection pools.
#[derive(Debug)]
pub(super) struct Clients {
    connect: Duration,
    names: TimedLookup,
    proxied: OnceLock<Client>,
    local: OnceLock<Client>,
    local_plain: OnceLock<Client>,
}

impl Clients {
    pub(super) fn new(limits: &HttpLimits, lookup: Arc<dyn Lookup>) -> Self {
        // The connect and first-byte limits run during a lookup; the lookup's limit must be the first to expire.
        let limit = limits.lookup.min(limits.connect / 2);
        Self {
            connect: limits.connect,
            names: TimedLookup {
                lookup,
                limit: limit.min(limits.first_byte / 2),
            },
            proxied: OnceLock::new(),
            local: OnceLock::new(),
            local_plain: OnceLock::new(),
        }
    }

    /// Returns the client for a URL.
    pub(super) fn for_url(&self, url: &Url) -> Result<&Client, reqwest::Error> {
        let base = || base(self.connect, &self.names);
        match (Proximity::of(url), url.scheme()) {
            (Proximity::Loopback, "http") => {
                get_or_build(&self.local_plain, || base().no_proxy().tls_certs_only([]))
            }
            (Proximity::Loopback, _) => get_or_build(&self.local, || base().no_proxy()),
            (Proximity::Private | Proximity::Public, _) => get_or_build(&self.proxied, base),
        }
    }

    /// Disables the proxy, so that a test's own lookup is used regardless of the environment.
    #[cfg(test)]
    pub(super) fn direct(self) -> Result<Self, reqwest::Error> {
        get_or_build(&self.proxied, || {
            base(self.connect, &self.names)
                .no_proxy()
                .tls_certs_only([])
        })?;
        Ok(self)
    }
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

fn base(connect: Duration, names: &TimedLookup) -> ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(connect)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .pool_max_idle_per_host(PROVIDER_IDLE_CONNECTIONS)
        .pool_idle_timeout(Duration::from_millis(PROVIDER_KEEP_ALIVE_MS))
        .dns_resolver(names.clone())
}
