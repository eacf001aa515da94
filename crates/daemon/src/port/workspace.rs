//! The engine's port for workspaces and worktrees on this machine. Blocking work runs off the async threads.

mod locks;

use self::locks::RepositoryLocks;
use super::attached::Attachments;
use async_trait::async_trait;
use holon_domain::limits::PLACE_GIT_MS;
use holon_domain::place::{HostFacts, Place, RepositoryState};
use holon_domain::workspace::{
    AttachedWorkspace, CleanVerdict, KeepReason, SelectedWorkspace, UseMode, WorkspaceEntry,
    WorkspaceErrorKind, WorkspaceFailure, WorkspaceOrder, WorktreeRecord, WorktreeReport,
    WorktreeUser, WorktreeView,
};
use holon_engine::ports::{EntryGuard, WorkspaceHost, WorktreeUsers};
use holon_workspace::WorkspaceSelection;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;

/// Longest wait of a clean-up for a request that works on a repository. Its worktrees are kept then.
const CLEAN_WAIT: Duration = Duration::from_secs(5);
/// Longest time that a turn waits for the state of its repository.
const PLACE_PATIENCE: Duration = Duration::from_millis(PLACE_GIT_MS);

/// Selects workspaces, and makes and cleans worktrees.
#[derive(Debug, Clone)]
pub(crate) struct Workspaces {
    selection: Arc<WorkspaceSelection>,
    attachments: Attachments,
    host: HostFacts,
    /// Held while a worktree of a repository is made and while its worktrees are cleaned up. The thread that works holds
    /// it, so that a caller that goes away does not let the next one in.
    changes: RepositoryLocks,
    /// Held from the look at a workspace that an operator names to the commit that makes it active, and while the
    /// worktrees of its repository are cleaned up.
    entries: RepositoryLocks,
}

