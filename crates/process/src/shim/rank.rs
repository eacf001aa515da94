//! Who comes first when processors are short: the host, then the shim, then its command.
//!
//! A shim works for its command alone, so draining a flood may not cost the host a share of its own. It stays ahead
//! of the command all the same, or a command that keeps every processor busy would be slow to be stopped.
//! Where each session is a scheduler's group of its own, niceness counts only inside the group and the group has to
//! step back as a whole. All of this is a favour: a system that does not grant it runs the command just as well.

use rustix::process::{Pid, getpid};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// The system takes few requests of groups a second, from all processes together; how soon to ask again.
const PAUSE: Duration = Duration::from_millis(150);
/// And how often.
const TRIES: u32 = 20;

/// Sessions that still have to step back.
#[derive(Debug)]
pub(super) struct StepBack {
    /// Their leaders and how far; the last is the next.
    sessions: Vec<(Pid, u8)>,
    due: Instant,
    tries: u32,
}

impl StepBack {
    /// Steps back from now on, for a command that has just begun and is as nice as it shall be.
    pub(super) fn begin(command: Pid, niceness: u8, at: Instant) -> Self {
        let own = niceness / 2;
        rustix::process::nice(i32::from(own)).ok();
        let mut sessions = vec![(getpid(), own), (command, niceness)];
        sessions.retain(|(_, niceness)| *niceness > 0);
        Self {
            sessions,
            due: at,
            tries: TRIES,
        }
    }

    /// When to ask the system, while there is something to ask for.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.sessions.is_empty()).then_some(self.due)
    }

    /// Asks if it is time, for one session after the other.
    pub(super) fn advance(&mut self, at: Instant) {
        if self.due > at {
            return;
        }
        while let Some((leader, niceness)) = self.sessions.last() {
            let path = format!("/proc/{}/autogroup", leader.as_raw_pid());
            let asked = std::fs::write(path, niceness.to_string());
            if asked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock) && self.tries > 0 {
                self.tries -= 1;
                self.due = at + PAUSE;
                return;
            }
            self.sessions.pop();
        }
    }

    /// Asks for nothing more: the command's number may soon be another's.
    pub(super) fn forget(&mut self) {
        self.sessions.clear();
    }
}
