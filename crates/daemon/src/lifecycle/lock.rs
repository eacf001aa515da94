//! The lock that makes starts and stops of one home take turns. It is not the home's lock: a host does not need it.

use crate::error::Error;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// The turn of this process. The system releases it when the process ends.
#[derive(Debug)]
pub struct LifecycleLock(#[expect(dead_code, reason = "holds the lock while it is open")] File);

impl LifecycleLock {
    /// Waits for the turn of this process. The home must exist.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or others take longer than `patience`.
    pub async fn take(home: &Path, patience: Duration) -> Result<Self, Error> {
        let path = home.join("run").join("lifecycle.lock");
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
}
