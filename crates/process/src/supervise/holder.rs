//! The lock of a task: who holds it, and making sure that nobody ever will.

use crate::wire::LOCK;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::process::{Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Whether a shim holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// One does.
    Yes,
    /// None does, and from now on none will.
    Never,
}

/// Looks, and when nobody holds the lock marks the spec, so that a shim that comes late does not run it.
pub(super) fn give_up_unless_held(state_dir: &Path) -> io::Result<Held> {
    let lock = open(state_dir, OFlags::CREATE)?;
    match rustix::fs::fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => return Ok(Held::Yes),
        Err(error) => return Err(error.into()),
    }
    if rustix::fs::fstat(&lock)?.st_size == 0 {
        rustix::io::write(&lock, b"given up\n")?;
    }
    Ok(Held::Never)
}

/// Signals the shim that holds the lock, and no other process whatever its number.
pub(super) fn signal(state_dir: &Path, signal: Signal) -> io::Result<()> {
    let lock = open(state_dir, OFlags::empty())?;
    let Some(pid) = holder(&lock)? else {
        return Ok(());
    };
    let shim = pidfd_open(pid, PidfdFlags::empty())?;
    // The number was the holder's before and is after; alive now, the process behind the descriptor had it meanwhile.
    if holder(&lock)? == Some(pid) && is_alive(&shim) {
        rustix::process::pidfd_send_signal(&shim, signal)?;
    }
    Ok(())
}

fn open(state_dir: &Path, extra: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | extra;
    let path = state_dir.join(LOCK);
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?)
}

fn holder(lock: &OwnedFd) -> io::Result<Option<Pid>> {
    let wanted = Flock::from(FlockType::WriteLock);
    Ok(fcntl_getlk(lock, &wanted)?.and_then(|held| held.pid))
}

/// A process that has ended makes its descriptor readable.
fn is_alive(process: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&at_once)) == Ok(0)
}
