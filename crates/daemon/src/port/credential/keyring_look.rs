//! Decides when the keyring is read again for a provider.
//!
//! The keyring itself cannot be watched: reading it may ask the user to unlock it. A profile that is stored in it with
//! this program also rewrites the credential file, so a changed file is the sign of a new credential.

use holon_config::{ProviderEntry, credentials};
use holon_domain::provider::AuthSource;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state of the credential file at one time. Differs after each replacement of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    seconds: i64,
    nanos: i64,
    bytes: u64,
}

impl FileStamp {
    /// Reads the stamp of the home's credential file for a provider whose profile may be in the keyring. `None` if the
    /// credential of this provider comes from elsewhere, or the file is missing.
    pub(super) fn read(entry: &ProviderEntry, home: &Path) -> Option<Self> {
        match entry.auth.source {
            AuthSource::Env | AuthSource::CredentialProfile => {}
            AuthSource::CredentialProcess | AuthSource::ExternalCli | AuthSource::None => {
                return None;
            }
        }
        let facts = std::fs::metadata(credentials::path(home)).ok()?;
        Some(Self {
            inode: facts.ino(),
            seconds: facts.mtime(),
            nanos: facts.mtime_nsec(),
            bytes: facts.len(),
        })
    }
}

/// The state of the credential file when the keyring was read last, by provider.
#[derive(Debug, Default)]
pub(super) struct KeyringLooks(Mutex<HashMap<String, FileStamp>>);

impl KeyringLooks {
    /// Records that the keyring is read for a provider.
    pub(super) fn note(&self, provider: &str, stamp: FileStamp) {
        self.lock().insert(provider.to_owned(), stamp);
    }

    /// Returns true if the credential file has changed since the keyring was read for a provider. False if it was not
    /// read yet: then the next request reads it.
    pub(super) fn is_outdated(&self, provider: &str, now: FileStamp) -> bool {
        self.lock().get(provider).is_some_and(|last| *last != now)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, FileStamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stamp(nanos: i64) -> FileStamp {
        FileStamp {
            inode: 1,
            seconds: 1,
            nanos,
            bytes: 1,
        }
    }

    #[test]
    fn the_keyring_is_read_again_once_after_each_change_of_the_file() {
        let looks = KeyringLooks::default();
        assert!(!looks.is_outdated("p", stamp(1)), "it was never read");
        looks.note("p", stamp(1));
        assert!(!looks.is_outdated("p", stamp(1)));
        assert!(looks.is_outdated("p", stamp(2)));
        looks.note("p", stamp(2));
        assert!(!looks.is_outdated("p", stamp(2)));
        assert!(!looks.is_outdated("other", stamp(2)));
    }
}
