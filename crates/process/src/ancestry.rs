//! Finds the command that a process belongs to: the shim among its ancestors, and the directory that the shim holds open.
//!
//! Best effort. A shim adopts the orphans of its command, so ancestry survives a double fork. A process of another pid
//! namespace, or one that had another process connect for it, is not recognised.

use crate::shim::ARGUMENT;
use crate::table;
use crate::wire::LOCK;
use std::path::{Path, PathBuf};

/// Longest line of ancestors that is followed.
const DEPTH: usize = 128;

/// Returns the directory of the command that this process belongs to, relative to `claims`; `None` if no shim with a
/// directory below `claims` is among its ancestors.
#[must_use]
pub fn command_dir_of(pid: i32, claims: &Path) -> Option<PathBuf> {
    let mut pid = pid;
    for _ in 0..DEPTH {
        if pid <= 1 {
            return None;
        }
        if is_shim(pid)
            && let Some(dir) = claim_dir(pid, claims)
        {
            return Some(dir);
        }
        pid = table::find_pid(pid)?.parent;
    }
    None
}

/// Returns true if the process was started as a shim.
fn is_shim(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let second = line.split(|byte| *byte == 0).nth(1);
    second == Some(ARGUMENT.as_bytes())
}

/// Returns the directory of a shim's command, by the lock that the shim holds open as long as it lives.
fn claim_dir(pid: i32, claims: &Path) -> Option<PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let places = open
        .flatten()
        .filter_map(|file| std::fs::read_link(file.path()).ok());
    let mut locks = places.filter(|place| place.file_name().is_some_and(|name| name == LOCK));
    let lock = locks.find(|lock| lock.starts_with(claims))?;
    lock.parent()?
        .strip_prefix(claims)
        .ok()
        .map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_a_shim_among_its_ancestors_belongs_to_no_command() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(command_dir_of(own, Path::new("/")), None);
        assert_eq!(command_dir_of(1, Path::new("/")), None);
        assert_eq!(command_dir_of(0, Path::new("/")), None, "another namespace");
    }
}
