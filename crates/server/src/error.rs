//! Errors that prevent the server from starting.

/// Failure to start the server. A refused request is a response, not an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a TCP nor a unix listener was given.
    #[error("nothing to listen on; give a unix socket, a TCP address, or both")]
    NoListener,
    /// The control token is too easy to guess or cannot be sent in a header.
    #[error("the control token must have at least {min} visible ASCII characters, {different} of them different, no spaces, and not the prefix hct_ or hlt_; delete it to have one made", min = crate::Token::MIN_LEN, different = holon_domain::request_key::CONTROL_TOKEN_CHARACTERS)]
    WeakToken,
    /// The socket file could not be created.
    #[error("could not listen on {path}: {source}; check that its directory exists and is yours")]
    Socket {
        path: String,
        source: std::io::Error,
    },
    /// The address of a listener could not be read.
    #[error("the TCP listener does not tell its address: {0}")]
    LocalAddress(std::io::Error),
}
