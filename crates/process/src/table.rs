//! Reads the system's process table: pid, parent, group, session, start time and state.
//!
//! A pid alone does not identify a process. A pid together with its start time does, as long as the system runs:
//! start times are counted in hundredths of a second, and pids take far longer to wrap around. This file sends no
//! signals. [`Process::handle`] is the only way to get a descriptor for a signal: it opens the descriptor first and
//! compares the table entry afterwards, so that a reused pid is detected.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// File with the id of the current boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// Link that names the pid namespace of this process.
const PID_NAMESPACE: &str = "/proc/self/ns/pid";

/// One entry of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Start time in ticks since boot. Together with the pid it identifies the process.
    pub(crate) start_ticks: u64,
    pub(crate) state: ProcessState,
}

/// State of a process, reduced to what signals need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// The process runs or sleeps.
    Running,
    /// The process is stopped by a signal or a tracer.
    Suspended,
    /// The process is in uninterruptible sleep and handles no signal until it wakes.
    Stuck,
    /// The process has ended and is not reaped yet.
    Dead,
}

impl Process {
    /// Returns true if this is the same process, seen at another time.
    pub(crate) const fn is_same(&self, other: &Self) -> bool {
        self.pid == other.pid && self.start_ticks == other.start_ticks
    }

    /// Opens a descriptor of this process and returns it with the current table entry; `None` if the process is gone.
    pub(crate) fn handle(&self) -> Option<(OwnedFd, Self)> {
        let handle = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        let now = find_pid(self.pid)?;
        now.is_same(self).then_some((handle, now))
    }
}

/// Lists all processes. The list is not a snapshot of one moment.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| find_pid(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// Returns the process that has this pid now.
pub(crate) fn find_pid(pid: i32) -> Option<Process> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a line of `/proc/<pid>/stat`.
///
/// The second field is the program's name in parentheses and may contain any character, so fields are counted from
/// the last parenthesis.
pub(crate) fn parse(stat: &str) -> Option<Process> {
    let (pid, _) = stat.split_once(' ')?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    let state = match *fields.first()? {
        // A process whose first thread has ended looks dead while its other threads run.
        "Z" | "X" | "x" if number(17)? > 1 => ProcessState::Running,
        "Z" | "X" | "x" => ProcessState::Dead,
        "T" | "t" => ProcessState::Suspended,
        "D" => ProcessState::Stuck,
        _ => ProcessState::Running,
    };
    Some(Process {
        pid: pid.parse().ok()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start_ticks: fields.get(19)?.parse().ok()?,
        state,
    })
}

/// Returns the name of the autogroup that a process is in. Each session gets a new one, so it distinguishes two
/// sessions with the same number. Not every system has autogroups.
pub(crate) fn autogroup_of(pid: i32) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()?;
    parse_autogroup(&line)
}

/// Parses the name from a line of `/proc/<pid>/autogroup`.
pub(crate) fn parse_autogroup(line: &str) -> Option<String> {
    let name = line.split_whitespace().next()?;
    Some(name.to_owned())
}

/// Returns the scope in which a pid and a start time identify a process: one boot, and one pid namespace.
pub(crate) fn pid_scope() -> Option<String> {
    let boot = std::fs::read_to_string(BOOT).ok()?;
    let namespace = std::fs::read_link(PID_NAMESPACE).ok()?;
    Some(format!("{} {}", boot.trim(), namespace.to_str()?))
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
            start_ticks: 4711,
            state: ProcessState::Running,
        };
        assert_eq!(parse(&line("sh", "S", 1)), Some(expected));
        assert_eq!(parse(&line("a) S 1 99 (b", "S", 1)), Some(expected));
        assert_eq!(parse("12"), None);
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let state = |state, threads| parse(&line("sh", state, threads)).unwrap().state;
        assert_eq!(state("Z", 1), ProcessState::Dead);
        assert_eq!(state("Z", 2), ProcessState::Running);
        assert_eq!(state("T", 1), ProcessState::Suspended);
        assert_eq!(state("D", 1), ProcessState::Stuck);
    }

    #[test]
    fn a_number_of_another_beginning_leads_nowhere() {
        let this = find_pid(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(this.handle().is_some());
        let another = Process {
            start_ticks: this.start_ticks + 1,
            ..this
        };
        assert!(another.handle().is_none());
    }
}
