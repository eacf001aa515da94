//! Failures of an outgoing request.

use std::time::Duration;

/// The reason for which a request has no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    #[error("the address {url:?} cannot be used: {reason}")]
    Address { url: String, reason: String },
    /// A header of the request. Neither its value nor the address is told: both may hold a secret.
    #[error("the header {name} has characters that cannot be sent")]
    Header { name: String },
    /// The address is not public, and no operator configured it.
    #[error("{what} leads to {address}, which is not a public address")]
    Forbidden {
        /// The address or redirect that was not followed.
        what: String,
        address: String,
    },
    /// The rules of the request exclude the host.
    #[error("the host {host} may not be asked: {reason}")]
    HostDenied { host: String, reason: String },
    #[error("more than {0} redirects")]
    TooManyRedirects(usize),
    /// A redirect to something that is no address of the web.
    #[error("the answer {status} redirects to {location:?}, which cannot be used: {reason}")]
    BadRedirect {
        status: u16,
        location: String,
        reason: String,
    },
    /// A redirect that would turn a request with a body into one without.
    #[error("the answer {status} redirects to {location:?} and would drop the body")]
    DropsBody { status: u16, location: String },
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The name could not be resolved, or the connection failed.
    #[error("{0}")]
    Connection(String),
}
