//! Errors about skills, with the next step.

use crate::error::Error;
use crate::fetch::FetchError;
use holon_domain::limits::{INSTALL_BYTES, INSTALL_DEPTH, INSTALL_FILES};
use holon_domain::remote::RemoteSkillError;
use std::path::PathBuf;

/// A skill that cannot be installed or removed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// No skill of this name is built in.
    #[error("no skill {name:?} is built in; there are: {known}")]
    UnknownBuiltin {
        name: String,
        /// The names of the built-in skills.
        known: String,
    },
    /// The name is not that of a skill.
    #[error("{name:?} is no name of a skill; it has lower-case letters, digits and single hyphens")]
    Name { name: String },
    /// The directory does not describe a skill.
    #[error("{} is no skill: {reason}", path.display())]
    NotASkill { path: PathBuf, reason: String },
    /// A skill of this name is in the agent's home already.
    #[error("skill {name:?} is installed already; uninstall it first")]
    AlreadyInstalled { name: String },
    /// No skill of this name is in the agent's home.
    #[error("skill {name:?} is not installed in this agent's home")]
    NotInstalled { name: String },
    /// The tree holds something that is not copied.
    #[error("{} cannot be installed: {reason}", path.display())]
    Refused { path: PathBuf, reason: &'static str },
    /// The tree exceeds a bound.
    #[error("{} cannot be installed: a skill has at most {INSTALL_FILES} files, {INSTALL_BYTES} bytes and {INSTALL_DEPTH} levels", path.display())]
    TooLarge { path: PathBuf },
    /// The text names no skill on GitHub.
    #[error(transparent)]
    Remote(#[from] RemoteSkillError),
    /// A skill on GitHub was not fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The filesystem refused to read the skill or to write the copy.
    #[error(transparent)]
    Files(#[from] Error),
}
