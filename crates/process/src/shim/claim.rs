//! The exclusive claim of a spec: its lock, held for the shim's lifetime, and the mark that it was claimed.
//!
//! A record lock belongs to the process and not to the descriptor, so the command never holds it, not even between
//! fork and exec. The host takes the same lock and sets the same mark to make sure that a spec it gave up on will not
//! run.

use super::{StartResult, broken};
use crate::spec::ShimSpec;
use crate::wire::{CLAIMED, GIVEN_UP, LOCK};
use holon_domain::command::CommandFailure;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

/// A claimed spec. It is dropped when the shim exits.
#[derive(Debug)]
pub(super) struct ClaimLock {
    dir: OwnedFd,
    /// The file is never opened a second time: closing any of its descriptors would release the lock.
    lock: File,
}

impl ClaimLock {
    /// Claims the spec, or fails if it was claimed or given up before.
    pub(super) fn take(spec: &ShimSpec) -> StartResult<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&spec.claim_dir, flags, Mode::empty())
            .map_err(|error| broken("open the task's directory", &error.into()))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock =
            rustix::fs::openat(&dir, LOCK, flags, Mode::RUSR | Mode::WUSR).map_err(|error| {
                // Without a lock the command cannot be marked. Removing the directory, which only works while it is
                // empty, shows as well that nothing was started.
                rustix::fs::rmdir(&spec.claim_dir).ok();
                broken("open its lock", &error.into())
            })?;
        rustix::fs::fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_held| claimed(spec))?;
        let marked =
            rustix::fs::fstat(&lock).map_err(|error| broken("read its lock", &error.into()))?;
        if marked.st_size != 0 {
            return Err(claimed(spec));
        }
        let mark = format!("{CLAIMED} {}\n", spec.task_id);
        let mut lock = File::from(lock);
        lock.write_all(mark.as_bytes())
            .map_err(|error| broken("mark its lock", &error))?;
        Ok(Self { dir, lock })
    }

    /// Replaces the mark by the one of a spec that will not run. For a command that could not be started while there
    /// is no space to record that; the mark needs none.
    pub(super) fn give_up(&self) -> io::Result<()> {
        self.lock.write_all_at(GIVEN_UP.as_bytes(), 0)
    }

    pub(super) const fn dir(&self) -> &OwnedFd {
        &self.dir
    }
}

fn claimed(spec: &ShimSpec) -> CommandFailure {
    CommandFailure::Spawn {
        reason: format!(
            "task {} was started or given up before; a task is started once, so start a new one",
            spec.task_id
        ),
    }
}
