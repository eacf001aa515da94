//! Why a provider has no credential that can be used. No variant holds anything secret.

use std::path::PathBuf;

/// The reason that a credential cannot be used. The text ends with the next step.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("{provider} has no credential; {next}")]
    Missing { provider: String, next: String },
    /// It is no longer good.
    #[error("the login {provider} uses has expired; {next}")]
    Expired { provider: String, next: String },
    /// There is one that cannot be used.
    #[error("the credential of {provider} cannot be used: {problem}; {next}")]
    Unusable {
        provider: String,
        problem: String,
        next: String,
    },
    /// The provider is not asked over its transport, so that no credential is looked for.
    #[error("{problem}; {next}")]
    Transport { problem: String, next: String },
    /// Others can read the file.
    #[error(
        "{path} has mode {mode:04o}, so others may have read the secrets in it; run: chmod 600 {path}, and replace them if others use this machine",
        path = path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    /// It is a link, not ours, or not a plain file.
    #[error("{path} is not a plain file of this user; move it aside and store the credentials again", path = path.display())]
    Foreign { path: PathBuf },
    /// The stored credentials cannot be read. The file is left as it is.
    #[error(
        "{path} does not hold credentials ({problem}); it was left as it is: correct it, or move it aside and store the credentials again",
        path = path.display()
    )]
    Broken {
        path: PathBuf,
        /// The problem, without any content of the file.
        problem: String,
    },
    /// The file system said no.
    #[error("cannot use {path}: {source}; check that the directory can be written and the disk is not full", path = path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The value to store is not a valid profile.
    #[error("{problem}")]
    Invalid {
        /// The problem and the accepted form.
        problem: String,
    },
}

impl CredentialError {
    /// The problem without its next step.
    #[must_use]
    pub fn problem(&self) -> String {
        match self {
            Self::Missing { provider, .. } => format!("{provider} has no credential"),
            Self::Expired { provider, .. } => format!("the login {provider} uses has expired"),
            Self::Unusable {
                provider, problem, ..
            } => format!("the credential of {provider} cannot be used: {problem}"),
            Self::Transport { problem, .. } => problem.clone(),
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

    /// The next step for the operator.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::Missing { next, .. }
            | Self::Expired { next, .. }
            | Self::Unusable { next, .. }
            | Self::Transport { next, .. } => next.clone(),
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
