//! Name resolution that drops every address which is not public, unless the rules of a request permit the host.
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

/// Resolves names for one client. The client connects to the addresses that this returns and looks up nothing itself.
pub(crate) struct Resolver {
    lookup: Arc<dyn Lookup>,
    public_only: bool,
    /// Names that resolve to every address they have.
    except: Arc<[String]>,
}

impl Resolver {
    /// Resolves names to public addresses only, apart from the names of proxies.
    pub(crate) fn public_only(lookup: Arc<dyn Lookup>, proxies: Vec<String>) -> Self {
        Self {
            lookup,
            public_only: true,
            except: proxies.into(),
        }
    }

    /// Resolves names to every address they have.
    pub(crate) fn any(lookup: Arc<dyn Lookup>) -> Self {
        Self {
            lookup,
            public_only: false,
            except: Arc::default(),
        }
    }
}

/// A name with no public address.
#[derive(Debug, thiserror::Error)]
#[error("{name} has no public address, only {address}")]
pub(crate) struct NotPublic {
    pub(crate) name: String,
    pub(crate) address: String,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (name, lookup) = (name.as_str().to_owned(), Arc::clone(&self.lookup));
        let public_only = self.public_only && !self.except.contains(&name);
        Box::pin(async move {
            let found = lookup.lookup(name.clone()).await?;
            let usable: Vec<SocketAddr> = found
                .iter()
                .filter(|address| !public_only || is_public(**address))
                .map(|address| SocketAddr::new(*address, 0))
                .collect();
            if usable.is_empty() {
                let address = found
                    .first()
                    .map_or_else(|| "none".to_owned(), ToString::to_string);
                return Err(NotPublic { name, address }.into());
            }
            Ok::<Addrs, BoxError>(Box::new(usable.into_iter()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr as _;

    struct Mixed;

    impl Lookup for Mixed {
        fn lookup(&self, _: String) -> LookupFuture {
            let found = ["127.0.0.1", "8.8.8.8", "::1", "10.0.0.1", "2606:4700::1111"];
            let found = found.map(|text| text.parse().expect("an address"));
            Box::pin(async move { Ok(found.to_vec()) })
        }
    }

    #[tokio::test]
    async fn of_a_name_with_several_addresses_only_the_public_ones_are_connected_to() {
        let lookup = || Arc::new(Mixed) as Arc<dyn Lookup>;
        let name = || Name::from_str("mixed.example").expect("a name");
        let found = Resolver::public_only(lookup(), Vec::new())
            .resolve(name())
            .await;
        let found: Vec<String> = found
            .expect("addresses")
            .map(|address| address.ip().to_string())
            .collect();
        assert_eq!(found, ["8.8.8.8", "2606:4700::1111"]);
        let proxy = vec!["mixed.example".to_owned()];
        let of_proxy = Resolver::public_only(lookup(), proxy).resolve(name()).await;
        assert_eq!(of_proxy.expect("addresses").count(), 5);
        let all = Resolver::any(lookup()).resolve(name()).await;
        assert_eq!(all.expect("addresses").count(), 5);
    }
}
