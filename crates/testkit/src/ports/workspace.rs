//! Workspaces that exist in name only.

use async_trait::async_trait;
use holon_domain::WorkspaceId;
use holon_domain::workspace::{
    AGENT_HOME, AttachedWorkspace, CleanVerdict, DetectedKind, KeepReason, ProjectionKind,
    RootOwnership, SelectedWorkspace, UseMode, WorkspaceEntry, WorkspaceErrorKind,
    WorkspaceFailure, WorkspaceOrder, WorkspaceSelector, WorktreeReport, WorktreeSession,
    WorktreeUser,
};
use holon_engine::ports::{WorkspaceHost, WorktreeUsers};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Workspaces of which every absolute path is one, each a repository of its own.
#[derive(Debug, Default)]
pub struct ScriptedWorkspaces {
    orders: Mutex<Vec<WorkspaceOrder>>,
    /// Users that the last clean-up was told of.
    users: Mutex<Vec<WorktreeUser>>,
    /// Worktrees of ended children that were removed.
    cleaned: Mutex<Vec<String>>,
    /// Looks that still find a process inside of a worktree.
    pub uses_left: AtomicU32,
    /// Files that children have changed in their worktrees, which are kept then.
    changed: Mutex<Vec<String>>,
}

impl ScriptedWorkspaces {
    /// Returns the orders so far.
    #[must_use]
    pub fn orders(&self) -> Vec<WorkspaceOrder> {
        let orders = self.orders.lock();
        orders.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the users that the last clean-up was told of.
    #[must_use]
    pub fn users(&self) -> Vec<WorktreeUser> {
        let users = self.users.lock();
        users.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the worktrees of ended children that were removed.
    #[must_use]
    pub fn cleaned(&self) -> Vec<String> {
        let cleaned = self.cleaned.lock();
        cleaned.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets every worktree hold changes of these files.
    pub fn hold_changes(&self, files: &[&str]) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        *changed = files.iter().map(|file| (*file).to_owned()).collect();
    }

    fn changed(&self) -> Vec<String> {
        let changed = self.changed.lock();
        changed.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, order: &WorkspaceOrder) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.push(order.clone());
    }

    /// Selects a workspace as a host would, without a file system. The same order gives the same selection.
    ///
    /// # Errors
    /// The id is not attached, the path is relative, or the agent may not attach it.
    pub fn pretend(order: &WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure> {
        let workspace = match &order.request.selector {
            WorkspaceSelector::WorkspaceId(id) if id.as_str() == AGENT_HOME => {
                return Ok(home(order));
            }
            WorkspaceSelector::WorkspaceId(id) => {
                let found = order.attached.find(id).cloned();
                found.ok_or_else(|| refuse(WorkspaceErrorKind::NotAttached, id.as_str()))?
            }
            WorkspaceSelector::Path(path) => Self::attach_path(order, path)?,
        };
        let worktree = (order.request.mode == UseMode::Isolated).then(|| session(order));
        let root = worktree.as_ref().map_or_else(
            || workspace.workspace_anchor.clone(),
            |session| session.worktree_path.clone(),
        );
        Ok(SelectedWorkspace {
            entry: WorkspaceEntry {
                workspace_id: workspace.workspace_id,
                workspace_anchor: workspace.workspace_anchor,
                execution_root: root.clone(),
                cwd: root,
                projection_kind: match worktree {
                    Some(_) => ProjectionKind::GitWorktreeRoot,
                    None => ProjectionKind::CanonicalRoot,
                },
                ownership: match worktree {
                    Some(_) => RootOwnership::SessionOwned,
                    None => RootOwnership::External,
                },
                repository: workspace.repository,
            },
            detected_kind: DetectedKind::CanonicalRepo,
            mode: order.request.mode,
            by_path: matches!(order.request.selector, WorkspaceSelector::Path(_)),
            worktree,
            notes: Vec::new(),
        })
    }

    fn attach_path(
        order: &WorkspaceOrder,
        path: &str,
    ) -> Result<AttachedWorkspace, WorkspaceFailure> {
        if !path.starts_with('/') {
            return Err(refuse(WorkspaceErrorKind::InvalidPath, path));
        }
        let workspace = AttachedWorkspace {
            workspace_id: WorkspaceId::from_stored(format!("ws-{}", path.replace('/', "-"))),
            workspace_anchor: path.to_owned(),
            repository: Some(format!("{path}/.git")),
        };
        let is_known = order.attached.find(&workspace.workspace_id).is_some();
        if is_known || order.may_attach {
            Ok(workspace)
        } else {
            Err(refuse(WorkspaceErrorKind::AttachForbidden, path))
        }
    }
}

fn home(order: &WorkspaceOrder) -> SelectedWorkspace {
    SelectedWorkspace {
        entry: WorkspaceEntry::agent_home(&order.agent_home),
        detected_kind: DetectedKind::AgentHome,
        mode: UseMode::Direct,
        by_path: false,
        worktree: None,
        notes: Vec::new(),
    }
}

fn session(order: &WorkspaceOrder) -> WorktreeSession {
    let name = format!("workspace-{}", order.request_key);
    WorktreeSession {
        original_working_directory: order.current_cwd.clone(),
        original_branch: "main".to_owned(),
        worktree_path: format!("/worktrees/{name}"),
        worktree_branch: format!("holon/{name}"),
        base_commit: "f".repeat(40),
    }
}

fn refuse(kind: WorkspaceErrorKind, named: &str) -> WorkspaceFailure {
    WorkspaceFailure::new(kind, format!("{named} cannot be used"))
}

#[async_trait]
impl WorkspaceHost for ScriptedWorkspaces {
    async fn select(&self, order: WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure> {
        self.note(&order);
        Self::pretend(&order)
    }

    async fn attach(&self, order: WorkspaceOrder) -> Result<AttachedWorkspace, WorkspaceFailure> {
        self.note(&order);
        Self::pretend(&order).map(|selected| selected.attached())
    }

    async fn clean(&self, users: &dyn WorktreeUsers, _: bool) -> Result<WorktreeReport, String> {
        let users = users.list().await?;
        *self.users.lock().unwrap_or_else(PoisonError::into_inner) = users;
        Ok(WorktreeReport::default())
    }

    async fn clean_one(&self, _: &dyn WorktreeUsers, path: &str) -> Result<CleanVerdict, String> {
        let used = self
            .uses_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        if used.is_ok() {
            let reasons = vec![KeepReason::UsedByProcess { pid: 1 }];
            return Ok(CleanVerdict::Kept { reasons });
        }
        let files = self.changed().len() as u64;
        if files > 0 {
            let reasons = vec![KeepReason::TrackedChanges { files }];
            return Ok(CleanVerdict::Kept { reasons });
        }
        let mut cleaned = self.cleaned.lock().unwrap_or_else(PoisonError::into_inner);
        cleaned.push(path.to_owned());
        Ok(CleanVerdict::Removed { rescue_ref: None })
    }

    async fn changed_files(&self, _: &str) -> Result<Vec<String>, String> {
        Ok(self.changed())
    }
}
