//! A private directory in which a backup or a home is put together, beside its final place.

use super::error::{BackupError, at};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A new directory of this user alone. Removed when it is dropped, unless it was moved away. A crash leaves it, under a
/// name that says what it was for.
#[derive(Debug)]
pub(super) struct Staging(PathBuf);

impl Staging {
    /// Creates a directory that did not exist, so that nothing in it is anyone else's.
    pub(super) fn create(parent: &Path, purpose: &str) -> Result<Self, BackupError> {
        let number =
            getrandom::u64().map_err(|error| at("created", parent)(io::Error::other(error)))?;
        let path = parent.join(format!(".holon-{purpose}-{number:016x}"));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(at("created", &path))?;
        Ok(Self(path))
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.0.display(), %error, "a temporary directory stays");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// Returns the directory of a path, which is the current one for a bare name.
pub(super) fn parent_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or_else(|| Path::new("."))
}
