//! Where the value of a setting came from.

/// The layer a value came from. Earlier variants override later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    Flag,
    Environment,
    File,
    /// The credentials that were found.
    Credentials,
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
    pub value: T,
    pub source: Source,
}
