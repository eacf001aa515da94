//! The system's table of processes: who is there, whose child, since when, and in what state.
//!
//! A number says nothing about who has it; with the moment it began it does, as long as the system runs: moments are
//! counted in hundredths of a second, and numbers take far longer to come round. Nothing is signalled here, and
//! [`Process::handle`] is the only way to somebody who is to be: a descriptor that is opened first and compared with the
//! table afterwards, so that a number given to a stranger meanwhile leads nowhere.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// Names this start of the system.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// Leads to the space of numbers this process lives in.
const NUMBERS: &str = "/proc/self/ns/pid";

/// One process as the table lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// When it began, in ticks since the system did: with the number, who it is.
    pub(crate) began: u64,
    pub(crate) state: State,
}

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It runs, or would if it had something to do.
    Runs,
    /// Somebody suspended it.
    Suspended,
    /// It waits inside the system and hears no signal until that is over.
    Stuck,
    /// It has ended and nobody has taken note yet.
    Dead,
}

impl Process {
    /// Whether this is the same process at another moment.
    pub(crate) const fn is(&self, other: &Self) -> bool {
        self.pid == other.pid && self.began == other.began
    }

    /// A descriptor of this very process, and what the table says of it now; none when it is gone.
    pub(crate) fn handle(&self) -> Option<(OwnedFd, Self)> {
        let handle = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        let now = look(self.pid)?;
        now.is(self).then_some((handle, now))
    }
}

/// Everybody, as far as one look can tell; the list is not of one moment.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// Whoever has this number.
pub(crate) fn look(pid: i32) -> Option<Process> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a line of `/proc/<pid>/stat`.
///
/// The second field is the program's name in parentheses and may hold anything, so fields count from the last one.
pub(crate) fn parse(stat: &str) -> Option<Process> {
    let (pid, _) = stat.split_once(' ')?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    let state = match *fields.first()? {
        // A process whose first thread has ended looks dead while its others go on.
        "Z" | "X" | "x" if number(17)? > 1 => State::Runs,
        "Z" | "X" | "x" => State::Dead,
        "T" | "t" => State::Suspended,
        "D" => State::Stuck,
        _ => State::Runs,
    };
    Some(Process {
        pid: pid.parse().ok()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        began: fields.get(19)?.parse().ok()?,
        state,
    })
}

/// The name of the scheduler's group that a process is in. Each session gets a new one, so it tells two sessions of one
/// number apart; not every system has them.
pub(crate) fn scheduled_with(pid: i32) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()?;
    group_name(&line)
}

/// The name in a line of `/proc/<pid>/autogroup`.
pub(crate) fn group_name(line: &str) -> Option<String> {
    let name = line.split_whitespace().next()?;
    Some(name.to_owned())
}

/// Where a number and a beginning say who somebody is: one start of one system, and one space of numbers in it.
pub(crate) fn realm() -> Option<String> {
    let boot = std::fs::read_to_string(BOOT).ok()?;
    let numbers = std::fs::read_link(NUMBERS).ok()?;
    Some(format!("{} {}", boot.trim(), numbers.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, state: &str, threads: u32) -> String {
        format!("12 ({name}) {state} 7 9 8 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0")
    }

    #[test]
    fn a_programs_name_cannot_forge_its_family() {
        let expected = Process {
            pid: 12,
            parent: 7,
            group: 9,
            session: 8,
            began: 4711,
            state: State::Runs,
        };
        assert_eq!(parse(&line("sh", "S", 1)), Some(expected));
        assert_eq!(parse(&line("a) S 1 99 (b", "S", 1)), Some(expected));
        assert_eq!(parse("12"), None);
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let state = |state, threads| parse(&line("sh", state, threads)).unwrap().state;
        assert_eq!(state("Z", 1), State::Dead);
        assert_eq!(state("Z", 2), State::Runs);
        assert_eq!(state("T", 1), State::Suspended);
        assert_eq!(state("D", 1), State::Stuck);
    }

    #[test]
    fn a_number_of_another_beginning_leads_nowhere() {
        let us = look(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(us.handle().is_some());
        let another = Process {
            began: us.began + 1,
            ..us
        };
        assert!(another.handle().is_none());
    }
}
