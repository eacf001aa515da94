//! The processes of a world's commands, read from the system's process table and never through the host.

use holon_testkit::World;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{
    Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, pidfd_open, pidfd_send_signal,
};
use std::path::{Path, PathBuf};

/// Number of checks of a list that must become empty; a process of it ends between two checks.
const LOOKS: u32 = 1_000;
/// Timeout for the end of a process; only a defect exceeds it.
const PATIENCE: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) line: String,
}

/// Lists every process that runs for an agent of this world, by its environment.
pub(crate) fn commands(world: &World) -> Vec<Process> {
    below(&world.home().join("agents"))
}

/// Lists every process that runs for an agent whose home is below this directory. A zombie has no environment and is
/// not listed.
pub(crate) fn below(dir: &Path) -> Vec<Process> {
    let variable = format!("HOLON_AGENT_HOME={}/", dir.display()).into_bytes();
    let is_ours = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(&variable))
    };
    numbers().filter(is_ours).map(process).collect()
}

/// Lists every shim of this world: the holders of the locks of command directories.
pub(crate) fn shims(world: &World) -> Vec<Process> {
    let agents = entries(&world.home().join("state/tasks"));
    let dirs = agents.flat_map(|agent| entries(&agent));
    dirs.filter_map(|dir| holder(&dir)).map(process).collect()
}

/// Returns the shim of one command.
pub(crate) fn shim(world: &World, agent: &str, task: &str) -> Option<i32> {
    let tasks = world.home().join("state/tasks");
    holder(&tasks.join(agent).join(task))
}

/// Lists the children of a process that have ended and were not reaped.
pub(crate) fn zombies(parent: u32) -> Vec<i32> {
    let is_one = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = rest.split_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&parent.to_string())
    };
    numbers().filter(is_one).collect()
}

/// Waits until no process runs for any agent of this world, and fails with a list of the rest.
pub(crate) fn assert_none_left(world: &World) {
    for _ in 0..LOOKS {
        let left: Vec<Process> = shims(world).into_iter().chain(commands(world)).collect();
        match left.first() {
            None => return,
            Some(process) => wait_for_end(process),
        }
    }
    panic!("{:?} {:?}", shims(world), commands(world));
}

fn wait_for_end(process: &Process) {
    let Some(handle) =
        Pid::from_raw(process.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
    else {
        return;
    };
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&PATIENCE));
    assert_eq!(ended, Ok(1), "it does not end: {process:?}");
}

/// Kills a process and waits for its end.
pub(crate) fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a process id");
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    pidfd_send_signal(&handle, Signal::KILL).ok();
    poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&PATIENCE)).ok();
}

/// Kills, when dropped, all processes that a failed test has left in its world. Declare it before the host.
#[derive(Debug)]
pub(crate) struct ProcessCleanup<'a>(pub(crate) &'a World);

impl Drop for ProcessCleanup<'_> {
    fn drop(&mut self) {
        for process in shims(self.0).into_iter().chain(commands(self.0)) {
            kill(process.pid);
        }
    }
}

fn holder(dir: &Path) -> Option<i32> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let lock = rustix::fs::open(dir.join("spec.lock"), flags, Mode::empty()).ok()?;
    let held = fcntl_getlk(&lock, &Flock::from(FlockType::WriteLock)).ok()??;
    Some(held.pid?.as_raw_pid())
}

fn process(pid: i32) -> Process {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    Process { pid, line }
}

fn numbers() -> impl Iterator<Item = i32> {
    let name = |path: PathBuf| path.file_name()?.to_str()?.parse().ok();
    entries(Path::new("/proc")).filter_map(name)
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let found = std::fs::read_dir(dir).ok();
    found
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}
