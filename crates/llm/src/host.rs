//! Reads the host of a URL and classifies how near it is.
//!
//! What counts as this machine agrees with the settings that allow unencrypted connections: only names and addresses
//! that can mean nothing else.

use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Suffixes of names that are resolved only inside a private network.
const PRIVATE_SUFFIXES: &[&str] = &[".local", ".internal", ".home.arpa"];

/// Distance of a host, which decides about proxies and about the class of a failed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proximity {
    /// This machine, beyond doubt.
    Loopback,
    /// A private network. The host may be switched off while everything else is reachable.
    Private,
    Public,
}

impl Proximity {
    /// Classifies the host of a URL.
    pub(crate) fn of(url: &Url) -> Self {
        let Some(host) = url.host_str() else {
            return Self::Public;
        };
        match host.trim_matches(['[', ']']).parse() {
            Ok(IpAddr::V4(address)) => of_v4(address),
            Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
                // Only the plain IPv4 form counts as this machine; a mapped loopback address counts as private.
                Some(inside) if of_v4(inside) == Self::Public => Self::Public,
                Some(_) => Self::Private,
                None => of_v6(address),
            },
            Err(_) if host == "localhost" => Self::Loopback,
            Err(_) if PRIVATE_SUFFIXES.iter().any(|end| host.ends_with(end)) => Self::Private,
            // A name without a dot is known to the own network only: a container, a machine in the house.
            Err(_) if !host.contains('.') => Self::Private,
            Err(_) => Self::Public,
        }
    }
}

/// Returns the host of a URL in lower case; `None` if the text is not a URL.
pub(crate) fn host_of(address: &str) -> Option<String> {
    Url::parse(address).ok()?.host_str().map(str::to_owned)
}

const fn of_v4(address: Ipv4Addr) -> Proximity {
    if address.is_loopback() {
        Proximity::Loopback
    } else if address.is_private() || address.is_link_local() {
        Proximity::Private
    } else {
        Proximity::Public
    }
}

const fn of_v6(address: Ipv6Addr) -> Proximity {
    if address.is_loopback() {
        Proximity::Loopback
    } else if address.is_unique_local() || address.is_unicast_link_local() {
        Proximity::Private
    } else {
        Proximity::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_the_own_network_and_the_rest_are_told_apart() {
        for (url, proximity) in [
            ("http://127.0.0.1:8000/v1", Proximity::Loopback),
            ("http://127.9.9.9", Proximity::Loopback),
            ("http://LOCALHOST:11434", Proximity::Loopback),
            ("http://[::1]:9", Proximity::Loopback),
            ("http://192.168.1.7:8000", Proximity::Private),
            ("http://10.0.0.1", Proximity::Private),
            ("http://172.31.0.1", Proximity::Private),
            ("http://169.254.3.4", Proximity::Private),
            ("http://[fd00::7]", Proximity::Private),
            ("http://[fe80::1]", Proximity::Private),
            ("http://[::ffff:192.168.1.7]", Proximity::Private),
            ("http://[::ffff:127.0.0.1]", Proximity::Private),
            ("http://nas.local:1234", Proximity::Private),
            ("http://0.0.0.0:9", Proximity::Public),
            ("http://[::]:9", Proximity::Public),
            ("http://models.localhost", Proximity::Public),
            ("http://localhost.example.com", Proximity::Public),
            ("http://172.32.0.1", Proximity::Public),
            ("http://[2001:db8::1]", Proximity::Public),
            ("https://api.example.com", Proximity::Public),
            ("http://ollama:11434", Proximity::Private),
        ] {
            assert_eq!(Proximity::of(&Url::parse(url).unwrap()), proximity, "{url}");
        }
    }

    #[test]
    fn a_host_is_read_without_user_port_and_path() {
        assert_eq!(
            host_of("https://user@API.deepseek.com:443/v1").as_deref(),
            Some("api.deepseek.com")
        );
        assert_eq!(host_of(""), None);
        assert_eq!(host_of("api.openai.com/v1"), None);
    }
}
