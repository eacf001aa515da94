//! The options a host is started with: who may reach it, under which address, and with which token.
//!
//! The same options start a host in the foreground, in the background and as a service. They are kept in the host's
//! record, so they hold no secret: of a token only where it comes from.

use crate::error::{Error, Place};
use crate::settings::Settings;
use crate::source::{Source, Sourced};
use crate::url;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Networks from which a host is meant to be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// Clients on this machine.
    #[default]
    Local,
    /// Clients that come through a tunnel to this machine's loopback, such as that of `ssh -L`.
    Tunnel,
    /// Clients on the local network.
    Lan,
    /// Clients on a private overlay network.
    Tailnet,
}

impl AccessMode {
    /// The word on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Tunnel => "tunnel",
            Self::Lan => "lan",
            Self::Tailnet => "tailnet",
        }
    }

    const fn is_remote(self) -> bool {
        match self {
            Self::Lan | Self::Tailnet => true,
            Self::Local | Self::Tunnel => false,
        }
    }
}

impl fmt::Display for AccessMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a host takes its control token from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenOption {
    /// The host's own file, which it creates.
    #[default]
    Generated,
    /// A file of the operator; absolute.
    File(PathBuf),
    /// The command line or standard input of the start.
    Given,
}

/// Options of a start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostOptions {
    pub access: AccessMode,
    /// Name or address by which clients reach the host.
    pub host: Option<String>,
    /// `ADDRESS:PORT` to listen on.
    pub listen: Option<String>,
    /// Port to listen on.
    pub port: Option<u16>,
    /// URL by which clients reach the host.
    pub advertise: Option<String>,
    pub token: TokenOption,
    /// Default model, as `provider/model`.
    pub model: Option<String>,
}

/// The options of a start, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub mode: AccessMode,
    pub listen: SocketAddr,
    /// URL by which clients reach the host. Absent if no address other than the one it listens on is known.
    pub advertise_url: Option<String>,
    /// Names and addresses that requests may be addressed to, beside loopback and the bound address.
    pub allowed_hosts: Vec<String>,
    /// True if the operator named a token.
    pub has_token: bool,
}

impl HostOptions {
    /// The address to listen on, if the options name one in full.
    #[must_use]
    pub fn listen_flag(&self) -> Option<String> {
        let port = self.port.map(|port| format!("127.0.0.1:{port}"));
        self.listen.clone().or(port)
    }

    /// Judges the options with the address that the settings name, which includes [`HostOptions::listen_flag`].
    ///
    /// # Errors
    /// When an option cannot be used, or the options do not fit together.
    pub fn resolve(&self, configured: SocketAddr) -> Result<Access, Error> {
        let host = self.host.as_deref().map(str::trim);
        let host = host
            .map(url::judge_host)
            .transpose()
            .map_err(|problem| refuse("--host", problem))?;
        let advertise = self.advertise.as_deref().map(str::trim);
        let advertise = advertise
            .map(url::judge_advertised)
            .transpose()
            .map_err(|problem| refuse("--advertise", problem))?;
        let has_token = self.token != TokenOption::Generated;
        if self.access.is_remote() {
            self.check_remote(host.is_some() || advertise.is_some(), has_token)?;
        }
        let listen = self.listen_address(configured, host.as_deref())?;
        let own_url = host.as_deref().and_then(|host| self.own_url(host, listen));
        let (advertise_url, advertised) = advertise.unzip();
        Ok(Access {
            mode: self.access,
            listen,
            advertise_url: advertise_url.or(own_url),
            allowed_hosts: host.into_iter().chain(advertised).map(bracketed).collect(),
            has_token,
        })
    }

    fn check_remote(&self, has_name: bool, has_token: bool) -> Result<(), Error> {
        let mode = self.access;
        if !has_name {
            let problem = format!(
                "{mode} needs the address that clients use: --host NAME, or --advertise URL"
            );
            return Err(refuse("--access", problem));
        }
        if !has_token {
            let problem = format!(
                "{mode} needs a token that you hand to clients: --token-file FILE; \
                 the file <home>/run/control.token of an earlier start will do"
            );
            return Err(refuse("--access", problem));
        }
        Ok(())
    }

    fn listen_address(
        &self,
        configured: SocketAddr,
        host: Option<&str>,
    ) -> Result<SocketAddr, Error> {
        match self.access {
            AccessMode::Local => Ok(configured),
            AccessMode::Tunnel if self.listen.is_none() => {
                Ok((Ipv4Addr::LOCALHOST, configured.port()).into())
            }
            AccessMode::Tunnel if configured.ip().is_loopback() => Ok(configured),
            AccessMode::Tunnel => Err(refuse(
                "--listen",
                format!(
                    "a tunnel ends on this machine, and {configured} is open to others; use 127.0.0.1:PORT"
                ),
            )),
            AccessMode::Lan | AccessMode::Tailnet if self.listen.is_some() => Ok(configured),
            AccessMode::Lan | AccessMode::Tailnet => {
                let address = host.and_then(|host| host.parse().ok());
                let everywhere = IpAddr::from(Ipv4Addr::UNSPECIFIED);
                Ok((address.unwrap_or(everywhere), configured.port()).into())
            }
        }
    }

