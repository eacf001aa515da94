//! Name lookup with its own timeout and its own error type.
//!
//! Without these, a silent name service looks like a slow host and an unknown name like a host that does not answer.
//! The caller must tell a fault of its own network from a fault of the provider.

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Resolves host names. Tests replace it.
#[async_trait]
pub(crate) trait Lookup: Send + Sync + std::fmt::Debug {
    /// Returns the addresses of a host; the port in them is ignored.
    async fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>>;
}

/// Resolves names with the operating system.
#[derive(Debug)]
pub(super) struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.collect())
    }
}

/// A resolver with a time limit.
#[derive(Debug, Clone)]
pub(super) struct TimedLookup {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) limit: Duration,
}

/// The lookup of a host name failed or timed out.
#[derive(Debug, thiserror::Error)]
#[error("the name {name:?} could not be looked up")]
pub(super) struct LookupError {
    pub(super) name: String,
    pub(super) source: io::Error,
}

impl Resolve for TimedLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { lookup, limit } = self.clone();
        Box::pin(async move {
            let found = tokio::time::timeout(limit, lookup.addresses(name.as_str())).await;
            let found = found.unwrap_or_else(|_| {
                let what = format!("the name service did not answer within {limit:?}");
                Err(io::Error::new(io::ErrorKind::TimedOut, what))
            });
            match found {
                Ok(found) => Ok(Box::new(found.into_iter()) as Addrs),
                Err(source) => Err(LookupError {
                    name: name.as_str().to_owned(),
                    source,
                }
                .into()),
            }
        })
    }
}
