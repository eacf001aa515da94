//! Host names that a request may be addressed to.
//!
//! This prevents DNS rebinding: a web page can point its own name at this machine, but it cannot make the browser send
//! a name that is on this list.

use std::net::{IpAddr, SocketAddr};

/// Loopback, the bound address, and the names that the operator advertises.
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// Creates the list for a bound address and advertised hosts, which may carry a port.
    pub(crate) fn new(bound: Option<SocketAddr>, advertised: &[String]) -> Self {
        let bound = bound
            .map(|addr| addr.ip())
            .filter(|ip| !ip.is_unspecified())
            .map(|ip| ip.to_canonical().to_string());
        let advertised = advertised.iter().filter_map(|host| name_of(host));
        Self(bound.into_iter().chain(advertised).collect())
    }

    /// Returns true if a request may name this host, given as in a `Host` header or a request target.
    pub(crate) fn allow(&self, authority: &str) -> bool {
        name_of(authority).is_some_and(|name| is_loopback(&name) || self.0.contains(&name))
    }
}

/// Extracts and normalises the host of an authority; `None` if it is malformed.
fn name_of(authority: &str) -> Option<String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            let address: std::net::Ipv6Addr = address.parse().ok()?;
            (
                IpAddr::V6(address).to_canonical().to_string(),
                after
                    .strip_prefix(':')
                    .or(if after.is_empty() { Some("0") } else { None })?,
            )
        }
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, "0"));
            (host.to_ascii_lowercase(), port)
        }
    };
    let well_formed = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-:_".contains(&byte));
    (well_formed && port.parse::<u16>().is_ok()).then_some(host)
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(bound: &str, advertised: &[&str]) -> AllowedHosts {
        let advertised: Vec<String> = advertised.iter().map(|host| (*host).to_owned()).collect();
        AllowedHosts::new(Some(bound.parse().unwrap()), &advertised)
    }

    #[test]
    fn loopback_is_always_allowed_in_every_spelling() {
        let hosts = hosts("127.0.0.1:7878", &[]);
        for host in [
            "localhost",
            "LocalHost:7878",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.8.9.1",
            "[::1]",
            "[::1]:7878",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(hosts.allow(host), "{host}");
        }
    }

    #[test]
    fn foreign_and_malformed_hosts_are_not() {
        let hosts = hosts("127.0.0.1:7878", &[]);
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "0.0.0.0",
            "0.0.0.0:7878",
            "[::]",
            "192.168.1.5",
            "localhost:",
            "localhost:99999",
            "localhost:80:80",
            "user@localhost",
            "localhost/",
            "[::1",
            "::1",
            "[::1]x",
            "[localhost]",
        ] {
            assert!(!hosts.allow(host), "{host}");
        }
    }

    #[test]
    fn the_bound_address_and_what_is_advertised_are_allowed() {
        let hosts = hosts(
            "192.168.1.5:7878",
            &["Box.tailnet.example:443", "not a host"],
        );
        assert!(hosts.allow("192.168.1.5:7878"));
        assert!(hosts.allow("box.tailnet.example"));
        assert!(!hosts.allow("not a host"));
        assert!(!hosts.allow("192.168.1.6"));
    }

    #[test]
    fn binding_everything_allows_no_name_by_itself() {
        let hosts = hosts("0.0.0.0:7878", &[]);
        assert!(!hosts.allow("0.0.0.0:7878"));
        assert!(!hosts.allow("192.168.1.5"));
    }
}
