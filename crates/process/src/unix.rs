//! System calls that need unsafe code: signals, closing descriptor ranges, and the setup of a child before exec.
//!
//! This is the only file of the crate with unsafe code. It runs in the shim, which has a single thread.
#![allow(
    unsafe_code,
    reason = "no safe interface exists for these system calls; each block says why it is sound"
)]

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource, Signal, getrlimit, setrlimit};
use std::ffi::{CStr, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// First descriptor after the three standard ones.
const FIRST_FD: libc::c_uint = 3;
const LAST_SIGNAL: c_int = 64;

/// Signals raised by a fault of this program; blocking them would hide where it happened.
const FAULTS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
];

/// Closes every descriptor except the standard three. Call it before this process opens any itself.
pub(crate) fn close_inherited() {
    // SAFETY: called first thing in main, so no value of ours owns a descriptor in this range.
    unsafe { libc::close_range(FIRST_FD, libc::c_uint::MAX, 0) };
}

/// Blocks every signal that can be blocked, and returns a descriptor that is readable when a child has ended.
///
/// The signals are not ignored, because an ignored signal stays ignored in the programs that are executed.
pub(crate) fn block_signals() -> io::Result<OwnedFd> {
    // SAFETY: the default disposition is always a valid one. Were SIGCHLD ignored, children would vanish unseen.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut children = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are initialised by sigfillset and sigemptyset before anything reads them, and the
    // descriptor that signalfd returns is new and has no other owner.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for fault in FAULTS {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::sigemptyset(children.as_mut_ptr());
        libc::sigaddset(children.as_mut_ptr(), libc::SIGCHLD);
        let failed = libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        match libc::signalfd(-1, children.as_ptr(), flags) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// The kind of a child's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// A pipe or `/dev/null`.
    Plain,
    /// A terminal, which becomes the child's controlling terminal.
    Terminal,
}

/// Files that identify a process and its scheduler group, one line each.
const IDENTITY_FILES: [&CStr; 2] = [c"/proc/self/stat", c"/proc/self/autogroup"];
/// Longer than any of these lines.
const LINE_BYTES: usize = 1024;

/// The setup of a child between fork and exec.
#[derive(Debug)]
pub(crate) struct ChildSetup {
    /// Parent of the child. The child is killed when the parent dies.
    pub(crate) parent: Pid,
    pub(crate) stdin: Stdin,
    pub(crate) niceness: i32,
    pub(crate) umask: Mode,
    /// Soft limit of open files; `None` keeps the parent's.
    pub(crate) open_files: Option<u64>,
    /// Descriptor of the birth record, to which the child appends its own lines.
    pub(crate) birth_record: Option<OwnedFd>,
}

impl ChildSetup {
    /// Registers this setup with the command.
    pub(crate) fn apply_to(self, command: &mut Command) {
        // SAFETY: `steps` makes only system calls that are safe between fork and exec; it allocates nothing
        // and takes no lock.
        unsafe { command.pre_exec(move || self.steps()) };
    }

    fn steps(&self) -> io::Result<()> {
        // The session is created first, while every signal is still blocked, so that no signal to the old group
        // arrives meanwhile.
        rustix::process::setsid()?;
        if self.stdin == Stdin::Terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(self.parent) {
            // The parent died before the death signal was set.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if let Some(birth_record) = &self.birth_record {
            // The command runs also without a birth record.
            IDENTITY_FILES
                .iter()
                .try_for_each(|path| copy(path, birth_record))
                .ok();
        }
        if let Some(open_files) = self.open_files {
            let mut limit = getrlimit(Resource::Nofile);
            limit.current = Some(
                limit
                    .maximum
                    .map_or(open_files, |most| most.min(open_files)),
            );
            setrlimit(Resource::Nofile, limit).ok();
        }
        // Fails if the limit is lower; the command runs anyway.
        rustix::process::nice(self.niceness).ok();
        rustix::process::umask(self.umask);
        // SAFETY: only marks descriptors to be closed by the coming exec; a system without it closes them too,
        // since all of ours carry that mark from the start.
        unsafe { libc::close_range(FIRST_FD, libc::c_uint::MAX, CLOSE_ON_EXEC) };
        reset_signals()
    }
}

/// Copies a short file. Safe between fork and exec, as it only makes system calls.
fn copy(path: &CStr, to: &OwnedFd) -> io::Result<()> {
    let from = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut line = [0; LINE_BYTES];
    let read = rustix::io::read(&from, &mut line)?;
    rustix::io::write(to, line.get(..read).unwrap_or_default())?;
    Ok(())
}

const CLOSE_ON_EXEC: c_int = libc::CLOSE_RANGE_CLOEXEC as c_int;

/// Sets every signal to its default and unblocks all, independent of what the host had set.
fn reset_signals() -> io::Result<()> {
    // The kernel's own form of an action: all zero is the default one, without flags. The library's calls refuse
    // the two signals it keeps for itself, which can be inherited as ignored all the same.
    let default = [0_u64; 8];
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: `default` is at least as large as what the kernel reads, and nothing is written back; numbers
        // that cannot be changed are refused.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null_mut::<u64>(),
                size_of::<u64>(),
            )
        };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised by sigemptyset before it is read.
    let failed = unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
    };
    match failed {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
