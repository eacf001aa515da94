//! What can be wrong with the control token.

use holon_domain::request_key::CONTROL_TOKEN_CHARACTERS;
use std::path::PathBuf;

/// The reason that there is no control token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// There is none yet.
    #[error("there is no control token at {path}; it is made when a host first starts: holon daemon start", path = path.display())]
    Missing { path: PathBuf },
    /// Others can read it, so it is no secret.
    #[error(
        "{path} has mode {mode:04o} and may have been read by others; delete it so that the next start makes a new one",
        path = path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    /// It is not ours, or not a plain file.
    #[error("{path} is not a plain file of this user; move it aside so that the next start makes a new one", path = path.display())]
    Foreign { path: PathBuf },
    /// Its content is no token.
    #[error(
        "{path} does not hold a token of {min} to {max} letters, digits, '-' or '_'; delete it so that the next start makes a new one",
        path = path.display(),
        min = crate::Token::MIN_LEN,
        max = crate::Token::MAX_LEN
    )]
    Malformed { path: PathBuf },
    /// The file that an operator named is not there.
    #[error("there is no token file {path}", path = path.display())]
    GivenMissing { path: PathBuf },
    /// Others can read the file that an operator named, so it holds no secret.
    #[error(
        "the token file {path} has mode {mode:04o} and may have been read by others; put a new token into it and close it with: chmod 600 {path}",
        path = path.display()
    )]
    GivenExposed { path: PathBuf, mode: u32 },
    /// The file that an operator named is not theirs, or not a plain file.
    #[error("the token file {path} is not a plain file of this user; name a file of your own, and no link", path = path.display())]
    GivenForeign { path: PathBuf },
    /// The content of the file that an operator named is no token.
    #[error(
        "the token file {path} does not hold a token of {min} to {max} letters, digits, '-' or '_'",
        path = path.display(),
        min = crate::Token::MIN_LEN,
        max = crate::Token::MAX_LEN
    )]
    GivenMalformed { path: PathBuf },
    /// The content of a file or of an option cannot be the control token of a host.
    #[error(
        "{place} does not hold a control token: it has fewer than {CONTROL_TOKEN_CHARACTERS} different characters, or it is a token of a callback (hct_) or a named one (hlt_); make one, for example with: openssl rand -hex 32"
    )]
    NotControl {
        /// The flag, stream or file it came from.
        place: String,
    },
    /// A token that was given is no token.
    #[error(
        "{place} does not hold a token of {min} to {max} letters, digits, '-' or '_'",
        min = crate::Token::MIN_LEN,
        max = crate::Token::MAX_LEN
    )]
    Given {
        /// The flag or stream it came from.
        place: &'static str,
    },
    /// The file system said no.
    #[error("cannot use {path} for the control token: {source}", path = path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The system has no randomness to give.
    #[error("the system gave no randomness for a control token: {reason}")]
    Randomness { reason: String },
}
