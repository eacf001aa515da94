//! The address of a provider: what may be written, and whether it is on this machine.
//!
//! Only what every URL parser understands in the same way is let through, so that what was judged here is what is
//! connected to later.

use std::net::{Ipv4Addr, Ipv6Addr};

const LONGEST: usize = 2_048;

/// An address that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    /// Without a slash at the end.
    pub(crate) text: String,
    /// True if it can only mean this machine.
    pub(crate) loopback: bool,
    /// The host what is sent goes to in the clear over a network, if it does.
    pub(crate) in_the_clear: Option<String>,
}

/// Judges an address.
///
/// # Errors
/// What is wrong with it and what would be right. The address is repeated only where it cannot hold a password.
pub(crate) fn judge(text: &str) -> Result<BaseUrl, String> {
    let (tls, rest) = match text.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        Some(_) | None => {
            return Err(
                "an address begins with https://, or with http:// on this machine or where no credential is asked for".to_owned(),
            );
        }
    };
    if rest.contains('@') {
        return Err("an address holds no user name or password; store the credential with `holon config credentials set` and write the address without it".to_owned());
    }
    if rest.contains(['?', '#']) {
        return Err(
            "an address ends with its path; leave out what begins with '?' or '#'".to_owned(),
        );
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    if !rest.chars().all(plain) || text.len() > LONGEST {
        return Err(format!(
            "{text:?} is not an address; write it as https://host/path"
        ));
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let host = host(authority)
        .ok_or_else(|| format!("{text:?} names no host; write it as https://host/path"))?;
    let loopback = is_loopback(host);
    Ok(BaseUrl {
        text: text.trim_end_matches('/').to_owned(),
        loopback,
        in_the_clear: (!tls && !loopback).then(|| host.to_owned()),
    })
}

/// Judges the address under which clients reach this host, and returns it with the host it names.
///
/// # Errors
/// What is wrong with it and what would be right.
pub(crate) fn judge_advertised(text: &str) -> Result<(String, String), String> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return Err(
            "the URL begins with http://, or with https:// if a proxy in front of the host has TLS, such as http://192.168.1.5:7878"
                .to_owned(),
        );
    }
    if text.contains('@') {
        return Err(
            "the URL holds no user name or password; clients send the token instead".to_owned(),
        );
    }
    let judged = judge(text)?;
    let rest = judged.text.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let named = host(authority).unwrap_or_default().to_owned();
    if is_unspecified(&named) {
        return Err(format!(
            "{named} is an address to listen on, and no client can connect to it; name the address or host that clients use"
        ));
    }
    Ok((judged.text, named))
}

/// Judges a host name or IP address that clients use, and returns it without brackets.
///
/// # Errors
/// What is wrong with it and what would be right.
pub(crate) fn judge_host(text: &str) -> Result<String, String> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<Ipv6Addr>().is_err() && (host(text) != Some(text) || text.is_empty()) {
        return Err(format!(
            "{text:?} is not a host; write a name or an IP address, without a port"
        ));
    }
    if is_unspecified(bare) {
        return Err(format!(
            "{bare} is an address to listen on, and no client can connect to it; name the address or host that clients use"
        ));
    }
    Ok(bare.to_owned())
}

fn is_unspecified(host: &str) -> bool {
    host.parse::<std::net::IpAddr>()
        .is_ok_and(|address| address.is_unspecified())
}

/// Judges the address of a host of repositories: as that of a provider, or a directory on this machine.
///
/// # Errors
/// What is wrong with it and what would be right.
pub(crate) fn judge_mirror(text: &str) -> Result<String, String> {
    if let Some(path) = text.strip_prefix("file://") {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        if path.starts_with('/') && path.chars().all(plain) && text.len() <= LONGEST {
            return Ok(text.trim_end_matches('/').to_owned());
        }
        return Err(format!(
            "{text:?} is not a directory; write it as file:///srv/mirror"
        ));
    }
    let judged = judge(text)?;
    match judged.in_the_clear {
        Some(host) => Err(format!(
            "what is fetched from {host} could be changed on its way; write it as https://{host}"
        )),
        None => Ok(judged.text),
    }
}

