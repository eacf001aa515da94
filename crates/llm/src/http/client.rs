//! The HTTP clients: one that may go through a proxy, and those for this machine, which never do.
//!
//! Each is built when first needed, so a host that speaks to no provider loads no certificates, and one that speaks
//! only to a server of its own without encryption needs none. No redirect is followed and nothing is sent twice: another try is the caller's decision, and it is counted.

use super::HttpLimits;
use holon_domain::limits::{PROVIDER_IDLE_CONNECTIONS, PROVIDER_KEEP_ALIVE_MS};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, Url, redirect, retry};
use std::sync::OnceLock;
use std::time::Duration;

/// How we call ourselves, to everyone alike.
const USER_AGENT: &str = concat!("holon/", env!("CARGO_PKG_VERSION"));

/// The clients and their connections.
#[derive(Debug)]
pub(super) struct Clients {
    connect: Duration,
    proxied: OnceLock<Client>,
    local: OnceLock<Client>,
    local_plain: OnceLock<Client>,
}

impl Clients {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        Self {
            connect: limits.connect,
            proxied: OnceLock::new(),
            local: OnceLock::new(),
            local_plain: OnceLock::new(),
        }
    }

    /// The client for an address.
    pub(super) fn of(&self, url: &Url) -> Result<&Client, reqwest::Error> {
        let base = || base(self.connect);
        match (is_loopback(url), url.scheme()) {
            (true, "http") => built(&self.local_plain, || base().no_proxy().tls_certs_only([])),
            (true, _) => built(&self.local, || base().no_proxy()),
            (false, _) => built(&self.proxied, base),
        }
    }
}

fn built(
    place: &OnceLock<Client>,
    builder: impl FnOnce() -> ClientBuilder,
) -> Result<&Client, reqwest::Error> {
    if let Some(client) = place.get() {
        return Ok(client);
    }
    // The client looks for its cryptography in the process; whoever came first chose it, and that is as well.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = builder().build()?;
    Ok(place.get_or_init(|| client))
}

fn base(connect: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(connect)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .pool_max_idle_per_host(PROVIDER_IDLE_CONNECTIONS)
        .pool_idle_timeout(Duration::from_millis(PROVIDER_KEEP_ALIVE_MS))
        .dns_resolver(Names)
}

/// Whether an address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
    match host.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// The system's name service, with an error of its own, so that a name nobody knows can be told from a host that
/// does not answer.
#[derive(Debug)]
struct Names;

/// A host's name could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("the name {name:?} could not be looked up")]
pub(super) struct NameFailure {
    pub(super) name: String,
    pub(super) source: std::io::Error,
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let name = name.as_str();
            match tokio::net::lookup_host((name, 0)).await {
                Ok(found) => Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs),
                Err(source) => Err(NameFailure {
                    name: name.to_owned(),
                    source,
                }
                .into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_from_every_other_address() {
        for (url, local) in [
            ("http://127.0.0.1:8000/v1", true),
            ("http://127.9.9.9", true),
            ("http://localhost:11434", true),
            ("http://LOCALHOST.:1", true),
            ("http://models.localhost", true),
            ("http://[::1]:9", true),
            ("http://0.0.0.0:9", true),
            ("https://api.example.com", false),
            ("http://localhost.example.com", false),
            ("http://192.168.1.1", false),
            ("http://[2001:db8::1]", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), local, "{url}");
        }
    }
}
