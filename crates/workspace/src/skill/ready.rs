//! A skill that is about to be installed: its source was checked, and one on GitHub was fetched.

use super::builtin;
use super::error::SkillError;
use super::install::check_skill;
use crate::fetch::{FetchedTree, Fetcher};
use holon_domain::guidance::{FetchedFrom, InstallMode, SkillSource};
use holon_domain::remote::RemoteSkill;
use std::path::{Path, PathBuf};

/// A skill whose files are at hand. Fetched files are removed when this is dropped.
#[derive(Debug)]
pub struct ReadySkill {
    name: String,
    source: SkillSource,
    files: Files,
}

/// Files of a skill.
#[derive(Debug)]
enum Files {
    Builtin(&'static str),
    Local { path: PathBuf, mode: InstallMode },
    Fetched(FetchedTree),
}

/// The way in which the files reach an agent's home.
pub(super) enum SkillContent<'a> {
    /// The text is the `SKILL.md`.
    Builtin(&'static str),
    Link(&'a Path),
    Copy(&'a Path),
}

impl ReadySkill {
    /// Checks a source, and fetches it if it is on GitHub.
    ///
    /// # Errors
    /// Fails if it is no skill or cannot be fetched.
    pub fn prepare(source: &SkillSource, fetcher: &Fetcher) -> Result<Self, SkillError> {
        let (name, files) = match source {
            SkillSource::Builtin { name } => {
                let found = builtin::find(name);
                let skill = found.ok_or_else(|| SkillError::UnknownBuiltin {
                    name: name.clone(),
                    known: builtin::names(),
                })?;
                (name.clone(), Files::Builtin(skill.skill_md))
            }
            SkillSource::Local { path, mode } => {
                let (path, mode) = (PathBuf::from(path), *mode);
                (check_skill(&path)?, Files::Local { path, mode })
            }
            SkillSource::Remote { package, skill } => {
                let place = RemoteSkill::parse(package, skill.as_deref())?;
                let fetched = fetcher.skill(&place)?;
                (check_fetched(&fetched)?, Files::Fetched(fetched))
            }
        };
        Ok(Self {
            name,
            source: source.clone(),
            files,
        })
    }

    /// Returns the name of the skill.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the source as the caller named it.
    #[must_use]
    pub const fn source(&self) -> &SkillSource {
        &self.source
    }

    /// Returns the commit that the skill was fetched from; `None` for a skill of this machine.
    #[must_use]
    pub const fn fetched_from(&self) -> Option<&FetchedFrom> {
        match &self.files {
            Files::Builtin(_) | Files::Local { .. } => None,
            Files::Fetched(tree) => Some(tree.from()),
        }
    }

    pub(super) fn content(&self) -> SkillContent<'_> {
        match &self.files {
            Files::Builtin(skill_md) => SkillContent::Builtin(skill_md),
            Files::Local { path, mode } => match mode {
                InstallMode::Linked => SkillContent::Link(path),
                InstallMode::Copied => SkillContent::Copy(path),
            },
            Files::Fetched(tree) => SkillContent::Copy(tree.path()),
        }
    }
}

/// Checks a fetched skill. The error names its place in the repository and not the folder of the fetch.
fn check_fetched(fetched: &FetchedTree) -> Result<String, SkillError> {
    check_skill(fetched.path()).map_err(|error| match error {
        SkillError::NotASkill { reason, .. } => {
            let FetchedFrom {
                repository,
                directory,
                ..
            } = fetched.from();
            SkillError::NotASkill {
                path: Path::new(repository).join(directory),
                reason,
            }
        }
        other => other,
    })
}
