//! Tells commands of agents from the operator, among the processes that connect to the socket.

use holon_domain::{AgentId, TaskId};
use holon_process::command_dir_of;
use holon_server::{PeerCommand, PeerFinder};
use std::path::{Path, PathBuf};

/// Finds commands by their shims, which hold the directory of their command open below this one.
#[derive(Debug)]
pub(crate) struct ShimPeers {
    claims: PathBuf,
}

impl ShimPeers {
    /// The commands of the host with this home.
    pub(crate) fn of_host(home: &Path) -> Self {
        // The system shows the files of a process by their real paths. The directory of the commands may not exist yet.
        let state = home.join("state");
        Self {
            claims: state.canonicalize().unwrap_or(state).join("tasks"),
        }
    }
}

impl PeerFinder for ShimPeers {
    fn command_of(&self, pid: i32) -> Option<PeerCommand> {
        let dir = command_dir_of(pid, &self.claims)?;
        command_at(&dir)
    }
}

/// Reads the names of the agent and the task from the directory of a command: `AGENT/TASK`, or `AGENT/TASK-NUMBER` if a
/// call has several commands.
fn command_at(dir: &Path) -> Option<PeerCommand> {
    let mut parts = dir.iter().filter_map(std::ffi::OsStr::to_str);
    let (agent, name) = (parts.next()?, parts.next()?);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let task = match name.rsplit_once('-') {
        Some((task, number)) if is_number(number) => task,
        Some(_) | None => name,
    };
    Some(PeerCommand {
        agent_id: AgentId::parse_stored(agent).ok()?,
        task_id: TaskId::from_stored(task),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_commands_is_named_by_its_real_path_before_it_exists() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap().join("real");
        std::fs::create_dir_all(real.join("state")).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(ShimPeers::of_host(&link).claims, real.join("state/tasks"));
    }

    #[test]
    fn the_directory_of_a_command_names_its_agent_and_its_task() {
        for (dir, task) in [
            ("scout/task_1a", "task_1a"),
            ("scout/task_1a-2", "task_1a"),
            ("scout/task_1a-b", "task_1a-b"),
        ] {
            let found = command_at(Path::new(dir)).unwrap();
            assert_eq!(found.agent_id.as_str(), "scout", "{dir}");
            assert_eq!(found.task_id.as_str(), task, "{dir}");
        }
        assert_eq!(command_at(Path::new("scout")), None);
    }
}
