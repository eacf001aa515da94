//! A private directory in which a backup or a home is put together, beside its final place.

use super::error::{BackupError, at};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A new directory of this user alone. Removed when it is dropped, unless it was moved away. What a crash leaves is removed
/// by the next one of the same purpose beside it.
#[derive(Debug)]
pub(super) struct Staging {
    root: PathBuf,
    /// Locked as long as the directory is in use.
    _held: File,
}

impl Staging {
    /// Creates a directory that did not exist, so that nothing in it is anyone else's.
    pub(super) fn create(parent: &Path, purpose: &str) -> Result<Self, BackupError> {
        let prefix = format!(".holon-{purpose}-");
        remove_abandoned(parent, &prefix);
        let number =
            getrandom::u64().map_err(|error| at("created", parent)(io::Error::other(error)))?;
        let root = parent.join(format!("{prefix}{number:016x}"));
        let made = DirBuilder::new().mode(0o700).create(&root);
        made.map_err(at("created", &root))?;
        let held = File::open(&root).and_then(|held| held.lock().map(|()| held));
        let _held = held.map_err(at("created", &root))?;
        Ok(Self { root, _held })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.root.display(), %error, "a temporary directory stays");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// Removes directories that ended processes left. One that is in use is locked.
fn remove_abandoned(parent: &Path, prefix: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let is_named = entry.file_name().to_string_lossy().starts_with(prefix);
        is_named && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    for entry in left {
        let path = entry.path();
        let Ok(held) = File::open(&path) else {
            continue;
        };
        if held.try_lock().is_ok() && fs::remove_dir_all(&path).is_ok() {
            tracing::info!(path = %path.display(), "an unfinished directory of an ended process was removed");
        }
    }
}

/// Returns the directory of a path, which is the current one for a bare name.
pub(super) fn parent_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or_else(|| Path::new("."))
}

pub(super) fn sync_directory(directory: &Path) -> Result<(), BackupError> {
    let opened = File::open(directory).map_err(at("read", directory))?;
    opened.sync_all().map_err(at("written", directory))
}
