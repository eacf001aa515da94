//! Workspaces: the project that an agent works in, and the directory in which its tools run.
//!
//! An agent has a set of attached workspaces and exactly one active entry. The entry is the agent's home at first:
//!
//! | act | attached set | active entry |
//! |---|---|---|
//! | attach | gains the workspace | unchanged |
//! | use, direct | gains the workspace | the workspace's own directory, or a worktree that was found |
//! | use, isolated | gains the workspace | a worktree that the runtime makes |
//! | exit, or use of `agent_home` | unchanged | the agent's home |
//! | detach | loses the workspace; refused for the active one | unchanged |
//!
//! No act removes a directory, and a worktree that is left stays on disk.

mod attached;
mod registry;
mod selection;
mod worktree;

pub use attached::{AttachedWorkspace, DetachRefusal, WorkspaceSet};
pub use registry::{Occupancy, Occupant, RegisteredWorkspace, WorkspaceKind};
pub use selection::{
    DetectedKind, SelectedWorkspace, UseMode, UseWorkspace, WorkspaceErrorKind, WorkspaceFailure,
    WorkspaceOrder, WorkspaceSelector,
};
pub use worktree::{
    CleanVerdict, KeepReason, UnreadableRecord, WorktreeOwner, WorktreeRecord, WorktreeReport,
    WorktreeSession, WorktreeStage, WorktreeTask, WorktreeUser, WorktreeView,
};

use crate::id::WorkspaceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Relation of an execution root to its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectionKind {
    /// The root is the workspace's own directory.
    CanonicalRoot,
    /// The root is a git worktree of the workspace.
    GitWorktreeRoot,
}

/// Party that decides about the end of an execution root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RootOwnership {
    /// The directory was there before. The runtime never removes it.
    #[default]
    External,
    /// The runtime made it. It stays until an operator cleans it up; one that was made for a child goes with the child if
    /// it is clean.
    SessionOwned,
    /// Reserved: made for a task. No root has this owner.
    TaskOwned,
}

/// Active workspace of an agent. An agent always has exactly one, so it is a field and not a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceEntry {
    pub workspace_id: WorkspaceId,
    /// Stable identity of the project.
    pub workspace_anchor: String,
    /// Directory in which tools run and which they may not leave.
    pub execution_root: String,
    /// Current directory, inside the execution root.
    pub cwd: String,
    pub projection_kind: ProjectionKind,
    /// Owner of the execution root. Left out if it is `external`.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub ownership: RootOwnership,
    /// Directory of the git repository that the execution root belongs to. Absent for a plain directory, and in rows
    /// of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// What an agent may do in its execution root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// Reserved: its tools may read below the execution root only. No agent has this mode.
    SharedRead,
    /// Its tools may write below the execution root. Other agents in the same root are named in `workspace_warning`.
    ExclusiveWrite,
}

/// The active workspace of an agent as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceEntryView {
    #[serde(flatten)]
    pub entry: WorkspaceEntry,
    /// Identity of the execution root. Absent in responses of older hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_root_id: Option<String>,
    /// Absent in responses of older hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_mode: Option<AccessMode>,
}

impl WorkspaceEntryView {
    /// Returns the view for a list of agents: the place, without the facts about its worktree.
    #[must_use]
    pub fn listed(entry: WorkspaceEntry) -> Self {
        Self::from(WorkspaceEntry {
            ownership: RootOwnership::default(),
            repository: None,
            ..entry
        })
    }
}

impl From<WorkspaceEntry> for WorkspaceEntryView {
    fn from(entry: WorkspaceEntry) -> Self {
        Self {
            execution_root_id: Some(entry.execution_root_id()),
            access_mode: Some(entry.access_mode()),
            entry,
        }
    }
}

impl std::ops::Deref for WorkspaceEntryView {
    type Target = WorkspaceEntry;
    fn deref(&self) -> &WorkspaceEntry {
        &self.entry
    }
}

/// Id of the fallback workspace.
pub const AGENT_HOME: &str = "agent_home";

impl WorkspaceEntry {
    /// Creates the fallback workspace, in which every agent starts.
    #[must_use]
    pub fn agent_home(path: &str) -> Self {
        Self {
            workspace_id: WorkspaceId::from_stored(AGENT_HOME),
            workspace_anchor: path.to_owned(),
            execution_root: path.to_owned(),
            cwd: path.to_owned(),
            projection_kind: ProjectionKind::CanonicalRoot,
            ownership: RootOwnership::External,
            repository: None,
        }
    }

    /// Returns true if this is the agent's own home.
    #[must_use]
    pub fn is_agent_home(&self) -> bool {
        self.workspace_id.as_str() == AGENT_HOME
    }

