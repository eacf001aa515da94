//! Rules about hosts: those that are fetched at all, those that are not, and those that may be private.

use crate::error::WebError;
use reqwest::Url;

/// Rules that hold for the first address and for every redirect. The default permits every public host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    /// If there are any, only these hosts may be asked.
    pub only: Vec<String>,
    /// Hosts that are never asked. They win over the other lists.
    pub denied: Vec<String>,
    /// Hosts that may be asked although their addresses are not public.
    pub private: Vec<String>,
}

/// Addresses that a host may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    PublicOnly,
    Any,
}

impl HostRules {
    /// Decides about one address.
    pub(crate) fn check(&self, url: &Url) -> Result<Reach, WebError> {
        let is_in = |list: &[String]| list.iter().any(|entry| covers(entry, url));
        let refused = |reason: &str| {
            Err(WebError::HostDenied {
                host: url.host_str().unwrap_or_default().to_owned(),
                reason: reason.to_owned(),
            })
        };
        if is_in(&self.denied) {
            return refused("the settings deny it");
        }
        let is_private = is_in(&self.private);
        if !self.only.is_empty() && !is_private && !is_in(&self.only) {
            return refused("it is not among the hosts that the settings allow");
        }
        Ok(if is_private {
            Reach::Any
        } else {
            Reach::PublicOnly
        })
    }
}

/// Returns true if an entry stands for the host of an address: the host itself, or a name above it. An entry with a port
/// stands for that port only.
fn covers(entry: &str, url: &Url) -> bool {
    let entry = entry.trim().to_ascii_lowercase();
    let (name, port) = split_port(&entry);
    if port.is_some_and(|port| url.port_or_known_default() != Some(port)) {
        return false;
    }
    let host = bare(url.host_str().unwrap_or_default());
    let name = bare(name);
    if name.is_empty() {
        return false;
    }
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    host == name
        || !is_address
            && host
                .strip_suffix(name)
                .is_some_and(|above| above.ends_with('.'))
}

/// Splits `host:port`. An IPv6 address needs brackets to have a port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        Some((name, port)) if name.ends_with(']') || !name.contains(':') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        Some(_) | None => (entry, None),
    }
}

/// Removes the brackets of an IPv6 address and the dot at the end of a full name.
fn bare(host: &str) -> &str {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect("an address")
    }

    #[test]
    fn an_entry_stands_for_its_host_the_names_below_it_and_its_port() {
        for (entry, address, expected) in [
            ("example.com", "https://example.com/a", true),
            ("Example.COM", "https://www.example.com", true),
            ("example.com", "https://example.com./", true),
            ("example.com", "https://notexample.com", false),
            ("example.com", "https://example.com.evil.org", false),
            ("com", "https://example.com", true),
            ("", "https://example.com", false),
            ("127.0.0.1", "http://127.0.0.1:9/", true),
            ("127.0.0.1:9", "http://127.0.0.1:9/", true),
            ("127.0.0.1:9", "http://127.0.0.1:8/", false),
            ("0.0.1", "http://127.0.0.1/", false),
            ("127.0.0.1", "http://2130706433/", true),
            ("[::1]:80", "http://[::1]/", true),
            ("::1", "http://[::1]:7/", true),
            ("localhost:443", "https://localhost/", true),
        ] {
            assert_eq!(covers(entry, &url(address)), expected, "{entry} {address}");
        }
    }

    #[test]
    fn denied_wins_over_private_and_private_is_allowed_without_the_list_of_allowed_hosts() {
        let list = |entries: &[&str]| entries.iter().map(|&entry| entry.to_owned()).collect();
        let rules = HostRules {
            only: list(&["docs.rs"]),
            denied: list(&["secret.wiki.lan"]),
            private: list(&["wiki.lan"]),
        };
        let check = |text: &str| rules.check(&url(text)).ok();
        assert_eq!(check("https://docs.rs/x"), Some(Reach::PublicOnly));
        assert_eq!(check("http://wiki.lan/"), Some(Reach::Any));
        assert_eq!(check("http://secret.wiki.lan/"), None);
        assert_eq!(check("https://example.com/"), None);
        let open = HostRules::default();
        assert_eq!(
            open.check(&url("https://example.com/")).ok(),
            Some(Reach::PublicOnly)
        );
    }
}
