//! The lock that makes starts and stops of one home take turns. It is not the home's lock: a host does not need it.
//!
//! A command has its turn only while it launches or stops a host of its own. It does not have it while it waits for the
//! answer of a host that another command launched, so that a stop of a host that hangs goes ahead at once.

use crate::error::Error;
use crate::files;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest lock file that is read: one decimal number.
const MAX_BYTES: u64 = 32;

/// The turn of this process. The system releases it when the process ends.
#[derive(Debug)]
pub struct LifecycleLock(File);

impl LifecycleLock {
    /// Waits for the turn of this process. The home must exist.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or others take longer than `patience`.
    pub async fn take(home: &Path, patience: Duration) -> Result<Self, Error> {
        let path = lock_path(home);
        let failed = |source| Error::File {
            path: path.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(&path).map_err(failed)?;
        // The system wakes the thread. If the time is over first, the process ends and the thread with it.
        let taking = tokio::task::spawn_blocking(move || {
            flock(&file, FlockOperation::LockExclusive).map(|()| Self(file))
        });
        match tokio::time::timeout(patience, taking).await {
            Ok(Ok(taken)) => taken.map_err(|error| failed(error.into())),
            Ok(Err(ended)) => Err(failed(std::io::Error::other(ended))),
            Err(_) => Err(Error::LifecycleBusy {
                home: home.to_owned(),
            }),
        }
    }

    /// Counts a stop in the lock file. A start that waited meanwhile launches no host after it. A count that is lost,
    /// because the disk is full, lets that start launch one.
    pub fn note_stop(&mut self, home: &Path) {
        let text = (stops(home) + 1).to_string();
        let written = self
            .0
            .rewind()
            .and_then(|()| self.0.write_all(text.as_bytes()))
            .and_then(|()| self.0.set_len(text.len() as u64));
        if let Err(error) = written {
            tracing::debug!(%error, "a stop was not counted");
        }
    }
}

/// Returns the number of stops that were counted in a home.
#[must_use]
pub fn stops(home: &Path) -> u64 {
    let text = files::read_bounded(&lock_path(home), MAX_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.trim().parse().unwrap_or(0)
}

fn lock_path(home: &Path) -> PathBuf {
    home.join("run").join("lifecycle.lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stops_are_counted_and_one_process_has_the_turn() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("run")).unwrap();
        assert_eq!(stops(home.path()), 0, "there is no file");
        let patience = Duration::from_millis(50);
        let mut turn = LifecycleLock::take(home.path(), patience).await.unwrap();
        turn.note_stop(home.path());
        turn.note_stop(home.path());
        assert_eq!(stops(home.path()), 2);
        let other = LifecycleLock::take(home.path(), patience).await;
        assert!(matches!(other, Err(Error::LifecycleBusy { .. })));
        drop(turn);
        let turn = LifecycleLock::take(home.path(), Duration::from_secs(5)).await;
        assert!(turn.is_ok());
        assert_eq!(stops(home.path()), 2, "the count stays");
    }
}
