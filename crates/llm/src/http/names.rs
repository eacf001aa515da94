//! Names of hosts into addresses, within a time of their own and with an error of their own.
//!
//! Without these a name service that is silent looks like a host that is slow, and a name nobody knows like a host
//! that does not answer; the caller must tell its own network's fault from a provider's.

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Who knows the addresses of names.
#[async_trait]
pub(crate) trait Lookup: Send + Sync + std::fmt::Debug {
    /// The addresses of a host; the port in them counts for nothing.
    async fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>>;
}

/// The system's name service.
#[derive(Debug)]
pub(super) struct System;

#[async_trait]
impl Lookup for System {
    async fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.collect())
    }
}

/// A name service that must answer in time.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) limit: Duration,
}

/// A host's name could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("the name {name:?} could not be looked up")]
pub(super) struct NameFailure {
    pub(super) name: String,
    pub(super) source: io::Error,
}

impl Resolve for Names {
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
                Err(source) => Err(NameFailure {
                    name: name.as_str().to_owned(),
                    source,
                }
                .into()),
            }
        })
    }
}
