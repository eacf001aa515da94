//! Path confinement: an execution root and the directories inside it.
//!
//! Every result is a canonical path, so symbolic links and `..` are resolved before they are checked. The result holds
//! for the moment of the check: a command may change links afterwards. The check guides a well-meaning agent and is no
//! sandbox.

use crate::error::{Error, at};
use holon_domain::command::CommandFailure;
use std::io;
use std::path::{Path, PathBuf};

/// A directory that paths may not lead out of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRoot {
    path: PathBuf,
}

impl ExecutionRoot {
    /// Opens the directory at `path`, with links resolved.
    ///
    /// # Errors
    /// Fails if it is relative, missing, not a directory, or not UTF-8.
    pub fn open(path: &Path) -> Result<Self, Error> {
        canonical_dir("execution root", path).map(|path| Self { path })
    }

    /// Returns the canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if a canonical path lies inside.
    #[must_use]
    pub fn contains(&self, canonical: &Path) -> bool {
        canonical.starts_with(&self.path)
    }

    /// Resolves the directory `requested` against `base_cwd`; returns `base_cwd` itself if nothing is requested.
    ///
    /// # Errors
    /// `OutsideRoot` if it leads out, whether or not it exists; `MissingWorkdir` if it does not exist inside; `WorkdirNoDirectory` if it is something else; `Spawn` if the system refuses.
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
            // The existence of something outside is not revealed: a path that leads out is refused as such.
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

    /// Returns true if the nearest existing ancestor of an unresolvable path lies inside.
    fn contains_nearest(&self, path: &Path) -> bool {
        let nearest = path
            .ancestors()
            .skip(1)
            .find_map(|ancestor| ancestor.canonicalize().ok());
        nearest.is_some_and(|nearest| self.contains(&nearest))
    }
}

/// Returns the canonical path of an existing directory with a UTF-8 name.
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
