//! Where the value of a setting came from.

/// Where a value came from; a later one in this list loses to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The command line.
    Flag,
    /// The environment.
    Environment,
    /// `config.toml`.
    File,
    /// The credentials that were found.
    Credentials,
    /// This build.
    Builtin,
}

impl Source {
    /// One word for people and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Credentials => "credentials",
            Self::Builtin => "builtin",
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// What.
    pub value: T,
    /// From where.
    pub source: Source,
}
