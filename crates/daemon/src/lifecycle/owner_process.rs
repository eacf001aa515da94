//! The process that owns a home, held by a descriptor. It is signalled only if it is proven to be the owner.

use crate::error::Error;
use holon_store::{HomeOwner, home_owner, start_time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A handle of the owner's process. It stays that process's, also if the system uses the process id again.
#[derive(Debug)]
pub struct OwnerProcess {
    handle: Arc<OwnedFd>,
    owner: HomeOwner,
}

impl OwnerProcess {
    /// Opens the owner of a home; `None` if it is gone. The handle is opened first and the owner is checked after: a
    /// process that holds the lock, has the id of the note and began at the noted time is the one that wrote it.
    ///
    /// # Errors
    /// Fails if the system gives no handle, or the owner did not note when it began.
    pub fn of(home: &Path, owner: HomeOwner) -> Result<Option<Self>, Error> {
        let failed = |error: std::io::Error| Error::System {
            what: "open the process of the host",
            source: error,
        };
        let pid = i32::try_from(owner.pid).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else {
            return Ok(None);
        };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(None),
            Err(error) => return Err(failed(error.into())),
        };
        let Some(now) = home_owner(home) else {
            return Ok(None);
        };
        let is_same = now.pid == owner.pid && now.started == owner.started;
        if !is_same {
            return Ok(None);
        }
        if owner.started.is_none() || start_time(owner.pid) != owner.started {
            return Err(Error::OwnerUnproven { pid: owner.pid });
        }
        let handle = Arc::new(handle);
        Ok(Some(Self { handle, owner }))
    }

    /// Returns the id of the process, for people.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.owner.pid
    }

    /// Sends SIGTERM. A process that has ended meanwhile is no error.
    ///
    /// # Errors
    /// Fails if the system refuses it.
    pub fn terminate(&self) -> Result<(), Error> {
        self.signal(Signal::TERM)
    }

    /// Sends SIGKILL. A process that has ended meanwhile is no error.
    ///
    /// # Errors
    /// Fails if the system refuses it.
    pub fn kill(&self) -> Result<(), Error> {
        self.signal(Signal::KILL)
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        match pidfd_send_signal(&self.handle, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(Error::System {
                what: "signal the host",
                source: error.into(),
            }),
        }
    }

    /// Waits for the end of the process. Returns false if the time is over first.
    pub async fn wait(&self, patience: Duration) -> bool {
        let handle = Arc::clone(&self.handle);
        let timeout = Timespec::try_from(patience).ok();
        // A process handle becomes readable when its process ends, and stays so.
        let waiting = tokio::task::spawn_blocking(move || {
            let mut watched = [PollFd::new(&handle, PollFlags::IN)];
            poll(&mut watched, timeout.as_ref()) == Ok(1)
        });
        waiting.await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_store::Home;

    #[tokio::test]
    async fn only_the_process_that_holds_the_lock_and_began_when_it_says_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home");
        let home = Home::open(&path).unwrap();
        let owner = home_owner(&path).unwrap();
        let opened = OwnerProcess::of(&path, owner).unwrap().unwrap();
        assert_eq!(opened.pid(), std::process::id());
        assert!(!opened.wait(Duration::ZERO).await, "it runs");
        let other = HomeOwner {
            started: Some(1),
            ..owner
        };
        assert!(
            OwnerProcess::of(&path, other).unwrap().is_none(),
            "another process"
        );
        let pid = owner.pid;
        std::fs::write(home.lock_path(), format!("{pid}\nhost\n")).unwrap();
        let unnoted = home_owner(&path).unwrap();
        let refused = OwnerProcess::of(&path, unnoted);
        assert!(matches!(refused, Err(Error::OwnerUnproven { .. })));
        std::fs::write(home.lock_path(), format!("{pid}\nstarted 5\nhost\n")).unwrap();
        let reused = home_owner(&path).unwrap();
        let refused = OwnerProcess::of(&path, reused);
        assert!(
            matches!(refused, Err(Error::OwnerUnproven { .. })),
            "the id was used again"
        );
        drop(home);
        assert!(
            OwnerProcess::of(&path, owner).unwrap().is_none(),
            "no lock is held"
        );
    }
}
