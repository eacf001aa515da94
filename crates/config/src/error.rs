//! What can be wrong with settings, always with the place it stands in and what to do about it.

use std::fmt;
use std::path::PathBuf;

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the command line.
    Flag(&'static str),
    /// In the environment.
    Variable(&'static str),
    /// In the settings file.
    File {
        /// Which file.
        path: PathBuf,
        /// In which line, from 1.
        line: usize,
        /// Under which key.
        key: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File { path, line, key } => write!(f, "{}:{line}: {key}", path.display()),
        }
    }
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing says where the home is.
    #[error("no home directory is known; set HOLON_HOME, or HOME, or give --home DIR")]
    NoHome,
    /// A relative home, and no current directory to take it from.
    #[error(
        "{place}: {path:?} is relative and the current directory is not known; give an absolute path"
    )]
    RelativeHome {
        /// Where it stands.
        place: Place,
        /// The path as given.
        path: PathBuf,
    },
    /// A variable holds bytes that are not text.
    #[error("{name}: the value is not valid UTF-8; set it again or unset it")]
    NotText {
        /// Which.
        name: &'static str,
    },
    /// A value that cannot be used.
    #[error("{place}: {problem}")]
    Value {
        /// Where it stands.
        place: Place,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A key this build does not know.
    #[error("{place} is not a setting; {advice}")]
    UnknownKey {
        /// Where it stands.
        place: Place,
        /// The nearest name, or the list of all.
        advice: String,
    },
    /// The settings file is not TOML.
    #[error("{path} is not valid TOML; correct it or move it aside: {message}", path = path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// The parser's words, with line and column.
        message: String,
    },
    /// The settings file is there and cannot be read.
    #[error("cannot read {path}; check its permissions: {source}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The control token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// Why there is no control token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// There is none yet.
    #[error("there is no control token at {path}; it is made when a host first starts: holon serve", path = path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// Others can read it, so it is no secret.
    #[error(
        "{path} has mode {mode:04o} and may have been read by others; delete it so that the next start makes a new one",
        path = path.display()
    )]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is not ours, or not a plain file.
    #[error("{path} is not a plain file of this user; move it aside so that the next start makes a new one", path = path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// Its content is no token.
    #[error(
        "{path} does not hold a token of {min} to {max} letters, digits, '-' or '_'; delete it so that the next start makes a new one",
        path = path.display(),
        min = crate::Token::MIN_LEN,
        max = crate::Token::MAX_LEN
    )]
    Malformed {
        /// Which file.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("cannot use {path} for the control token: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The system has no randomness to give.
    #[error("the system gave no randomness for a control token: {reason}")]
    Randomness {
        /// Why.
        reason: String,
    },
}
