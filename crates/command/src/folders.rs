//! The folders in which the directories of one agent's commands stand.
//!
//! New ones are made under the host's state, where no workspace reaches. An earlier build made them in the agent's home;
//! a command that has its directory there, running or over, is found there.

use crate::place::is_there;
use holon_workspace::Claims;
use std::path::{Path, PathBuf};

/// Where an earlier build made them, under an agent's home.
const FORMER: [&str; 3] = [".holon", "state", "tasks"];

/// Where the directories of one agent's commands stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Where new ones are made.
    pub(crate) own: PathBuf,
    /// Where an earlier build made them.
    pub(crate) former: PathBuf,
}

impl Folders {
    /// Those of the agent with this home.
    pub(crate) fn of(claims: &Claims, home: &Path) -> Self {
        let mut former = home.to_owned();
        former.extend(FORMER);
        Self {
            own: claims.of_agent(home),
            former,
        }
    }

    /// The folder that holds the directory of a command; the own one when neither does.
    pub(crate) fn holding(&self, name: &str) -> &Path {
        let is_in = |folder: &Path| is_there(&folder.join(name)).unwrap_or(false);
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
        let folders = Folders::of(&Claims::of_host(dir.path()), &home);
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
