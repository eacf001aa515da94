//! The folders that contain the claim directories of one agent's commands.
//!
//! New directories are created under the host's state, outside every workspace. An earlier build created them in the
//! agent's home; a command that has its directory there, running or ended, is found there.

use crate::paths::path_exists;
use holon_workspace::ClaimFolders;
use std::path::{Path, PathBuf};

/// Path of the earlier build's folder, relative to an agent's home.
const FORMER: [&str; 3] = [".holon", "state", "tasks"];

/// The folders that contain the claim directories of one agent's commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Folder of this build, in which new directories are created.
    pub(crate) own: PathBuf,
    /// Folder of an earlier build, in the agent's home.
    pub(crate) former: PathBuf,
}

impl Folders {
    /// Returns the folders of the agent with this home.
    pub(crate) fn of(claims: &ClaimFolders, home: &Path) -> Self {
        let mut former = home.to_owned();
        former.extend(FORMER);
        Self {
            own: claims.of_agent(home),
            former,
        }
    }

    /// Returns the folder that contains the directory of a command; `own` if neither does.
    pub(crate) fn holding(&self, name: &str) -> &Path {
        let is_in = |folder: &Path| path_exists(&folder.join(name)).unwrap_or(false);
        if !is_in(&self.own) && is_in(&self.former) {
            &self.former
        } else {
            &self.own
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_looked_for_in_both_folders_and_a_new_one_belongs_to_the_own() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("agents/scout");
        let folders = Folders::of(&ClaimFolders::of_host(dir.path()), &home);
        assert_eq!(folders.own, dir.path().join("state/tasks/scout"));
        assert_eq!(folders.former, home.join(".holon/state/tasks"));
        for (folder, name) in [(&folders.own, "task_new"), (&folders.former, "task_old")] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        std::fs::create_dir_all(folders.former.join("task_new")).unwrap();
        assert_eq!(folders.holding("task_new"), folders.own);
        assert_eq!(folders.holding("task_old"), folders.former);
        assert_eq!(folders.holding("task_none"), folders.own);
    }
}
