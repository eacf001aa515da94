//! Claim folders: the host's evidence that commands and patches of its agents ran.
//!
//! They are under the host's state and not in an agent's home, so a command that empties its home or workspace does not
//! delete them. Each agent has one folder, with a directory for each of its commands, the journals of its patches and
//! the record of its attached directory. The folder is created with the first of these and removed with the agent.

use crate::error::Error;
use crate::home::remove_home;
use holon_domain::AgentId;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Path of the agents' folders under the host's home.
const TASKS: [&str; 2] = ["state", "tasks"];
/// Directories under the host's home that no command or patch may work in.
const RESERVED: [&str; 2] = ["state", "run"];

/// The claim folders of all agents of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimFolders {
    /// Home of the host.
    host: PathBuf,
    /// Directory of the agents' folders.
    root: PathBuf,
}

impl ClaimFolders {
    /// Returns the claims of the host with this home.
    #[must_use]
    pub fn of_host(home: &Path) -> Self {
        let mut root = home.to_owned();
        root.extend(TASKS);
        Self {
            host: home.to_owned(),
            root,
        }
    }

    /// Returns the real path of an execution root that a link leads into, or around, the host's own directories; `None`
    /// if no link leads there. The workspace was checked when it was named, and a link has taken its place since.
    #[must_use]
    pub fn linked_target(&self, execution_root: &Path) -> Option<PathBuf> {
        let target = execution_root.canonicalize().ok()?;
        let is_reached = |part: &str| {
            let own = self.host.join(part);
            let own = own.canonicalize().unwrap_or(own);
            own.starts_with(&target) || target.starts_with(&own)
        };
        (target != execution_root && RESERVED.into_iter().any(is_reached)).then_some(target)
    }

    /// Returns the folder of the agent with this home, whose last component is the agent's id. It may not exist yet.
    #[must_use]
    pub fn of_agent(&self, agent_home: &Path) -> PathBuf {
        self.root.join(agent_home.file_name().unwrap_or_default())
    }

    /// Removes the folder of an agent without running commands. Idempotent.
    ///
    /// # Errors
    /// Fails if the filesystem refuses. The rest then has a temporary name, and the next attempt continues with it.
    pub fn remove(&self, agent_id: &AgentId) -> Result<(), Error> {
        remove_home(&self.root, agent_id)
    }
}

/// Creates a directory and its missing parents, readable by this user alone, and returns true if the directory itself
/// was created. The result survives a power failure: a directory that does not exist proves that nothing was started in
/// it.
///
/// # Errors
/// Fails if the filesystem refuses.
pub fn make_private_dir(dir: &Path) -> io::Result<bool> {
    let Some(parent) = dir.parent().filter(|_| !dir.is_dir()) else {
        return Ok(false);
    };
    make_private_dir(parent)?;
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(error),
    }
    File::open(parent)?.sync_all()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_directory_is_made_with_its_parents_for_this_user_alone_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("state/tasks/main/task_1");
        assert!(make_private_dir(&deep).unwrap());
        assert!(!make_private_dir(&deep).unwrap());
        for path in deep.ancestors().take(4) {
            let mode = std::fs::metadata(path).unwrap().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
        std::fs::write(dir.path().join("file"), "").unwrap();
        make_private_dir(&dir.path().join("file/below")).unwrap_err();
    }

    #[test]
    fn only_a_link_to_the_hosts_own_directories_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let host = dir.path().canonicalize().unwrap();
        let claims = ClaimFolders::of_host(&host);
        for part in ["state/tasks", "run", "project"] {
            std::fs::create_dir_all(host.join(part)).unwrap();
        }
        let link = host.join("link");
        for (target, is_reported) in [
            ("state", true),
            ("state/tasks", true),
            ("run", true),
            (".", true),
            ("project", false),
            ("missing", false),
        ] {
            std::os::unix::fs::symlink(target, &link).unwrap();
            let found = claims.linked_target(&link);
            let real = is_reported.then(|| host.join(target).canonicalize().unwrap());
            assert_eq!(found, real, "{target}");
            std::fs::remove_file(&link).unwrap();
        }
        assert_eq!(claims.linked_target(&host.join("state")), None, "no link");
    }

    #[test]
    fn an_agent_has_one_folder_which_goes_alone() {
        let dir = tempfile::tempdir().unwrap();
        let claims = ClaimFolders::of_host(dir.path());
        let folder = |name: &str| claims.of_agent(&dir.path().join("agents").join(name));
        assert_eq!(folder("main"), dir.path().join("state/tasks/main"));
        for name in ["main", "other"] {
            make_private_dir(&folder(name).join("task_1")).unwrap();
        }
        let main = AgentId::parse("main").unwrap();
        for _ in 0..2 {
            claims.remove(&main).unwrap();
            assert!(!folder("main").exists() && folder("other").exists());
        }
        let left = std::fs::read_dir(dir.path().join("state/tasks")).unwrap();
        assert_eq!(left.count(), 1, "no temporary directory is left");
    }
}