impl Workspaces {
    /// Creates the port over these rules and records on a host.
    pub(crate) fn new(
        selection: WorkspaceSelection,
        attachments: Attachments,
        host: HostFacts,
    ) -> Self {
        Self {
            selection: Arc::new(selection),
            attachments,
            host,
            changes: RepositoryLocks::default(),
            entries: RepositoryLocks::default(),
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

    /// Looks at the repository around a directory. What git does not tell in time is left out.
    async fn repository_state(&self, dir: &str) -> Option<RepositoryState> {
        let dir = PathBuf::from(dir);
        let found = self.off_thread(move |selection| selection.repository_root(&dir));
        let root = found.await.ok()??;
        let at = root.clone();
        let look = self.off_thread(move |selection| selection.repository_work(&at));
        let work = match tokio::time::timeout(PLACE_PATIENCE, look).await {
            Ok(Ok(Ok(work))) => Some(work),
            Ok(Ok(Err(error))) => {
                tracing::debug!(%error, "the state of a repository could not be read");
                None
            }
            Ok(Err(_)) | Err(_) => None,
        };
        Some(RepositoryState {
            root: root.to_string_lossy().into_owned(),
            work,
        })
    }

    /// Returns the directory by which the repository of an order is locked.
    async fn repository_of(&self, order: &WorkspaceOrder) -> String {
        let order = order.clone();
        let found = self.off_thread(move |selection| selection.anchor_of(&order));
        found.await.unwrap_or_default()
    }

    /// Cleans up the worktrees of one repository.
    async fn clean_repository(
        &self,
        repository: &str,
        records: Vec<WorktreeRecord>,
        users: &dyn WorktreeUsers,
    ) -> Result<Vec<WorktreeView>, String> {
        let locks = async {
            let entries = self.entries.of(repository).lock_owned().await;
            (entries, self.changes.of(repository).lock_owned().await)
        };
        let Ok((entries, changes)) = tokio::time::timeout(CLEAN_WAIT, locks).await else {
            return Ok(records.into_iter().map(busy).collect());
        };
        // No worktree is made from here on, so an agent that is about to enter one is in its turn now.
        let users = users.list().await?;
        self.off_thread(move |selection| {
            let _locks: (OwnedMutexGuard<()>, OwnedMutexGuard<()>) = (entries, changes);
            look_at(selection, records, &users, false)
        })
        .await
    }
}

/// Keeps a worktree because a request works on its repository.
fn busy(record: WorktreeRecord) -> WorktreeView {
    let detail = format!(
        "another request still works on its repository {}; try again once it has ended",
        record.workspace_anchor
    );
    let reasons = vec![KeepReason::Unknown { detail }];
    WorktreeView {
        record,
        verdict: CleanVerdict::Kept { reasons },
    }
}

fn broken(message: String) -> WorkspaceFailure {
    WorkspaceFailure::new(WorkspaceErrorKind::Git, message)
}

#[async_trait]
impl WorkspaceHost for Workspaces {
    async fn enter(&self, order: &WorkspaceOrder) -> EntryGuard {
        let repository = self.repository_of(order).await;
        EntryGuard::new(self.entries.of(&repository).lock_owned().await)
    }

    async fn select(&self, order: WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure> {
        // Only a worktree that is being made must not meet another one of its repository, or a clean-up.
        let changes = match order.request.mode {
            UseMode::Isolated => {
                let repository = self.repository_of(&order).await;
                Some(self.changes.of(&repository).lock_owned().await)
            }
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
        let listing = self
            .off_thread(|selection| selection.worktrees.records())
            .await?
            .map_err(|error| error.to_string())?;
        let mut worktrees = Vec::new();
        if dry_run {
            // A look changes nothing, so it waits for no one.
            let (users, records) = (users.list().await?, listing.records);
            worktrees = self
                .off_thread(move |selection| look_at(selection, records, &users, true))
                .await?;
        } else {
            for (repository, records) in by_repository(listing.records) {
                worktrees.extend(self.clean_repository(&repository, records, users).await?);
            }
        }
        worktrees.sort_by(|one, other| one.record.path.cmp(&other.record.path));
        Ok(WorktreeReport {
            worktrees,
            unreadable: listing.unreadable,
            left_out: listing.left_out,
        })
    }

    async fn clean_one(
        &self,
        users: &dyn WorktreeUsers,
        path: &str,
    ) -> Result<CleanVerdict, String> {
        let listing = self
            .off_thread(|selection| selection.worktrees.records())
            .await?
            .map_err(|error| error.to_string())?;
        let found = listing
            .records
            .into_iter()
            .find(|record| record.path == path);
        let Some(record) = found else {
            return Ok(CleanVerdict::Removed { rescue_ref: None });
        };
        let repository = record.workspace_anchor.clone();
        let users = AfterTheirTurn(users);
        let cleaned = self.clean_repository(&repository, vec![record], &users);
        let view = cleaned.await?.into_iter().next();
        view.map(|view| view.verdict)
            .ok_or_else(|| "the worktree was not looked at".to_owned())
    }

    async fn place(&self, workspace: &WorkspaceEntry) -> Place {
        Place {
            host: Some(self.host.clone()),
            repository: self.repository_state(&workspace.cwd).await,
            ..Place::default()
        }
    }

    async fn changed_files(&self, path: &str) -> Result<Vec<String>, String> {
        let path = path.to_owned();
        let listed = self.off_thread(move |selection| {
            let listing = selection.worktrees.records()?;
            let mut records = listing.records.iter();
            match records.find(|record| record.path == path) {
                Some(record) => selection.worktrees.changed_files(record),
                None => Ok(Vec::new()),
            }
        });
        listed.await?.map_err(|error| error.to_string())
    }
}

/// Users of directories without the right of an agent to a worktree that its turn is about to enter: the child for which
/// this one was made has come and gone.
#[derive(Debug)]
struct AfterTheirTurn<'a>(&'a dyn WorktreeUsers);

#[async_trait]
impl WorktreeUsers for AfterTheirTurn<'_> {
    async fn list(&self) -> Result<Vec<WorktreeUser>, String> {
        let mut users = self.0.list().await?;
        for user in &mut users {
            user.in_turn = false;
        }
        Ok(users)
    }
}

fn by_repository(records: Vec<WorktreeRecord>) -> BTreeMap<String, Vec<WorktreeRecord>> {
    let mut grouped: BTreeMap<String, Vec<WorktreeRecord>> = BTreeMap::new();
    for record in records {
        let group = grouped.entry(record.workspace_anchor.clone()).or_default();
        group.push(record);
    }
    grouped
}

fn look_at(
    selection: &WorkspaceSelection,
    records: Vec<WorktreeRecord>,
    users: &[WorktreeUser],
    dry_run: bool,
) -> Vec<WorktreeView> {
    let view = |record: WorktreeRecord| WorktreeView {
        verdict: selection.worktrees.clean(&record, users, dry_run),
        record,
    };
    records.into_iter().map(view).collect()
}

#[cfg(test)]
mod tests;
