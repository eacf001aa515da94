//! Errors about templates, with the next step.

use crate::error::Error;
use crate::fetch::FetchError;
use crate::skill::SkillError;
use std::path::PathBuf;

/// A template that cannot be applied. Nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// No template has this id.
    #[error("there is no template {id:?}; known are: {known}")]
    Unknown {
        id: String,
        /// The ids of all templates.
        known: String,
    },
    /// The directory is no template, or its files cannot be used.
    #[error("template {shown} cannot be used: {reason}")]
    Invalid {
        /// Path of the directory, or id of the built-in template.
        shown: String,
        reason: String,
    },
    /// A template on GitHub, or a skill that a template names there, was not fetched.
    #[error("template {shown} cannot be used: {source}")]
    Fetch { shown: String, source: FetchError },
    /// The home of the new agent exists and is not empty.
    #[error("{} exists and is not empty; a template is applied to a new home only", path.display())]
    HomeInUse { path: PathBuf },
    /// A skill of the template cannot be installed.
    #[error("a skill of template {shown} cannot be installed: {source}")]
    Skill { shown: String, source: SkillError },
    /// The filesystem refused to read the template or to write the home.
    #[error(transparent)]
    Files(#[from] Error),
}
