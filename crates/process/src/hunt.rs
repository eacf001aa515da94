//! Signals to processes that are proven, and the end of whole families.
//!
//! A family is suspended before it is killed, so that nobody is left running who sees another die and starts more.
//! Whom a family consists of is decided by whoever asks; nobody is signalled by a number alone.

use crate::table::{Process, State};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

/// How often a family is suspended again before it is killed as it is: somebody may keep waking it.
const ROUNDS: u32 = 20;

/// Who belongs to a family, and how that is proven.
pub(crate) trait Family {
    /// Everybody alive, as far as one look can tell.
    fn members(&self) -> Vec<Process>;

    /// Whether a process that was found, and cannot be taken for another any more, still belongs to it.
    fn has(&self, now: &Process, found: &[Process]) -> bool;
}

/// What a hunt left for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Left {
    /// Who was told to die just now.
    pub(crate) dying: u32,
    /// Who is stuck inside the system or may not be signalled.
    pub(crate) beyond: u32,
}

/// What came of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Yes,
    /// It is gone, or not of the family.
    Nobody,
    /// It is another user's by now.
    Refused,
}

/// Signals some `members` of what was `found` of a family.
pub(crate) fn signal(family: &impl Family, members: &[Process], found: &[Process], signal: Signal) {
    for member in members {
        send(family, member, found, signal);
    }
}

/// Kills everybody once. To be repeated until nobody is left, since who was just being born is not seen.
pub(crate) fn round(family: &impl Family) -> Left {
    let (found, refused) = suspend(family);
    let mut left = Left::default();
    // The youngest first: a parent that dies before its suspended children would have them woken by the system.
    for member in found.iter().rev() {
        let sent = send(family, member, &found, Signal::KILL);
        let is_beyond = member.state == State::Stuck || refused.contains(&member.pid);
        match sent {
            Sent::Yes if !is_beyond => left.dying += 1,
            Sent::Yes | Sent::Refused => left.beyond += 1,
            Sent::Nobody => {}
        }
    }
    left
}

/// Suspends everybody, and returns who is there and who of them did not take it.
fn suspend(family: &impl Family) -> (Vec<Process>, Vec<i32>) {
    let mut refused: Vec<i32> = Vec::new();
    let mut found = family.members();
    for _ in 0..ROUNDS {
        let mut running = false;
        for member in &found {
            let takes_it = member.state != State::Suspended && !refused.contains(&member.pid);
            if !takes_it {
                continue;
            }
            match send(family, member, &found, Signal::STOP) {
                // Who is stuck will be suspended when it is not any more.
                Sent::Yes => running |= member.state == State::Runs,
                Sent::Nobody => running = true,
                Sent::Refused => refused.push(member.pid),
            }
        }
        if !running {
            break;
        }
        found = family.members();
    }
    (found, refused)
}

fn send(family: &impl Family, member: &Process, found: &[Process], signal: Signal) -> Sent {
    let Some((handle, now)) = member.handle() else {
        return Sent::Nobody;
    };
    if now.state == State::Dead || !family.has(&now, found) {
        return Sent::Nobody;
    }
    match pidfd_send_signal(&handle, signal) {
        Ok(()) => Sent::Yes,
        Err(Errno::PERM) => Sent::Refused,
        Err(_) => Sent::Nobody,
    }
}
