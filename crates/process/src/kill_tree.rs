//! Signals proven processes and kills whole families of processes.
//!
//! A family is suspended before it is killed, so that no member sees another one die and starts new processes. The
//! implementation of [`Family`] decides which processes belong to it. No process is signalled by its number alone.

use crate::table::{Process, ProcessState};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

/// Number of rounds of SIGSTOP before the family is killed anyway, in case another process keeps waking it.
const ROUNDS: u32 = 20;

/// A set of related processes, and the proof that a process belongs to it.
pub(crate) trait Family {
    /// Lists the living members, as far as one scan can tell.
    fn members(&self) -> Vec<Process>;

    /// Returns true if a process that was found, and is now held by a descriptor, still belongs to the family.
    fn contains(&self, now: &Process, found: &[Process]) -> bool;
}

/// Processes that were still alive in a kill round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KillProgress {
    /// Members that were sent SIGKILL in this round.
    pub(crate) dying: u32,
    /// Members in uninterruptible sleep, or that may not be signalled.
    pub(crate) unkillable: u32,
}

/// Result of sending a signal to one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignalResult {
    Delivered,
    /// The process is gone or does not belong to the family.
    Gone,
    /// The process belongs to another user by now.
    Refused,
}

/// Signals the `members` of a family, given everything that was `found` of it.
pub(crate) fn signal(family: &impl Family, members: &[Process], found: &[Process], signal: Signal) {
    for member in members {
        send(family, member, found, signal);
    }
}

/// Sends SIGKILL to all members once. Repeat it until none is left, because a scan misses processes that are just
/// being forked.
pub(crate) fn kill_round(family: &impl Family) -> KillProgress {
    let (found, refused) = suspend(family);
    let mut progress = KillProgress::default();
    // Youngest first: if a parent dies before its suspended children, the system wakes them.
    for member in found.iter().rev() {
        let sent = send(family, member, &found, Signal::KILL);
        let is_unkillable = member.state == ProcessState::Stuck || refused.contains(&member.pid);
        match sent {
            SignalResult::Delivered if !is_unkillable => progress.dying += 1,
            SignalResult::Delivered | SignalResult::Refused => progress.unkillable += 1,
            SignalResult::Gone => {}
        }
    }
    progress
}

/// Sends SIGSTOP to all members. Returns the members and the pids of those that could not be signalled.
fn suspend(family: &impl Family) -> (Vec<Process>, Vec<i32>) {
    let mut refused: Vec<i32> = Vec::new();
    let mut found = family.members();
    for _ in 0..ROUNDS {
        let mut running = false;
        for member in &found {
            let can_suspend =
                member.state != ProcessState::Suspended && !refused.contains(&member.pid);
            if !can_suspend {
                continue;
            }
            match send(family, member, &found, Signal::STOP) {
                // A process in uninterruptible sleep is suspended when it wakes.
                SignalResult::Delivered => running |= member.state == ProcessState::Running,
                SignalResult::Gone => running = true,
                SignalResult::Refused => refused.push(member.pid),
            }
        }
        if !running {
            break;
        }
        found = family.members();
    }
    (found, refused)
}

fn send(family: &impl Family, member: &Process, found: &[Process], signal: Signal) -> SignalResult {
    let Some((handle, now)) = member.handle() else {
        return SignalResult::Gone;
    };
    if now.state == ProcessState::Dead || !family.contains(&now, found) {
        return SignalResult::Gone;
    }
    match pidfd_send_signal(&handle, signal) {
        Ok(()) => SignalResult::Delivered,
        Err(Errno::PERM) => SignalResult::Refused,
        Err(_) => SignalResult::Gone,
    }
}
