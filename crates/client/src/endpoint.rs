//! The address of a host, and connecting to it.

use crate::error::Error;
use holon_domain::limits::{CONNECT_LOCAL_MS, CONNECT_REMOTE_MS};
use hyper::header::HeaderValue;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// Address and credentials of one host.
#[derive(Clone)]
pub(crate) enum Endpoint {
    /// Socket on this machine; the host accepts only the same user.
    Unix(PathBuf),
    /// TCP address, usually with a token.
    Tcp {
        address: String,
        /// The whole `Authorization` value, marked as sensitive so that no printed form shows it.
        authorization: Option<HeaderValue>,
    },
}

/// A byte stream in both directions, over a unix socket or TCP.
pub(crate) trait Pipe: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Pipe for T {}

impl Endpoint {
    /// Creates a TCP endpoint; fails if the token cannot stand in a header.
    pub(crate) fn tcp(address: String, token: &str) -> Result<Self, Error> {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| Error::Token)?;
        value.set_sensitive(true);
        Ok(Self::Tcp {
            address,
            authorization: Some(value),
        })
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Unix(_) => "localhost",
            Self::Tcp { address, .. } => address,
        }
    }

    /// Connects within the timeout of this kind of endpoint.
    pub(crate) async fn connect(&self) -> Result<Box<dyn Pipe>, Error> {
        let limit = self.connect_limit();
        match tokio::time::timeout(limit, self.dial()).await {
            Ok(Ok(pipe)) => Ok(pipe),
            Ok(Err(error)) => Err(self.unreachable(error.to_string())),
            Err(_) => {
                Err(self.unreachable(format!("no connection within {} ms", limit.as_millis())))
            }
        }
    }

    async fn dial(&self) -> std::io::Result<Box<dyn Pipe>> {
        match self {
            Self::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            Self::Tcp { address, .. } => {
                let stream = TcpStream::connect(address.as_str()).await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }

    fn connect_limit(&self) -> Duration {
        let millis = match self {
            Self::Unix(_) => CONNECT_LOCAL_MS,
            Self::Tcp { address, .. } if is_local(address) => CONNECT_LOCAL_MS,
            Self::Tcp { .. } => CONNECT_REMOTE_MS,
        };
        Duration::from_millis(millis)
    }

    fn unreachable(&self, reason: String) -> Error {
        Error::Unreachable {
            endpoint: self.to_string(),
            reason,
        }
    }
}

fn is_local(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { address, .. } => f.write_str(address),
        }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "secret-that-must-not-show";

    #[test]
    fn a_token_shows_in_no_printed_form() {
        let endpoint = Endpoint::tcp("127.0.0.1:7878".into(), SECRET).unwrap();
        assert_eq!(
            format!("{endpoint} {endpoint:?}"),
            "127.0.0.1:7878 127.0.0.1:7878"
        );
    }

    #[test]
    fn a_token_that_would_break_out_of_its_header_is_refused() {
        let refused = Endpoint::tcp("127.0.0.1:7878".into(), "a\r\nHost: evil").err();
        assert_eq!(refused, Some(Error::Token));
    }

    #[test]
    fn this_machine_is_known_in_every_spelling() {
        for address in ["localhost:1", "LOCALHOST:1", "127.0.0.1:1", "[::1]:1"] {
            assert!(is_local(address), "{address}");
        }
        assert!(!is_local("192.168.1.5:1"));
    }
}
