//! Name resolution that drops every address which is not public.
//!
//! The connection is made to the addresses that were checked here, so a name cannot lead elsewhere between the check and
//! the connection.

use crate::address::is_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Looks names up. Tests replace it.
pub(crate) trait Lookup: Send + Sync {
    /// Resolves a name to addresses.
    fn lookup(&self, name: String) -> LookupFuture;
}

pub(crate) type LookupFuture =
    std::pin::Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// The resolver of the system.
pub(crate) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> LookupFuture {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Resolves names to public addresses only.
pub(crate) struct PublicOnly(pub(crate) Arc<dyn Lookup>);

/// A name with no public address.
#[derive(Debug, thiserror::Error)]
#[error("{name} has no public address, only {address}")]
pub(crate) struct NotPublic {
    pub(crate) name: String,
    pub(crate) address: String,
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let (name, lookup) = (name.as_str().to_owned(), Arc::clone(&self.0));
        Box::pin(async move {
            let found = lookup.lookup(name.clone()).await?;
            let public: Vec<SocketAddr> = found
                .iter()
                .filter(|address| is_public(**address))
                .map(|address| SocketAddr::new(*address, 0))
                .collect();
            if public.is_empty() {
                let address = found
                    .first()
                    .map_or_else(|| "none".to_owned(), ToString::to_string);
                return Err(NotPublic { name, address }.into());
            }
            Ok::<Addrs, BoxError>(Box::new(public.into_iter()))
        })
    }
}
