//! Workspaces of the simulated world: every absolute path is a repository.

use holon_domain::workspace::{UseWorkspace, WorkspaceErrorKind, WorkspaceFailure};
use holon_engine::tool_outcome::ToolRunOutcome;
use holon_engine::tool_run::ToolRun;
use holon_testkit::ports::ScriptedWorkspaces;

/// Performs a call of `UseWorkspace`. The same call gives the same worktree.
pub(crate) fn select(run: &ToolRun, request: &UseWorkspace, fails: bool) -> ToolRunOutcome {
    let order = run.workspace_order(request.clone());
    ToolRunOutcome::of_workspace(if fails {
        let reason = "git took too long";
        Err(WorkspaceFailure::new(WorkspaceErrorKind::Git, reason))
    } else {
        ScriptedWorkspaces::pretend(&order)
    })
}
