//! The attached workspaces of an agent: the directories that it may make its active workspace.

use super::{AGENT_HOME, WorkspaceEntry};
use crate::id::WorkspaceId;
use crate::limits;
use serde::{Deserialize, Serialize};

/// A workspace that an agent may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttachedWorkspace {
    pub workspace_id: WorkspaceId,
    /// Canonical path of the project. It may be gone; then using the workspace fails.
    pub workspace_anchor: String,
    /// Directory of its git repository. Absent for a plain directory, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

impl AttachedWorkspace {
    /// Returns the workspace of an entry.
    #[must_use]
    pub fn of(entry: &WorkspaceEntry) -> Self {
        Self {
            workspace_id: entry.workspace_id.clone(),
            workspace_anchor: entry.workspace_anchor.clone(),
            repository: entry.repository.clone(),
        }
    }
}

/// Reason for which a workspace cannot be detached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetachRefusal {
    /// The agent's home is the fallback and cannot be detached.
    AgentHome,
    /// It is the active workspace.
    Active,
    /// It is not attached.
    NotAttached,
}

/// The attached workspaces of an agent, oldest first. The agent's home belongs to it without an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkspaceSet(Vec<AttachedWorkspace>);

impl WorkspaceSet {
    /// Returns the workspaces in the order in which they were attached.
    #[must_use]
    pub fn as_slice(&self) -> &[AttachedWorkspace] {
        &self.0
    }

    /// Returns true if no workspace is attached. Used to leave the field out of stored rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds an attached workspace by its id.
    #[must_use]
    pub fn find(&self, id: &WorkspaceId) -> Option<&AttachedWorkspace> {
        self.0.iter().find(|attached| attached.workspace_id == *id)
    }

    /// Returns true if another workspace has room.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.0.len() < limits::ATTACHED_WORKSPACES
    }

    /// Adds a workspace. Returns false if it was attached before, or is the agent's home.
    pub fn attach(&mut self, workspace: AttachedWorkspace) -> bool {
        let known = self.find(&workspace.workspace_id).is_some();
        if known || workspace.workspace_id.as_str() == AGENT_HOME {
            return false;
        }
        self.0.push(workspace);
        true
    }

    /// Removes a workspace from the set, unless it is the active one or not in the set.
    ///
    /// # Errors
    /// The agent's home, the active workspace and a workspace that is not attached are refused.
    pub fn detach(
        &mut self,
        id: &WorkspaceId,
        active: &WorkspaceId,
    ) -> Result<AttachedWorkspace, DetachRefusal> {
        if id.as_str() == AGENT_HOME {
            return Err(DetachRefusal::AgentHome);
        }
        if id == active {
            return Err(DetachRefusal::Active);
        }
        let place = self.0.iter().position(|known| known.workspace_id == *id);
        place
            .map(|place| self.0.remove(place))
            .ok_or(DetachRefusal::NotAttached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(name: &str) -> AttachedWorkspace {
        AttachedWorkspace {
            workspace_id: WorkspaceId::from_stored(name),
            workspace_anchor: format!("/srv/{name}"),
            repository: None,
        }
    }

    #[test]
    fn a_workspace_is_attached_once_and_the_home_never() {
        let mut set = WorkspaceSet::default();
        assert!(set.attach(workspace("ws-1")));
        assert!(!set.attach(workspace("ws-1")));
        assert!(!set.attach(workspace(AGENT_HOME)));
        assert_eq!(set.as_slice(), [workspace("ws-1")]);
    }

    #[test]
    fn what_is_active_or_unknown_or_home_stays() {
        let id = |name: &str| WorkspaceId::from_stored(name);
        let mut set = WorkspaceSet::default();
        set.attach(workspace("ws-1"));
        for (name, refusal) in [
            (AGENT_HOME, DetachRefusal::AgentHome),
            ("ws-1", DetachRefusal::Active),
            ("ws-2", DetachRefusal::NotAttached),
        ] {
            assert_eq!(set.detach(&id(name), &id("ws-1")), Err(refusal), "{name}");
        }
        let removed = set.detach(&id("ws-1"), &id(AGENT_HOME));
        assert_eq!(removed, Ok(workspace("ws-1")));
        assert!(set.is_empty());
    }
}
