//! The processes of one storm, found in the process table: shims that may be killed, and processes left at the end.
//!
//! No process is signalled by its pid alone. A shim is a process that was started as one and holds the lock in a
//! command's directory in the storm's own home; the host holds that lock briefly when it gives a command up. A shim
//! is signalled through a pidfd that was opened before the lock was checked again.

use rustix::fs::{Mode, OFlags};
use rustix::process::{
    Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, pidfd_open, pidfd_send_signal,
};
use std::path::{Path, PathBuf};

/// Directories of all commands in this home whose shims are alive.
pub(crate) fn live_command_dirs(home: &Path) -> Vec<PathBuf> {
    let agents = entries(&home.join("state/tasks"));
    let commands = agents.flat_map(|agent| entries(&agent));
    let mut live: Vec<PathBuf> = commands.filter(|dir| lock_holder(dir).is_some()).collect();
    live.sort();
    live
}

/// Kills the shim of the command in this directory. Returns false if it was gone already.
pub(crate) fn kill_shim(dir: &Path) -> bool {
    let Some(pid) = lock_holder(dir) else {
        return false;
    };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    // The pidfd always refers to the same process; the lock proves that it is still the shim.
    lock_holder(dir) == Some(pid) && pidfd_send_signal(&handle, Signal::KILL).is_ok()
}

/// Lists every process whose command line, environment or working directory contains this path.
pub(crate) fn processes_using(path: &Path) -> Vec<String> {
    let path = path.display().to_string();
    let found = entries(Path::new("/proc")).filter_map(|process| {
        let number: u32 = process.file_name()?.to_str()?.parse().ok()?;
        let read = |name: &str| {
            let bytes = std::fs::read(process.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let line = read("cmdline");
        let cwd = std::fs::read_link(process.join("cwd")).unwrap_or_default();
        let is_named = line.contains(&path)
            || read("environ").contains(&path)
            || cwd.display().to_string().contains(&path);
        is_named.then(|| format!("{number} {line}"))
    });
    found.collect()
}

fn lock_holder(dir: &Path) -> Option<Pid> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let lock = rustix::fs::open(dir.join("spec.lock"), flags, Mode::empty()).ok()?;
    fcntl_getlk(&lock, &Flock::from(FlockType::WriteLock))
        .ok()??
        .pid
        .filter(|pid| is_shim(*pid))
}

/// Returns true if a process was started as a shim.
fn is_shim(pid: Pid) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"__shim")
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let found = std::fs::read_dir(dir).ok();
    found
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_a_lock_has_no_shim_to_kill() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!kill_shim(dir.path()));
        std::fs::write(dir.path().join("spec.lock"), "").unwrap();
        assert!(!kill_shim(dir.path()));
        assert!(live_command_dirs(dir.path()).is_empty());
    }

    #[test]
    fn a_process_is_found_by_the_directory_it_works_in() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let mut child = std::process::Command::new("cat")
            .current_dir(&path)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(processes_using(&path).len(), 1);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(processes_using(&path).is_empty());
    }
}
