//! Makes the files of a new agent before the agent itself: its worktree, and its home if it comes from a template. Also
//! removes the worktree of a child that has ended.
//!
//! Both are named after the call, so a repeated call finds what it made before. A call that was called off meanwhile
//! leaves a worktree with a record, which a clean-up removes, or a marked home, which the next start removes.

use super::Shell;
use crate::ports::WorktreeUsers;
use crate::request::HomeChoice;
use crate::tool_outcome::{CallCleanup, ToolRunOutcome};
use crate::tool_run::ToolRun;
use async_trait::async_trait;
use holon_core::delegation::{child_home, child_id};
use holon_core::{Input, Stamp};
use holon_domain::consequence::Consequence;
use holon_domain::delegation::{SpawnAgent, WorktreeEnd};
use holon_domain::limits;
use holon_domain::task::WorkspaceMode;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::workspace::{CleanVerdict, KeepReason, SelectedWorkspace, WorktreeUser};
use holon_store::Store;
use std::sync::Arc;
use std::time::Duration;

/// Attempts to remove a worktree that something still uses, and the pause between two.
const CLEANUPS: u32 = 5;
const BETWEEN_CLEANUPS: Duration = Duration::from_secs(1);

impl Shell {
    /// Makes the files of the agent that a call asks for.
    pub(super) async fn prepare_child(&self, run: &ToolRun, spawn: &SpawnAgent) -> ToolRunOutcome {
        match self.make_child_files(run, spawn).await {
            Ok(selected) => ToolRunOutcome {
                consequence: Consequence::ChildPrepared {
                    selected: selected.map(Box::new),
                },
                forget: CallCleanup::Nothing,
                referring: Vec::new(),
            },
            Err(error) => ToolRunOutcome::result(ToolEnvelope::failure(&run.call.name, error)),
        }
    }

    /// Removes the worktree of an ended child, unless it holds work. A process of the child that is still ending is given
    /// time.
    pub(super) async fn clean_worktree(&self, path: &str, stamp: Stamp) -> Option<Input> {
        let users = StoredUsers(Arc::clone(&self.store));
        let clock = &self.ports.clock;
        let mut cleaned = self.ports.workspace.clean_one(&users, path).await;
        for _ in 1..CLEANUPS {
            if !is_in_use(&cleaned) {
                break;
            }
            clock.sleep_until(clock.elapsed() + BETWEEN_CLEANUPS).await;
            cleaned = self.ports.workspace.clean_one(&users, path).await;
        }
        let end = match cleaned {
            Ok(CleanVerdict::Removed { .. } | CleanVerdict::Removable) => WorktreeEnd::Removed,
            Ok(CleanVerdict::Kept { reasons }) => {
                let reasons = reasons.iter().map(ToString::to_string).collect();
                self.kept_worktree(path, reasons).await
            }
            Err(reason) => self.kept_worktree(path, vec![reason]).await,
        };
        Some(Input::WorktreeCleaned { stamp, end })
    }

    /// Describes a worktree that is kept, with the files that its child has changed.
    async fn kept_worktree(&self, path: &str, mut reasons: Vec<String>) -> WorktreeEnd {
        let listed = self.ports.workspace.changed_files(path).await;
        let mut changed_files = listed.unwrap_or_else(|error| {
            reasons.push(format!("its changed files could not be listed: {error}"));
            Vec::new()
        });
        let changed_files_total = changed_files.len() as u64;
        changed_files.truncate(limits::KEPT_FILES);
        WorktreeEnd::Kept {
            reasons,
            changed_files,
            changed_files_total,
        }
    }

    async fn make_child_files(
        &self,
        run: &ToolRun,
        spawn: &SpawnAgent,
    ) -> Result<Option<SelectedWorkspace>, ToolError> {
        let child = child_id(&run.call, spawn);
        let home = child_home(&run.agent_home, &child);
        // The home of an agent that exists is its own. The commit refuses the name.
        if let Some(template) = &spawn.template
            && self.home_of(&child).await.is_none()
        {
            let choice = HomeChoice {
                template: Some(template.clone()),
                seed: None,
            };
            let made = self.ports.home.make_from_template(&home, &choice).await;
            made.map_err(|reason| {
                ToolError::new(ToolErrorKind::ToolExecutionFailed, reason)
                    .hint("name a template of this host, or leave it out")
            })?;
        }
        if spawn.workspace_mode != WorkspaceMode::Worktree {
            return Ok(None);
        }
        let order = run.child_worktree_order(spawn);
        let selected = self.ports.workspace.select(order).await;
        match selected {
            Ok(selected) if selected.worktree.is_some() => Ok(Some(selected)),
            Ok(_) => Err(no_worktree("your workspace is no git repository")),
            Err(failure) => Err(no_worktree(&failure.message)),
        }
    }
}

/// Returns true if a worktree is kept only because something still uses it.
fn is_in_use(cleaned: &Result<CleanVerdict, String>) -> bool {
    match cleaned {
        Ok(CleanVerdict::Kept { reasons }) => reasons.iter().all(KeepReason::is_passing),
        Ok(CleanVerdict::Removed { .. } | CleanVerdict::Removable) | Err(_) => false,
    }
}

/// The agents of the store and their tasks, as users of directories.
#[derive(Debug)]
pub(crate) struct StoredUsers(pub(crate) Arc<dyn Store>);

#[async_trait]
impl WorktreeUsers for StoredUsers {
    async fn list(&self) -> Result<Vec<WorktreeUser>, String> {
        let read = self.0.worktree_users().await;
        read.map_err(|error| error.to_string())
    }
}

fn no_worktree(reason: &str) -> ToolError {
    ToolError::new(
        ToolErrorKind::ToolExecutionFailed,
        format!("no worktree was made, and no child: {reason}"),
    )
    .hint("UseWorkspace a git repository first, or leave workspace_mode out")
}