/// The host of `host`, `host:port`, `[v6]` or `[v6]:port`.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        inside.parse::<Ipv6Addr>().ok()?;
        (
            inside,
            after
                .strip_prefix(':')
                .or_else(|| after.is_empty().then_some(""))?,
        )
    } else {
        let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        (host.chars().all(name).then_some(host)?, port)
    };
    let has_port = authority.ends_with(':') || !port.is_empty();
    let port_fits = !has_port || port.parse::<u16>().is_ok_and(|port| port != 0);
    (!host.is_empty() && port_fits).then_some(host)
}

/// Returns true if a host can only mean this machine.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
        || host
            .parse::<Ipv6Addr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_taken_and_whether_they_are_on_this_machine() {
        for (text, kept, loopback) in [
            (
                "https://api.openai.com/v1",
                "https://api.openai.com/v1",
                false,
            ),
            ("https://host.example/", "https://host.example", false),
            (
                "https://10.0.0.1:8443/v1//",
                "https://10.0.0.1:8443/v1",
                false,
            ),
            ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", true),
            ("http://127.9.9.9", "http://127.9.9.9", true),
            ("http://LOCALHOST:4000", "http://LOCALHOST:4000", true),
            ("http://[::1]:8080/v1", "http://[::1]:8080/v1", true),
            ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x", false),
        ] {
            let expected = BaseUrl {
                text: kept.to_owned(),
                loopback,
                in_the_clear: None,
            };
            assert_eq!(judge(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn addresses_where_a_credential_would_be_seen_on_the_way() {
        for (text, host) in [
            ("http://example.com/v1", "example.com"),
            ("http://127.0.0.1.example.com", "127.0.0.1.example.com"),
            ("http://127.1", "127.1"),
            ("http://localhost.example.com", "localhost.example.com"),
            ("http://[::ffff:10.0.0.1]", "::ffff:10.0.0.1"),
            ("http://ollama:11434/v1", "ollama"),
        ] {
            let url = judge(text).expect(text);
            assert_eq!(url.in_the_clear.as_deref(), Some(host), "{text}");
            assert!(!url.loopback, "{text}");
        }
    }

    #[test]
    fn addresses_that_are_refused_and_what_is_said() {
        for (text, said) in [
            ("", "begins with https://"),
            ("api.openai.com", "begins with https://"),
            ("ftp://x", "begins with https://"),
            ("HTTPS://x", "begins with https://"),
            ("https://", "names no host"),
            ("https:///v1", "names no host"),
            ("https://:80", "names no host"),
            ("https://x:", "names no host"),
            ("https://x:0", "names no host"),
            ("https://x:99999", "names no host"),
            ("https://x:8:9", "names no host"),
            ("https://[::1", "names no host"),
            ("https://[nine]/", "names no host"),
            ("https://[::1]x", "names no host"),
            ("https://me:pw@host/v1", "no user name or password"),
            (
                "https://host/v1?key=sk-secret",
                "leave out what begins with '?'",
            ),
            ("https://host/v1#x", "leave out what begins with '?'"),
            ("https://host\\evil", "is not an address"),
            ("https://ho st", "is not an address"),
            ("https://höst", "is not an address"),
        ] {
            let problem = judge(text).expect_err(text);
            assert!(problem.contains(said), "{text}: {problem}");
            assert!(
                !problem.contains("sk-secret") && !problem.contains("pw"),
                "{problem}"
            );
        }
    }

    #[test]
    fn a_mirror_is_on_this_machine_or_reached_safely() {
        for (text, kept) in [
            ("https://github.example.com/", "https://github.example.com"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("file:///srv/mirror/", "file:///srv/mirror"),
        ] {
            assert_eq!(judge_mirror(text).as_deref(), Ok(kept));
        }
        for text in [
            "http://github.example.com",
            "file://host/share",
            "file:///srv/%2e%2e",
            "ssh://github.com",
            "ext::sh",
            "-x",
            "",
        ] {
            assert!(judge_mirror(text).is_err(), "{text}");
        }
    }
}
