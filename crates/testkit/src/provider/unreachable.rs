//! An address at which nobody answers: the port is taken and nobody listens, so every connection is refused.

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Such an address, for as long as this is kept.
#[derive(Debug)]
pub struct Unreachable {
    port: u16,
    /// Held so that no other program is given the port.
    _taken: OwnedFd,
}

impl Unreachable {
    /// Takes a port.
    ///
    /// # Panics
    /// When there is none to be had.
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
