//! The process that owns a home, as other processes see it: its note in the lock file, and whether the lock is held.

use crate::home::lock_path;
use rustix::fs::FlockOperation;
use rustix::process::{Pid, test_kill_process};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Line of an owner that is about to exit.
pub(crate) const LEAVING: &str = "leaving";
/// Line of an owner that is a host.
pub(crate) const HOST: &str = "host";
/// First word of the line with the owner's start time.
const STARTED: &str = "started";
/// Position of the start time among the fields of `/proc/PID/stat` that follow the name.
const START_FIELD: usize = 19;

/// The lines of a lock file. The lock decides who the owner is; the note says how to recognise it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OwnerNote {
    pub(crate) pid: Option<u32>,
    started: Option<u64>,
    is_host: bool,
    pub(crate) leaving: bool,
}

impl OwnerNote {
    pub(crate) fn of_this_process() -> Self {
        let pid = std::process::id();
        Self {
            pid: Some(pid),
            started: start_time(pid),
            ..Self::default()
        }
    }

    /// Reads the note; a file that cannot be read holds none.
    pub(crate) fn read(file: &mut File) -> Self {
        let mut text = String::new();
        match file.read_to_string(&mut text) {
            Ok(_) => Self::parse(&text),
            Err(_) => Self::default(),
        }
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let mut note = Self {
            pid: lines.next().and_then(|line| line.trim().parse().ok()),
            ..Self::default()
        };
        for line in lines {
            match line.split_once(' ') {
                Some((STARTED, ticks)) => note.started = ticks.trim().parse().ok(),
                None if line == HOST => note.is_host = true,
                None if line == LEAVING => note.leaving = true,
                // A line of a later build.
                Some(_) | None => {}
            }
        }
        note
    }
}

impl fmt::Display for OwnerNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pid) = self.pid {
            writeln!(f, "{pid}")?;
        }
        if let Some(started) = self.started {
            writeln!(f, "{STARTED} {started}")?;
        }
        Ok(())
    }
}

/// The living process that owns a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeOwner {
    pub pid: u32,
    /// Start time of the process in clock ticks since the boot, which tells it from a later process with the same id.
    /// Absent if the owner could not write it, or is of an earlier build.
    pub started: Option<u64>,
    /// True if the owner is a host. False for a single run, and for a host of an earlier build.
    pub is_host: bool,
    /// True if the owner is about to exit.
    pub leaving: bool,
}

/// Returns the living process that owns the home; `None` if it has no owner.
///
/// The lock is tried only if the named process lives. A process that starts on a free home is therefore never refused
/// because of this check.
#[must_use]
pub fn home_owner(home: &Path) -> Option<HomeOwner> {
    let mut file = File::open(lock_path(home)).ok()?;
    let note = OwnerNote::read(&mut file);
    let pid = note.pid?;
    let named = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let is_gone = test_kill_process(named) == Err(rustix::io::Errno::SRCH);
    if is_gone || rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
        return None;
    }
    Some(HomeOwner {
        pid,
        started: note.started,
        is_host: note.is_host,
        leaving: note.leaving,
    })
}

/// Returns true if this user may not look at the lock of the home, so that its owner cannot be told.
#[must_use]
pub fn is_home_denied(home: &Path) -> bool {
    File::open(lock_path(home))
        .is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Returns the id of the living process that owns the home; `None` if it has no owner.
#[must_use]
pub fn owner_pid(home: &Path) -> Option<u32> {
    home_owner(home).map(|owner| owner.pid)
}

/// Returns the start time of a process in clock ticks since the boot. Absent if there is no such process, and on
/// systems without `/proc`.
#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold spaces and parentheses itself.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(START_FIELD)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;

    #[test]
    fn a_home_has_an_owner_only_while_its_lock_is_held() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("home");
        assert_eq!(owner_pid(&path), None, "there is no home");
        let home = Home::open(&path).expect("opens");
        assert_eq!(owner_pid(&path), Some(std::process::id()));
        drop(home);
        assert_eq!(owner_pid(&path), None, "the lock file stays");
    }

    #[test]
    fn an_owner_is_known_by_its_start_time_and_says_what_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("home");
        let home = Home::open(&path).expect("opens");
        let owner = home_owner(&path).expect("is owned");
        assert!(owner.started.is_some());
        assert_eq!(owner.started, start_time(std::process::id()));
        assert!(!owner.is_host && !owner.leaving);
        home.note_host();
        home.note_leaving();
        let owner = home_owner(&path).expect("is owned");
        assert!(owner.is_host && owner.leaving);
    }

    #[test]
    fn notes_of_other_builds_are_read() {
        let note = OwnerNote::parse("12\nleaving\n");
        assert_eq!((note.pid, note.started), (Some(12), None));
        assert!(note.leaving);
        let note = OwnerNote::parse("12\nstarted 7\nregion north\nhost\n");
        assert_eq!((note.pid, note.started), (Some(12), Some(7)));
        assert!(note.is_host && !note.leaving);
        assert_eq!(OwnerNote::parse(""), OwnerNote::default());
    }
}
