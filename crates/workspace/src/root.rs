//! Path confinement: an execution root and the directories inside it.
//!
//! Every answer is a canonical path, so symbolic links and `..` are judged by where they lead.
//! The answer holds for the moment it is given: what a command does to links afterwards is beyond this check,
//! which guides an agent that means well and is no sandbox.

use crate::error::{Error, at};
use holon_domain::command::CommandFailure;
use std::io;
use std::path::{Path, PathBuf};

/// A directory nothing may lead out of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRoot {
    path: PathBuf,
}

impl ExecutionRoot {
    /// The directory at `path`, links resolved.
    ///
    /// # Errors
    /// When it is relative, missing, no directory, or not text.
    pub fn open(path: &Path) -> Result<Self, Error> {
        canonical_dir("execution root", path).map(|path| Self { path })
    }

    /// Its canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a canonical path lies inside.
    #[must_use]
    pub fn contains(&self, canonical: &Path) -> bool {
        canonical.starts_with(&self.path)
    }

    /// The directory `requested` names, seen from `base_cwd`; `base_cwd` itself when nothing is requested.
    ///
    /// # Errors
    /// `OutsideRoot` when it leads out, whether or not there is anything; `MissingWorkdir` when there is nothing of
    /// that name inside; `WorkdirNoDirectory` when it is something else; `Spawn` when the system will not say.
    pub fn resolve_dir(
        &self,
        base_cwd: &Path,
        requested: Option<&str>,
    ) -> Result<PathBuf, CommandFailure> {
        let base = self.path.join(base_cwd);
        let asked = requested.map_or_else(|| base.clone(), |requested| base.join(requested));
        let workdir = || requested.map_or_else(|| base_cwd.display().to_string(), str::to_owned);
        let outside = || CommandFailure::OutsideRoot {
            workdir: workdir(),
            execution_root: self.path.display().to_string(),
        };
        match asked.canonicalize() {
            Ok(found) if !self.contains(&found) => Err(outside()),
            Ok(found) if !found.is_dir() => {
                Err(CommandFailure::WorkdirNoDirectory { workdir: workdir() })
            }
            Ok(found) => Ok(found),
            // Whether something outside exists is not told: what leads out is refused as such.
            Err(_) if !self.contains_nearest(&asked) => Err(outside()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(CommandFailure::Spawn {
                    reason: format!(
                        "working directory {} may not be entered; check its permissions",
                        workdir()
                    ),
                })
            }
            Err(_) => Err(CommandFailure::MissingWorkdir { workdir: workdir() }),
        }
    }

    /// Whether the nearest existing ancestor of a path that does not resolve lies inside.
    fn contains_nearest(&self, path: &Path) -> bool {
        let nearest = path
            .ancestors()
            .skip(1)
            .find_map(|ancestor| ancestor.canonicalize().ok());
        nearest.is_some_and(|nearest| self.contains(&nearest))
    }
}

/// The canonical form of an existing directory with a name that is text.
pub(crate) fn canonical_dir(what: &'static str, path: &Path) -> Result<PathBuf, Error> {
    if path.is_relative() {
        return Err(Error::Relative {
            what,
            path: path.to_owned(),
        });
    }
    let canonical = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing {
            what,
            path: path.to_owned(),
        },
        io::ErrorKind::NotADirectory => Error::NotADirectory {
            what,
            path: path.to_owned(),
        },
        _ => at("open", path)(error),
    })?;
    if !canonical.is_dir() {
        return Err(Error::NotADirectory {
            what,
            path: path.to_owned(),
        });
    }
    if canonical.to_str().is_none() {
        return Err(Error::NotUtf8 {
            what,
            path: canonical,
        });
    }
    Ok(canonical)
}