    /// Returns what the agent may do in the execution root. Every tool that changes files may be used in every workspace.
    #[must_use]
    pub const fn access_mode(&self) -> AccessMode {
        AccessMode::ExclusiveWrite
    }

    /// Returns the identity of the execution root: `canonical_root:<workspace>` for a workspace's own directory, else
    /// `git_worktree_root:<workspace>/<directory name>`.
    #[must_use]
    pub fn execution_root_id(&self) -> String {
        let id = &self.workspace_id;
        match self.projection_kind {
            ProjectionKind::CanonicalRoot => format!("canonical_root:{id}"),
            ProjectionKind::GitWorktreeRoot => {
                let name = Path::new(&self.execution_root).file_name();
                let name = name.unwrap_or_default().to_string_lossy();
                format!("git_worktree_root:{id}/{name}")
            }
        }
    }
}

/// Levels below the directory of execution roots at which worktrees lie: backend, workspace, name.
const WORKTREE_LEVEL: usize = 3;

/// The host's own directories. No workspace of a new agent may contain one or lie inside one, because the files there
/// prove which commands ran. The paths are canonical, as those of workspaces are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReservedDirs {
    closed: Vec<PathBuf>,
    /// Directory of the execution roots that the runtime makes. A workspace may be one of these and hold no other.
    execution_roots: Option<PathBuf>,
}

impl ReservedDirs {
    /// Reserves the given directories, which must be canonical.
    #[must_use]
    pub const fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            closed: paths,
            execution_roots: None,
        }
    }

    /// Reserves the directory of execution roots too. It must be canonical.
    #[must_use]
    pub fn with_execution_roots(self, path: PathBuf) -> Self {
        Self {
            execution_roots: Some(path),
            ..self
        }
    }

    /// Reserves no directory at all.
    #[must_use]
    pub const fn none() -> Self {
        Self::new(Vec::new())
    }

    /// Returns the first reserved directory that the execution root or the anchor of a workspace contains or lies in.
    #[must_use]
    pub fn find_overlap(&self, workspace: &WorkspaceEntry) -> Option<&Path> {
        let dirs = [&workspace.execution_root, &workspace.workspace_anchor];
        dirs.into_iter()
            .find_map(|dir| self.find_reached(Path::new(dir)))
    }

    /// Returns the first reserved directory that a directory contains or lies in. A worktree of the runtime lies in
    /// none.
    #[must_use]
    pub fn find_reached(&self, root: &Path) -> Option<&Path> {
        let reaches = |dir: &&PathBuf| dir.starts_with(root) || root.starts_with(dir);
        let holds_worktrees = |dir: &&PathBuf| {
            let level = root.strip_prefix(dir).map(|path| path.components().count());
            dir.starts_with(root) || level.is_ok_and(|level| level < WORKTREE_LEVEL)
        };
        let closed = self.closed.iter().find(reaches);
        closed
            .or_else(|| self.execution_roots.as_ref().filter(holds_worktrees))
            .map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_reaches_what_it_holds_and_what_it_lies_in_and_nothing_beside_it() {
        let reserved = ReservedDirs::new(vec!["/u/holon/state".into(), "/u/holon/run".into()])
            .with_execution_roots("/u/holon/execution-roots".into());
        let roots = Some("/u/holon/execution-roots");
        for (root, reached) in [
            ("/", Some("/u/holon/state")),
            ("/u", Some("/u/holon/state")),
            ("/u/holon", Some("/u/holon/state")),
            ("/u/holon/state", Some("/u/holon/state")),
            ("/u/holon/state/tasks/main", Some("/u/holon/state")),
            ("/u/holon/run", Some("/u/holon/run")),
            ("/u/holon/run/x", Some("/u/holon/run")),
            ("/u/holon/execution-roots", roots),
            ("/u/holon/execution-roots/git-worktree", roots),
            ("/u/holon/execution-roots/git-worktree/ws-1", roots),
            ("/u/holon/execution-roots/git-worktree/ws-1/fix-1", None),
            ("/u/holon/execution-roots/git-worktree/ws-1/fix-1/src", None),
            ("/u/holon/execution-roots-of-mine", None),
            ("/u/holon/agents", None),
            ("/u/holon/agents/main", None),
            ("/u/holon/state-of-affairs", None),
            ("/u/holon/running", None),
            ("/u/project", None),
        ] {
            let found = reserved.find_overlap(&WorkspaceEntry::agent_home(root));
            assert_eq!(found, reached.map(Path::new), "{root}");
            let nothing = ReservedDirs::none();
            assert_eq!(
                nothing.find_overlap(&WorkspaceEntry::agent_home(root)),
                None
            );
        }
    }
}
