//! Scheduling priorities: the host first, then the shim, then its command.
//!
//! Draining a flood of output must not take processor time from the host, so the shim is nicer than the host. It
//! stays ahead of the command, because otherwise a command that uses every processor would be slow to stop. On
//! systems with autogroups, niceness counts only inside the group, so the autogroup as a whole gets a niceness too. A
//! failure to set any of these is ignored.

use rustix::process::{Pid, getpid};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// Retry interval. The system accepts only a few autogroup changes per second, from all processes together.
const RETRY_INTERVAL: Duration = Duration::from_millis(150);
const RETRIES: u32 = 20;

/// Sessions whose autogroup niceness is still to be set.
#[derive(Debug)]
pub(super) struct PriorityChange {
    /// Session leaders and their niceness; the last entry is handled next.
    sessions: Vec<(Pid, u8)>,
    due: Instant,
    tries: u32,
}

impl PriorityChange {
    /// Sets the niceness of the shim, for a command that has just started with its own niceness, and schedules both
    /// sessions.
    pub(super) fn begin(command: Pid, niceness: u8, at: Instant) -> Self {
        let own = niceness / 2;
        rustix::process::nice(i32::from(own)).ok();
        let mut sessions = vec![(getpid(), own), (command, niceness)];
        sessions.retain(|(_, niceness)| *niceness > 0);
        Self {
            sessions,
            due: at,
            tries: RETRIES,
        }
    }

    /// Time of the next try; `None` if nothing is left to set.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.sessions.is_empty()).then_some(self.due)
    }

    /// Sets the autogroup niceness of the remaining sessions if the time has come.
    pub(super) fn advance(&mut self, at: Instant) {
        if self.due > at {
            return;
        }
        while let Some((leader, niceness)) = self.sessions.last() {
            let path = format!("/proc/{}/autogroup", leader.as_raw_pid());
            let written = std::fs::write(path, niceness.to_string());
            if written.is_err_and(|error| error.kind() == ErrorKind::WouldBlock) && self.tries > 0 {
                self.tries -= 1;
                self.due = at + RETRY_INTERVAL;
                return;
            }
            self.sessions.pop();
        }
    }

    /// Drops the remaining sessions: the command's pid may soon be reused.
    pub(super) fn forget(&mut self) {
        self.sessions.clear();
    }
}