    /// The URL of a host that others reach by this name; a port that is chosen at the start is not known yet.
    fn own_url(&self, host: &str, listen: SocketAddr) -> Option<String> {
        let is_known = self.access.is_remote() && listen.port() != 0;
        is_known.then(|| format!("http://{}:{}", bracketed(host.to_owned()), listen.port()))
    }

    /// The options as arguments of `holon serve`, without a token that was given.
    #[must_use]
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let mut push = |name: &str, value: OsString| args.extend([name.into(), value]);
        if self.access != AccessMode::Local {
            push("--access", self.access.as_str().into());
        }
        let texts = [
            ("--host", self.host.clone()),
            ("--listen", self.listen.clone()),
            ("--port", self.port.map(|port| port.to_string())),
            ("--advertise", self.advertise.clone()),
            ("--model", self.model.clone()),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                push(name, value.into());
            }
        }
        if let TokenOption::File(path) = &self.token {
            push("--token-file", path.into());
        }
        args
    }
}

impl Settings {
    /// These settings with the address that the options of a start lead to.
    ///
    /// # Errors
    /// As for [`HostOptions::resolve`].
    pub fn with_access(mut self, options: &HostOptions) -> Result<(Self, Access), Error> {
        let access = options.resolve(self.http_addr.value)?;
        if access.listen != self.http_addr.value {
            self.http_addr = Sourced {
                value: access.listen,
                source: Source::Flag,
            };
        }
        Ok((self, access))
    }
}

/// Writes an IPv6 address as it stands in a URL and in a `Host` header.
fn bracketed(host: String) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    }
}

fn refuse(flag: &'static str, problem: String) -> Error {
    Error::Value {
        place: Place::Flag(flag),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(line: &str, configured: &str) -> Result<Access, String> {
        let mut options = HostOptions::default();
        let mut words = line.split_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            let text = Some(value.to_owned());
            match name {
                "lan" => options.access = AccessMode::Lan,
                "tailnet" => options.access = AccessMode::Tailnet,
                "tunnel" => options.access = AccessMode::Tunnel,
                "--host" => options.host = text,
                "--listen" => options.listen = text,
                "--advertise" => options.advertise = text,
                "--token-file" => options.token = TokenOption::File(value.into()),
                other => panic!("{other}"),
            }
        }
        let configured = options.listen.as_deref().unwrap_or(configured);
        let configured = configured.parse().expect("an address");
        options
            .resolve(configured)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn each_mode_listens_where_its_clients_are() {
        for (line, listen, advertised, hosts) in [
            ("", "127.0.0.1:7878", None, vec![]),
            ("tunnel -", "127.0.0.1:7878", None, vec![]),
            (
                "lan - --host 192.168.1.5 --token-file /t",
                "192.168.1.5:7878",
                Some("http://192.168.1.5:7878"),
                vec!["192.168.1.5"],
            ),
            (
                "tailnet - --host box.example --token-file /t",
                "0.0.0.0:7878",
                Some("http://box.example:7878"),
                vec!["box.example"],
            ),
            (
                "tailnet - --host fd7a::1 --token-file /t",
                "[fd7a::1]:7878",
                Some("http://[fd7a::1]:7878"),
                vec!["[fd7a::1]"],
            ),
            (
                "lan - --advertise https://box.example/holon/ --listen 10.0.0.1:99 --token-file /t",
                "10.0.0.1:99",
                Some("https://box.example/holon"),
                vec!["box.example"],
            ),
        ] {
            let access = resolve(line, "127.0.0.1:7878").expect(line);
            assert_eq!(access.listen.to_string(), listen, "{line}");
            assert_eq!(access.advertise_url.as_deref(), advertised, "{line}");
            assert_eq!(access.allowed_hosts, hosts, "{line}");
        }
        let tunnel = resolve("tunnel -", "0.0.0.0:80").expect("keeps the port");
        assert_eq!(tunnel.listen.to_string(), "127.0.0.1:80");
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_the_next_step() {
        for (line, words) in [
            ("lan - --token-file /t", "--host NAME"),
            ("lan - --host box", "--token-file FILE"),
            (
                "tailnet - --host 0.0.0.0 --token-file /t",
                "no client can connect",
            ),
            ("lan - --host :: --token-file /t", "no client can connect"),
            ("lan - --host box:80 --token-file /t", "without a port"),
            (
                "lan - --advertise http://0.0.0.0:80 --token-file /t",
                "no client can connect",
            ),
            (
                "lan - --advertise ftp://box --token-file /t",
                "the URL begins with http://",
            ),
            (
                "lan - --advertise http://u:p@box --token-file /t",
                "clients send the token instead",
            ),
            (
                "tunnel - --listen 0.0.0.0:1",
                "a tunnel ends on this machine",
            ),
        ] {
            let error = resolve(line, "127.0.0.1:7878").expect_err(line);
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn options_become_arguments_without_the_token_itself() {
        let options = HostOptions {
            access: AccessMode::Lan,
            host: Some("box".into()),
            port: Some(0),
            token: TokenOption::File("/t".into()),
            ..HostOptions::default()
        };
        let args = "--access lan --host box --port 0 --token-file /t";
        assert_eq!(options.to_args().join(" ".as_ref()), args);
        let given = HostOptions {
            token: TokenOption::Given,
            ..HostOptions::default()
        };
        assert!(given.to_args().is_empty());
    }
}
