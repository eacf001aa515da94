//! Why a provider has no credential that can be used. No variant holds anything secret.

use std::path::PathBuf;

/// Why there is no usable credential; the text ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// There is none.
    #[error("{provider} has no credential; {next}")]
    Missing {
        /// Which provider.
        provider: String,
        /// How to give it one.
        next: String,
    },
    /// It is no longer good.
    #[error("the login {provider} uses has expired; {next}")]
    Expired {
        /// Which provider.
        provider: String,
        /// How to renew it.
        next: String,
    },
    /// There is one that cannot be used.
    #[error("the credential of {provider} cannot be used: {problem}; {next}")]
    Unusable {
        /// Which provider.
        provider: String,
        /// What is wrong.
        problem: String,
        /// How to put it right.
        next: String,
    },
    /// Others can read the file.
    #[error(
        "{path} has mode {mode:04o}, so others may have read the secrets in it; run: chmod 600 {path}, and replace them if others use this machine",
        path = path.display()
    )]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is a link, not ours, or not a plain file.
    #[error("{path} is not a plain file of this user; move it aside and store the credentials again", path = path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// The stored credentials cannot be read. The file is left as it is.
    #[error(
        "{path} does not hold credentials ({problem}); it was left as it is: correct it, or move it aside and store the credentials again",
        path = path.display()
    )]
    Broken {
        /// Which file.
        path: PathBuf,
        /// What is wrong, without the content.
        problem: String,
    },
    /// The file system said no.
    #[error("cannot use {path}: {source}; check that the directory can be written and the disk is not full", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What was to be stored is no profile.
    #[error("{problem}")]
    Invalid {
        /// What is wrong and what would be right.
        problem: String,
    },
}

impl CredentialError {
    /// What is wrong, without what to do about it.
    #[must_use]
    pub fn problem(&self) -> String {
        match self {
            Self::Missing { provider, .. } => format!("{provider} has no credential"),
            Self::Expired { provider, .. } => format!("the login {provider} uses has expired"),
            Self::Unusable {
                provider, problem, ..
            } => format!("the credential of {provider} cannot be used: {problem}"),
            Self::Exposed { path, mode } => {
                let path = path.display();
                format!("{path} has mode {mode:04o}, so others may have read the secrets in it")
            }
            Self::Foreign { path } => {
                format!("{} is not a plain file of this user", path.display())
            }
            Self::Broken { path, problem } => {
                format!("{} does not hold credentials ({problem})", path.display())
            }
            Self::Io { path, source } => format!("cannot use {}: {source}", path.display()),
            Self::Invalid { problem } => problem.clone(),
        }
    }

    /// What the operator should do next.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::Missing { next, .. }
            | Self::Expired { next, .. }
            | Self::Unusable { next, .. } => next.clone(),
            Self::Exposed { path, .. } => format!("run: chmod 600 {}", path.display()),
            Self::Foreign { path } | Self::Broken { path, .. } => format!(
                "move {} aside and store the credentials again: holon config credentials set PROFILE",
                path.display()
            ),
            Self::Io { path, .. } => format!("check the permissions of {}", path.display()),
            Self::Invalid { problem } => problem.clone(),
        }
    }
}
