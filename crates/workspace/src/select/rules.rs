//! Rules about the directories that a workspace may reach, asked before anything is made.

use super::{Selected, WorkspaceSelection, git, workspace_of};
use crate::git::Detection;
use holon_domain::workspace::{WorkspaceErrorKind, WorkspaceFailure, WorkspaceOrder};
use std::path::Path;

impl WorkspaceSelection {
    /// Checks the rules about directories and attachments, before anything is made.
    pub(super) fn check(&self, order: &WorkspaceOrder, found: &Detection) -> Selected<()> {
        // The anchor counts too: instructions and skills come from it, and worktrees are made of it.
        for root in [&found.execution_root, &found.anchor] {
            self.check_reserved(root)?;
            self.check_homes(order, root)?;
        }
        let workspace = workspace_of(found)?;
        if order.attached.find(&workspace.workspace_id).is_some() {
            return Ok(());
        }
        if !order.may_attach {
            return Err(WorkspaceFailure::new(
                WorkspaceErrorKind::AttachForbidden,
                format!(
                    "{} is not attached, and this agent's profile does not let it attach directories; use an attached \
                     workspace, or ask your supervisor",
                    workspace.workspace_anchor
                ),
            ));
        }
        if !order.attached.has_room() {
            return Err(WorkspaceFailure::new(
                WorkspaceErrorKind::TooManyAttached,
                "too many workspaces are attached; detach one with: holon workspace detach WORKSPACE_ID",
            ));
        }
        Ok(())
    }

    /// Refuses the host's own directories, and what lies among its worktrees without being one.
    fn check_reserved(&self, root: &Path) -> Selected<()> {
        let reached = self.reserved.find_reached(root).map(Path::to_owned);
        let worktrees = self.worktrees.root();
        let reached = match reached {
            None if root.starts_with(&worktrees) && !self.is_managed(root, &worktrees)? => {
                Some(worktrees)
            }
            reached => reached,
        };
        let Some(own) = reached else {
            return Ok(());
        };
        Err(WorkspaceFailure::new(
            WorkspaceErrorKind::Reserved,
            format!(
                "{} reaches {}, which belongs to the host; name another directory",
                root.display(),
                own.display()
            ),
        ))
    }

    /// Returns true if a directory is a managed worktree or lies in one.
    fn is_managed(&self, root: &Path, worktrees: &Path) -> Selected<bool> {
        let inside = root.ancestors().take_while(|dir| *dir != worktrees);
        for dir in inside {
            if self
                .worktrees
                .find(dir)
                .map_err(|error| git(&error))?
                .is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Refuses the homes of other agents, and directories around them.
    fn check_homes(&self, order: &WorkspaceOrder, root: &Path) -> Selected<()> {
        check_homes(&self.agents_dir, Path::new(&order.agent_home), root)
            .map_err(|message| WorkspaceFailure::new(WorkspaceErrorKind::Reserved, message))
    }
}

/// Refuses a directory that is the home of another agent, lies in one, or holds the homes. `root` is canonical.
///
/// # Errors
/// The reason in words.
pub fn check_homes(agents_dir: &Path, agent_home: &Path, root: &Path) -> Result<(), String> {
    let homes = agents_dir.canonicalize();
    let homes = homes.unwrap_or_else(|_| agents_dir.to_owned());
    let own = agent_home.file_name().map(|name| homes.join(name));
    let is_own = own.is_some_and(|own| root.starts_with(own));
    if homes.starts_with(root) || (root.starts_with(&homes) && !is_own) {
        return Err(format!(
            "{} reaches homes of other agents; name another directory",
            root.display()
        ));
    }
    Ok(())
}
