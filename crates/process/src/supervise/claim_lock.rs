//! The lock of a command: finds out whether a shim holds it, signals its holder, and marks it so that no shim takes it
//! later.
//!
//! A record lock belongs to the whole process and is released when any descriptor of its file is closed, so only one
//! thread at a time may have the file open.

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

/// Time after which a shim that does not answer is assumed to be suspended.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Longer than the text of any lock.
const CLAIM_BYTES: usize = 512;

/// State of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    /// A shim holds it.
    Held,
    /// A shim held it and is gone; no other shim will take it.
    Released,
    /// No shim ever held it, and from now on none will.
    NeverHeld,
}

/// Checks the lock. If it is free, marks the spec so that a slow shim does not run it.
pub(super) fn mark_unless_held(claim_dir: &Path) -> io::Result<LockState> {
    let _guard = open_guard();
    // A shim does not sync its mark, so a power failure may have lost it, and its command can remove it. The
    // directory is checked before the lock is created, because that changes the directory.
    let traces = [SOCKET, UNFINISHED, BORN].map(|name| claim_dir.join(name));
    let is_conclusive =
        boot::is_from_this_boot(claim_dir)? && !traces.iter().any(|trace| trace.exists());
    let lock = match open(claim_dir, OFlags::empty()) {
        // Created only if missing: on a file system that blocks writes at the moment, `CREATE` alone would block.
        Err(error) if error.kind() == io::ErrorKind::NotFound => open(claim_dir, OFlags::CREATE)?,
        opened => opened?,
    };
    match rustix::fs::fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => return Ok(LockState::Held),
        Err(error) => return Err(error.into()),
    }
    if rustix::fs::fstat(&lock)?.st_size == 0 {
        if !is_conclusive {
            rustix::io::write(&lock, CLAIMED.as_bytes())?;
            return Ok(LockState::Released);
        }
        if rustix::io::write(&lock, GIVEN_UP.as_bytes()).is_err() {
            // A full disk may not accept the text, but the length alone is enough.
            rustix::fs::ftruncate(&lock, GIVEN_UP.len() as u64)?;
        }
        return Ok(LockState::NeverHeld);
    }
    let mut text = [0; CLAIMED.len()];
    rustix::io::pread(&lock, &mut text, 0)?;
    let claimed = text == *CLAIMED.as_bytes();
    Ok(if claimed {
        LockState::Released
    } else {
        LockState::NeverHeld
    })
}

/// The claim of a shim, read from the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LockClaim {
    /// Id of the claimed command; `None` while the mark is not written.
    pub(super) task_id: Option<String>,
    /// Time of the claim, from the lock file's modification time.
    pub(super) at: Timestamp,
}

/// Reads the claim of the shim that holds the lock.
///
/// # Errors
/// Fails if there is no lock or it cannot be read.
pub(super) fn claim(claim_dir: &Path) -> io::Result<LockClaim> {
    let _guard = open_guard();
    let lock = open(claim_dir, OFlags::empty())?;
    let stat = rustix::fs::fstat(&lock)?;
    let mut text = [0; CLAIM_BYTES];
    let read = rustix::io::pread(&lock, &mut text, 0)?;
    let text = String::from_utf8_lossy(text.get(..read).unwrap_or_default());
    let task_id = text.strip_prefix(CLAIMED).map(str::trim);
    let millis = stat
        .st_mtime
        .saturating_mul(1_000)
        .saturating_add(i64::try_from(stat.st_mtime_nsec / 1_000_000).unwrap_or(0));
    Ok(LockClaim {
        task_id: task_id.map(str::to_owned),
        at: Timestamp::from_millis(millis),
    })
}

fn open_guard() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a signal to the shim that holds the lock, if there is one.
pub(super) async fn send(claim_dir: &Path, signal: Signal) {
    let claim_dir = claim_dir.to_owned();
    let send = move || signal_holder(&claim_dir, signal);
    drop(tokio::task::spawn_blocking(send).await);
}

/// Waits for `future`, which depends on a shim. Sends SIGCONT to the shim periodically, because its own command can
/// suspend it. SIGCONT does not affect a running shim.
pub(super) async fn with_wakeups<T>(claim_dir: &Path, future: impl Future<Output = T>) -> T {
    tokio::select! {
        done = future => done,
        never = wake_periodically(claim_dir, PATIENCE) => match never {},
    }
}

/// Sends SIGCONT to the shim that holds the lock, at this interval, until cancelled.
pub(super) async fn wake_periodically(claim_dir: &Path, interval: Duration) -> Infallible {
    loop {
        tokio::time::sleep(interval).await;
        send(claim_dir, Signal::CONT).await;
    }
}

/// Signals the shim that holds the lock. A process that has reused its pid is never signalled.
fn signal_holder(claim_dir: &Path, signal: Signal) -> io::Result<()> {
    let _guard = open_guard();
    let lock = open(claim_dir, OFlags::empty())?;
    let Some(pid) = holder(&lock)? else {
        return Ok(());
    };
    let shim = pidfd_open(pid, PidfdFlags::empty())?;
    // The pid was the holder's before and after the descriptor was opened, and the process is alive, so the
    // descriptor is the holder's.
    if holder(&lock)? == Some(pid) && is_alive(&shim) {
        rustix::process::pidfd_send_signal(&shim, signal)?;
    }
    Ok(())
}

fn open(claim_dir: &Path, extra: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | extra;
    let path = claim_dir.join(LOCK);
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?)
}

fn holder(lock: &OwnedFd) -> io::Result<Option<Pid>> {
    let request = Flock::from(FlockType::WriteLock);
    Ok(fcntl_getlk(lock, &request)?.and_then(|held| held.pid))
}

/// The descriptor of a process becomes readable when the process ends.
fn is_alive(process: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&at_once)) == Ok(0)
}
