//! Folders of fetches. Each is locked by its process while it is in use, so the next fetch can tell what a crash left.

use crate::error::{Error, at};
use crate::scratch;
use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// File in a folder whose lock its owner holds. The one in the directory of all folders is held while one is made.
const LOCK: &str = "lock";

/// A fresh folder, removed when it is dropped.
#[derive(Debug)]
pub(super) struct FetchFolder {
    path: PathBuf,
    /// Released with the process, also by a crash.
    _lock: File,
}

impl FetchFolder {
    /// Makes a folder in `dir`, and removes those whose owners are gone.
    pub(super) fn make(dir: &Path) -> Result<Self, Error> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(at("create", dir))?;
        let _alone = lock(dir, FlockOperation::LockExclusive)?;
        sweep(dir)?;
        let random = getrandom::u64().map_err(Error::Random)?;
        let path = dir.join(format!("{random:016x}"));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(at("create", &path))?;
        let lock = lock(&path, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FetchFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next fetch.
        scratch::remove_tree(&self.path).ok();
    }
}

/// Takes the lock of a directory.
fn lock(dir: &Path, how: FlockOperation) -> Result<File, Error> {
    let path = dir.join(LOCK);
    let opened = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path);
    let file = opened.map_err(at("create", &path))?;
    let locked = retry_on_intr(|| flock(&file, how));
    locked.map_err(|errno| at("lock", &path)(errno.into()))?;
    Ok(file)
}

/// Removes the folders that no fetch uses. The caller holds the lock of the directory.
fn sweep(dir: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(dir).map_err(at("list", dir))?;
    for folder in entries.flatten().map(|entry| entry.path()) {
        let is_folder = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
        if is_folder && lock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            scratch::remove_tree(&folder)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_lives_as_long_as_its_owner_and_what_a_crash_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second);
        {
            let used = FetchFolder::make(dir.path()).unwrap();
            first = used.path().to_owned();
            fs::write(first.join("x"), "x").unwrap();
            let left = dir.path().join("0123456789abcdef");
            fs::create_dir(&left).unwrap();
            fs::write(left.join("x"), "x").unwrap();
            let other = FetchFolder::make(dir.path()).unwrap();
            second = other.path().to_owned();
            assert!(first.join("x").exists(), "a folder in use stays");
            assert!(!left.exists(), "what a crash left is removed");
        }
        assert!(!first.exists() && !second.exists());
    }
}
