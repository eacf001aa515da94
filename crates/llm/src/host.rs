//! Reads the host of a URL and classifies how near it is.
//!
//! What counts as this machine agrees with the settings that allow unencrypted connections: only names and addresses
//! that can mean nothing else.

use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Suffixes of names that are resolved only inside a private network.
const NEAR_NAMES: &[&str] = &[".local", ".internal", ".home.arpa"];

/// Distance of a host, which decides about proxies and about the class of a failed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// This machine, beyond doubt.
    Here,
    /// A private network. The host may be switched off while everything else is reachable.
    Near,
    /// Any other host.
    Far,
}

impl Place {
    /// Classifies the host of a URL.
    pub(crate) fn of(url: &Url) -> Self {
        let Some(host) = url.host_str() else {
            return Self::Far;
        };
        match host.trim_matches(['[', ']']).parse() {
            Ok(IpAddr::V4(address)) => of_v4(address),
            Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
                // Only the plain IPv4 form counts as this machine; a mapped loopback address counts as private.
                Some(inside) if of_v4(inside) == Self::Far => Self::Far,
                Some(_) => Self::Near,
                None => of_v6(address),
            },
            Err(_) if host == "localhost" => Self::Here,
            Err(_) if NEAR_NAMES.iter().any(|end| host.ends_with(end)) => Self::Near,
            Err(_) => Self::Far,
        }
    }
}

/// Returns the host of a URL in lower case; `None` if the text is not a URL.
pub(crate) fn of(address: &str) -> Option<String> {
    Url::parse(address).ok()?.host_str().map(str::to_owned)
}

const fn of_v4(address: Ipv4Addr) -> Place {
    if address.is_loopback() {
        Place::Here
    } else if address.is_private() || address.is_link_local() {
        Place::Near
    } else {
        Place::Far
    }
}

const fn of_v6(address: Ipv6Addr) -> Place {
    if address.is_loopback() {
        Place::Here
    } else if address.is_unique_local() || address.is_unicast_link_local() {
        Place::Near
    } else {
        Place::Far
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_the_own_network_and_the_rest_are_told_apart() {
        for (url, place) in [
            ("http://127.0.0.1:8000/v1", Place::Here),
            ("http://127.9.9.9", Place::Here),
            ("http://LOCALHOST:11434", Place::Here),
            ("http://[::1]:9", Place::Here),
            ("http://192.168.1.7:8000", Place::Near),
            ("http://10.0.0.1", Place::Near),
            ("http://172.31.0.1", Place::Near),
            ("http://169.254.3.4", Place::Near),
            ("http://[fd00::7]", Place::Near),
            ("http://[fe80::1]", Place::Near),
            ("http://[::ffff:192.168.1.7]", Place::Near),
            ("http://[::ffff:127.0.0.1]", Place::Near),
            ("http://nas.local:1234", Place::Near),
            ("http://0.0.0.0:9", Place::Far),
            ("http://[::]:9", Place::Far),
            ("http://models.localhost", Place::Far),
            ("http://localhost.example.com", Place::Far),
            ("http://172.32.0.1", Place::Far),
            ("http://[2001:db8::1]", Place::Far),
            ("https://api.example.com", Place::Far),
            ("https://local", Place::Far),
        ] {
            assert_eq!(Place::of(&Url::parse(url).unwrap()), place, "{url}");
        }
    }

    #[test]
    fn a_host_is_read_without_user_port_and_path() {
        assert_eq!(
            of("https://user@API.deepseek.com:443/v1").as_deref(),
            Some("api.deepseek.com")
        );
        assert_eq!(of(""), None);
        assert_eq!(of("api.openai.com/v1"), None);
    }
}
