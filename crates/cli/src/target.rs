//! Names the host that a command talks to: that of a home on this machine, or one at a URL.
//!
//! A host at a URL is the only one that is asked. Nothing of a home on this machine is read for it: not its socket, not
//! its token and not its settings.

use crate::exit::{Exit, Failure};
use crate::host_plan;
use crate::output::Output;
use crate::path;
use holon_client::Client;
use holon_config::Token;
use std::path::{Path, PathBuf};

/// Port of a URL that names none.
const HTTP_PORT: u16 = 80;

/// Next step of a client without a usable token. A token that it made itself would open nothing.
const COPY_TOKEN: &str = "copy the token of that host into it, with mode 600: its run/control.token, the file it was started with, or one of holon token create";

/// The host that a command talks to.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// The host of a home; of the default home if none is named.
    Home(Option<PathBuf>),
    /// The host at a URL.
    Remote(RemoteHost),
}

/// A host at a URL, and the client that talks to it.
#[derive(Debug, Clone)]
pub(crate) struct RemoteHost {
    /// URL as it was given, for messages.
    pub(crate) url: String,
    pub(crate) client: Client,
}

impl Target {
    /// Judges the options that name a host. Nothing is connected yet.
    pub(crate) fn of(
        home: Option<PathBuf>,
        connect: Option<String>,
        token_file: Option<&Path>,
        output: &Output,
    ) -> Result<Self, Failure> {
        let Some(url) = connect else {
            return match token_file {
                None => Ok(Self::Home(home)),
                Some(_) => Err(Failure::usage("--token-file goes with --connect URL")
                    .hint("the host of this machine is asked over its socket, without a token")),
            };
        };
        if home.is_some() {
            return Err(Failure::usage(
                "--home and --connect name two hosts; leave out one of them",
            ));
        }
        let address = address_of(&url).map_err(Failure::usage)?;
        let Some(file) = token_file else {
            return Err(Failure::usage("--connect needs --token-file FILE").hint(
                "the file holds a token of that host: its run/control.token, or one of holon token create",
            ));
        };
        let token = read_token(file, output)?;
        let client = Client::tcp(address, token.expose())?;
        Ok(Self::Remote(RemoteHost { url, client }))
    }

    /// Makes a path absolute for the host. A relative path is meant on this machine, so it names nothing on another.
    pub(crate) fn absolute(&self, flag: &str, path: &Path) -> Result<String, Failure> {
        if matches!(self, Self::Remote(_)) && !path.is_absolute() {
            return Err(Failure::usage(format!(
                "{flag} {} is relative to a directory of this machine; name a path of the host",
                path.display()
            )));
        }
        path::absolute(flag, path)
    }
}

fn read_token(file: &Path, output: &Output) -> Result<Token, Failure> {
    host_plan::read_token(None, Some(file), COPY_TOKEN, output)?
        .ok_or_else(|| Failure::new(Exit::Failed, "token_unusable", "there is no token"))
}

/// Returns `HOST:PORT` of a URL.
///
/// # Errors
/// What is wrong with the URL and what would be right. The URL is not repeated: it may hold a password.
fn address_of(url: &str) -> Result<String, String> {
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
            return Err(
                "--connect: a host speaks http, not https; use http:// through a tunnel, such as that of ssh -L"
                    .to_owned(),
            );
        }
        Some(_) | None => {
            return Err("--connect takes a URL such as http://192.168.1.5:7878".to_owned());
        }
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if authority.is_empty() || !authority.chars().all(plain) {
        return Err(
            "--connect takes a host and a port, such as http://192.168.1.5:7878, without user, path or query"
                .to_owned(),
        );
    }
    let port = match authority.rsplit_once(':') {
        // The last colon of an address in brackets without a port is inside them.
        Some((host, port)) if !port.ends_with(']') => {
            let is_bare = host.contains(':') && !host.ends_with(']');
            if host.is_empty() || is_bare {
                return Err("--connect: write an IPv6 address in brackets".to_owned());
            }
            Some(port)
        }
        Some(_) | None => None,
    };
    match port.map(str::parse::<u16>) {
        None => Ok(format!("{authority}:{HTTP_PORT}")),
        Some(Ok(port)) if port != 0 => Ok(authority.to_owned()),
        Some(_) => Err("--connect: the port is no number from 1 to 65535".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_a_token_is_told_to_copy_that_of_its_host() {
        let output = Output::new(crate::output::Format::Text);
        let dir = tempfile::tempdir().expect("a directory");
        let missing = dir.path().join("missing");
        let malformed = dir.path().join("malformed");
        std::fs::write(&malformed, "short\n").expect("writes");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&malformed, mode).expect("changes the mode");
        for file in [missing, malformed] {
            let body = read_token(&file, &output).expect_err("no token").body;
            assert!(!body.error.contains("openssl"), "{}", body.error);
            let hint = body.hint.expect("a next step");
            assert!(hint.starts_with("copy the token of that host"), "{hint}");
        }
    }

    #[test]
    fn an_address_is_read_from_its_url() {
        for (url, address) in [
            ("http://192.168.1.5:7878", "192.168.1.5:7878"),
            ("HTTP://box/", "box:80"),
            ("http://[::1]:7878/", "[::1]:7878"),
            ("http://[::1]", "[::1]:80"),
        ] {
            assert_eq!(address_of(url).as_deref(), Ok(address), "{url}");
        }
        for (url, words) in [
            ("https://box", "speaks http, not https"),
            ("box:7878", "takes a URL"),
            ("ftp://box", "takes a URL"),
            ("unix:/run/holon.sock", "takes a URL"),
            ("http://", "a host and a port"),
            ("http://box/path", "without user, path or query"),
            ("http://me:secret@box", "without user, path or query"),
            ("http://::1:7878", "in brackets"),
            ("http://:7878", "in brackets"),
            ("http://box:0", "no number"),
            ("http://box:70000", "no number"),
        ] {
            let refused = address_of(url).expect_err(url);
            assert!(refused.contains(words), "{url}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
