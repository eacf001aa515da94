//! Why the server does not start.

/// What stands in the way. Refusals of single requests are answers, not errors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No listener was given.
    #[error("nothing to listen on; give a unix socket, a TCP address, or both")]
    NoListener,
    /// The control token is too easy to guess or cannot be sent in a header.
    #[error("the control token must have at least {min} visible ASCII characters and no spaces; delete it to have one made", min = crate::Token::MIN_LEN)]
    WeakToken,
    /// The socket could not be made.
    #[error("could not listen on {path}: {source}; check that its directory exists and is yours")]
    Socket {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A listener does not tell its address.
    #[error("the TCP listener does not tell its address: {0}")]
    LocalAddress(std::io::Error),
}
