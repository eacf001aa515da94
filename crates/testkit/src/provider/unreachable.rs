//! An address without a listener: the port is reserved, so every connection is refused.

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// An address that refuses connections while this value exists.
#[derive(Debug)]
pub struct UnreachableAddress {
    port: u16,
    /// Holds the port, so that no other program gets it.
    _taken: OwnedFd,
}

impl UnreachableAddress {
    /// Reserves a loopback port at which every connection is refused.
    ///
    /// # Panics
    /// When none is available.
    #[must_use]
    pub fn take() -> Self {
        let taken = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&taken, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
        let address = getsockname(&taken).expect("an address");
        let address = SocketAddr::try_from(address).expect("an internet address");
        Self {
            port: address.port(),
            _taken: taken,
        }
    }

    /// The address as a provider's `base_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
