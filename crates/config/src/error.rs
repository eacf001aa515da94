//! What can be wrong with settings, always with the place it stands in and what to do about it.

mod credential;
mod token;

pub use credential::CredentialError;
pub use token::TokenError;

use std::fmt;
use std::path::PathBuf;

/// The place of a value: a flag, a variable, or a key of the settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the command line.
    Flag(&'static str),
    Variable(String),
    /// As a value for a key, in a change somebody asked for.
    Given(String),
    /// Under a key of the settings, in a text that is not on disk.
    Setting(String),
    /// In the settings file.
    File {
        path: PathBuf,
        /// In which line, from 1.
        line: usize,
        key: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => f.write_str(name),
            Self::Variable(name) | Self::Given(name) | Self::Setting(name) => f.write_str(name),
            Self::File { path, line, key } => write!(f, "{}:{line}: {key}", path.display()),
        }
    }
}

/// The reason that the settings could not be read or changed.
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
        place: Place,
        /// The path as given.
        path: PathBuf,
    },
    /// A variable holds bytes that are not text.
    #[error("{name}: the value is not valid UTF-8; set it again or unset it")]
    NotText { name: String },
    /// A value that cannot be used.
    #[error("{place}: {problem}")]
    Value {
        place: Place,
        /// The problem and the form that would be accepted.
        problem: String,
    },
    /// A key this build does not know.
    #[error("{place} is not a setting; {advice}")]
    UnknownKey {
        place: Place,
        /// The nearest name, or the list of all.
        advice: String,
    },
    /// The settings file is not TOML.
    #[error("{path} is not valid TOML; correct it or move it aside: {message}", path = path.display())]
    Syntax {
        path: PathBuf,
        /// The parser's words, with line and column.
        message: String,
    },
    /// The settings file is there and cannot be read.
    #[error("cannot read {path}; check its permissions: {source}", path = path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The settings file is too large to be one.
    #[error(
        "{path} has more than {max} bytes; it is not a settings file, move it aside",
        path = path.display(),
        max = holon_domain::limits::CONFIG_FILE_BYTES
    )]
    TooLarge { path: PathBuf },
    /// A key that was asked for does not exist.
    #[error("{key} is not a setting; {advice}")]
    NoSuchKey {
        /// As it was given.
        key: String,
        /// The closest known key, or the place to look for one.
        advice: String,
    },
    /// A provider that was asked for does not exist.
    #[error("{message}")]
    NoSuchProvider {
        /// The missing part and the next step.
        message: String,
    },
    /// A change would make the settings unusable.
    #[error("nothing was changed, because the settings would no longer work: {problem}")]
    Refused {
        /// The error that the change would cause.
        problem: Box<Self>,
    },
    /// The file cannot be written.
    #[error("cannot write {path}; check its directory's permissions and the free space: {source}", path = path.display())]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A credential cannot be read, used or stored.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The control token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
}

impl Error {
    /// Returns true if it is about a value somebody has just given, rather than about one that was there.
    #[must_use]
    pub fn is_of_what_was_given(&self) -> bool {
        match self {
            Self::Value { place, .. }
            | Self::RelativeHome { place, .. }
            | Self::UnknownKey { place, .. } => {
                matches!(place, Place::Flag(_) | Place::Given(_))
            }
            Self::NoSuchKey { .. } => true,
            Self::Refused { problem } => problem.is_of_what_was_given(),
            Self::NoHome
            | Self::NotText { .. }
            | Self::Syntax { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::NoSuchProvider { .. }
            | Self::Unwritable { .. }
            | Self::Credential(_)
            | Self::Token(_) => false,
        }
    }
}
