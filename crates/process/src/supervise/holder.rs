//! The lock of a task: who holds it, and making sure that nobody ever will.
//!
//! A record lock belongs to the whole process and goes with the first descriptor of its file that is closed, so only
//! one of us at a time may have the file open.

use super::boot;
use crate::wire::{BORN, CLAIMED, GIVEN_UP, LOCK, SOCKET, UNFINISHED};
use holon_domain::time::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::process::{Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, pidfd_open};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a shim may keep somebody waiting before it is taken for suspended.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// More than the text of a lock is long.
const CLAIM_BYTES: usize = 512;

/// Who holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// A shim.
    Yes,
    /// Nobody. A shim did, and no other will.
    NotAnyMore,
    /// Nobody. None ever did, and from now on none will.
    Never,
}

/// Looks, and when nobody holds the lock marks the spec, so that a shim that comes late does not run it.
pub(super) fn give_up_unless_held(state_dir: &Path) -> io::Result<Held> {
    let _alone = alone();
    // A shim does not wait for its mark to be on disk, so a loss of power may have taken it, and its command can
    // remove it. Looked at before the lock is made, which changes the directory.
    let traces = [SOCKET, UNFINISHED, BORN].map(|name| state_dir.join(name));
    let certain = boot::is_since(state_dir)? && !traces.iter().any(|trace| trace.exists());
    let lock = match open(state_dir, OFlags::empty()) {
        // Only where there is none: on a file system that takes no writes at the moment, the flag alone would wait.
        Err(error) if error.kind() == io::ErrorKind::NotFound => open(state_dir, OFlags::CREATE)?,
        opened => opened?,
    };
    match rustix::fs::fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => return Ok(Held::Yes),
        Err(error) => return Err(error.into()),
    }
    if rustix::fs::fstat(&lock)?.st_size == 0 {
        if !certain {
            rustix::io::write(&lock, CLAIMED.as_bytes())?;
            return Ok(Held::NotAnyMore);
        }
        if rustix::io::write(&lock, GIVEN_UP.as_bytes()).is_err() {
            // A full disk may not take the text, but a length is text enough.
            rustix::fs::ftruncate(&lock, GIVEN_UP.len() as u64)?;
        }
        return Ok(Held::Never);
    }
    let mut text = [0; CLAIMED.len()];
    rustix::io::pread(&lock, &mut text, 0)?;
    let claimed = text == *CLAIMED.as_bytes();
    Ok(if claimed {
        Held::NotAnyMore
    } else {
        Held::Never
    })
}

/// What the lock says of the shim that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// The task it claimed; none while its mark is not written.
    pub(super) task_id: Option<String>,
    /// When it claimed the task.
    pub(super) at: Timestamp,
}

/// Reads the claim of the shim that holds the lock.
///
/// # Errors
/// When there is no lock, or it cannot be read.
pub(super) fn claim(state_dir: &Path) -> io::Result<Claim> {
    let _alone = alone();
    let lock = open(state_dir, OFlags::empty())?;
    let stat = rustix::fs::fstat(&lock)?;
    let mut text = [0; CLAIM_BYTES];
    let read = rustix::io::pread(&lock, &mut text, 0)?;
    let text = String::from_utf8_lossy(text.get(..read).unwrap_or_default());
    let task_id = text.strip_prefix(CLAIMED).map(str::trim);
    let millis = stat
        .st_mtime
        .saturating_mul(1_000)
        .saturating_add(i64::try_from(stat.st_mtime_nsec / 1_000_000).unwrap_or(0));
    Ok(Claim {
        task_id: task_id.map(str::to_owned),
        at: Timestamp::from_millis(millis),
    })
}

fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals the shim that holds the lock, if one does. Who is not there any more needs no signal.
pub(super) async fn send(state_dir: &Path, which: Signal) {
    let state_dir = state_dir.to_owned();
    let send = move || signal(&state_dir, which);
    drop(tokio::task::spawn_blocking(send).await);
}

/// Waits for something that a shim does. Its own command can suspend it, so it is woken now and then; to one that runs
/// this means nothing.
pub(super) async fn woken<T>(state_dir: &Path, what: impl Future<Output = T>) -> T {
    tokio::select! {
        done = what => done,
        never = wake(state_dir, PATIENCE) => match never {},
    }
}

/// Wakes the shim that holds the lock, again and again with so much time between.
pub(super) async fn wake(state_dir: &Path, every: Duration) -> Infallible {
    loop {
        tokio::time::sleep(every).await;
        send(state_dir, Signal::CONT).await;
    }
}

/// Signals the shim that holds the lock, and no other process whatever its number.
fn signal(state_dir: &Path, signal: Signal) -> io::Result<()> {
    let _alone = alone();
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
