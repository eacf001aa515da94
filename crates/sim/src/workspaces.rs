//! Workspaces of the simulated world: every absolute path is a repository.

use crate::rng::Rng;
use crate::violation::{Verdict, ensure};
use crate::world::{InputResult, World};
use holon_core::input::WorkspaceCommand;
use holon_core::{Input, Rejection};
use holon_domain::WorkspaceId;
use holon_domain::consequence::Consequence;
use holon_domain::delegation::SpawnAgent;
use holon_domain::task::WorkspaceMode;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::workspace::{
    AttachedWorkspace, DetectedKind, SelectedWorkspace, UseMode, UseWorkspace, WorkspaceEntry,
    WorkspaceErrorKind, WorkspaceFailure,
};
use holon_engine::kernel::Refusal;
use holon_engine::tool_outcome::{CallCleanup, ToolRunOutcome};
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

/// Prepares a child, which gets a worktree if it is to have one and its parent is in a repository.
pub(crate) fn prepare_child(run: &ToolRun, spawn: &SpawnAgent, fails: bool) -> ToolRunOutcome {
    let refused = |reason: &str| {
        let error = ToolError::new(ToolErrorKind::ToolExecutionFailed, reason);
        ToolRunOutcome::result(ToolEnvelope::failure(&run.call.name, error))
    };
    let selected = match spawn.workspace_mode {
        WorkspaceMode::Inherit => None,
        WorkspaceMode::Worktree => {
            match ScriptedWorkspaces::pretend(&run.child_worktree_order(spawn)) {
                Ok(selected) if selected.worktree.is_some() && !fails => Some(Box::new(selected)),
                Ok(_) => return refused("no worktree was made"),
                Err(failure) => return refused(&failure.message),
            }
        }
    };
    ToolRunOutcome {
        consequence: Consequence::ChildPrepared { selected },
        forget: CallCleanup::Nothing,
        referring: Vec::new(),
    }
}

impl World {
    /// Sends a random command of an operator about the workspaces of some agent. The rows that follow from it, and the
    /// execution root that the agent then occupies, are checked after every commit.
    pub(crate) fn command_workspace(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let command = any_command(&mut self.dice);
        self.trace.note(|| format!("{id} {command:?}"));
        match self.send(&id, &Input::Workspace(Box::new(command)))? {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Refused(refusal) => ensure(
                is_known_refusal(&refusal),
                "commands about workspaces are refused only for what they name",
                || format!("{refusal:?}"),
            ),
            InputResult::Handled(_)
            | InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }
}

fn is_known_refusal(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::NotFound => true,
        Refusal::KeyReused | Refusal::ReplyRemoved | Refusal::ReplyUnreadable => false,
        Refusal::Rejected(rejection) => matches!(
            rejection,
            Rejection::Archived { .. }
                | Rejection::Deleting { .. }
                | Rejection::WorkspaceNotAttached
                | Rejection::WorkspaceActive
                | Rejection::WorkspaceIsHome
        ),
    }
}

fn any_command(dice: &mut Rng) -> WorkspaceCommand {
    let entry = any_entry(dice);
    match dice.below(8) {
        0 => WorkspaceCommand::Attach(AttachedWorkspace::of(&entry)),
        1 => WorkspaceCommand::Detach(entry.workspace_id),
        2 | 3 => WorkspaceCommand::Exit,
        _ => WorkspaceCommand::Use(SelectedWorkspace {
            entry,
            detected_kind: DetectedKind::CanonicalRepo,
            mode: UseMode::Direct,
            by_path: dice.percent(80),
            worktree: None,
            notes: Vec::new(),
        }),
    }
}

fn any_entry(dice: &mut Rng) -> WorkspaceEntry {
    let name = dice.below(3);
    WorkspaceEntry {
        workspace_id: WorkspaceId::from_stored(format!("ws-{name}")),
        ..WorkspaceEntry::agent_home(&format!("/projects/{name}"))
    }
}
