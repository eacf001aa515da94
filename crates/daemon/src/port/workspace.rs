//! The engine's port for workspaces and worktrees on this machine. Blocking work runs off the async threads.

use super::attached::Attachments;
use async_trait::async_trait;
use holon_domain::workspace::{
    AttachedWorkspace, SelectedWorkspace, UseMode, WorkspaceErrorKind, WorkspaceFailure,
    WorkspaceOrder, WorktreeRecord, WorktreeReport, WorktreeUser, WorktreeView,
};
use holon_engine::ports::{WorkspaceHost, WorktreeUsers};
use holon_workspace::WorkspaceSelection;
use std::sync::Arc;

/// Selects workspaces, and makes and cleans worktrees.
#[derive(Debug, Clone)]
pub(crate) struct Workspaces {
    selection: Arc<WorkspaceSelection>,
    attachments: Attachments,
    /// Held while a worktree is made and while worktrees are cleaned up. The thread that works holds it, so that a
    /// caller that goes away does not let the next one in.
    changes: Arc<tokio::sync::Mutex<()>>,
}

impl Workspaces {
    /// Creates the port over these rules and records.
    pub(crate) fn new(selection: WorkspaceSelection, attachments: Attachments) -> Self {
        Self {
            selection: Arc::new(selection),
            attachments,
            changes: Arc::default(),
        }
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorkspaceSelection) -> T + Send + 'static,
    ) -> Result<T, String> {
        let selection = Arc::clone(&self.selection);
        let done = tokio::task::spawn_blocking(move || work(&selection)).await;
        done.map_err(|stopped| format!("the work on the workspace ended early: {stopped}"))
    }
}

fn broken(message: String) -> WorkspaceFailure {
    WorkspaceFailure::new(WorkspaceErrorKind::Git, message)
}

#[async_trait]
impl WorkspaceHost for Workspaces {
    async fn select(&self, order: WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure> {
        // Only a worktree that is being made must not meet another one, or a clean-up.
        let changes = match order.request.mode {
            UseMode::Isolated => Some(Arc::clone(&self.changes).lock_owned().await),
            UseMode::Direct => None,
        };
        let attachments = self.attachments.clone();
        self.off_thread(move |selection| {
            let _changes = changes;
            let selected = selection.select(&order)?;
            attachments.remember(&order.agent_home, &selected.entry);
            Ok::<_, WorkspaceFailure>(selected)
        })
        .await
        .unwrap_or_else(|message| Err(broken(message)))
    }

    async fn attach(&self, order: WorkspaceOrder) -> Result<AttachedWorkspace, WorkspaceFailure> {
        self.off_thread(move |selection| selection.attach(&order))
            .await
            .unwrap_or_else(|message| Err(broken(message)))
    }

    async fn clean(
        &self,
        users: &dyn WorktreeUsers,
        dry_run: bool,
    ) -> Result<WorktreeReport, String> {
        let changes = Arc::clone(&self.changes).lock_owned().await;
        // No worktree is made from here on, so an agent that is about to enter one is in its turn now.
        let users = users.list().await?;
        self.off_thread(move |selection| {
            let _changes = changes;
            clean_all(selection, &users, dry_run)
        })
        .await?
    }
}

fn clean_all(
    selection: &WorkspaceSelection,
    users: &[WorktreeUser],
    dry_run: bool,
) -> Result<WorktreeReport, String> {
    let worktrees = &selection.worktrees;
    let listing = worktrees.records().map_err(|error| error.to_string())?;
    let view = |record: WorktreeRecord| WorktreeView {
        verdict: worktrees.clean(&record, users, dry_run),
        record,
    };
    Ok(WorktreeReport {
        worktrees: listing.records.into_iter().map(view).collect(),
        unreadable: listing.unreadable,
        left_out: listing.left_out,
    })
}

#[cfg(test)]
mod tests;
