//! Changes of an agent's workspaces: the attached set, and the one active entry.
//!
//! The agent's own calls take effect at once, also for the rest of the open turn; an operator's requests count from the
//! next turn on. No change touches a file. `occupancy` follows from the active entry.

use crate::draft::Draft;
use crate::input::{Reply, WorkspaceCommand};
use crate::policy::{self, ExecutionAct, PolicyDenial};
use crate::rejection::Rejection;
use holon_domain::WorkspaceId;
use holon_domain::agent::{AgentRecord, AgentSettings, Lifecycle};
use holon_domain::decision::Fact;
use holon_domain::event::{
    Event, WorkspaceAttachRequested, WorkspaceAttached, WorkspaceDetachRequested,
    WorkspaceDetached, WorkspaceEntered, WorkspaceExitRequested, WorkspaceExited, WorkspaceUsed,
    WorktreeEntered, WorktreeExited,
};
use holon_domain::summary::ExecutionProfile;
use holon_domain::workspace::{
    AGENT_HOME, AttachedWorkspace, DetachRefusal, SelectedWorkspace, UseMode, WorkspaceEntry,
    WorktreeSession,
};

/// Authority by which a workspace is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttachAuthority {
    /// A call of the agent, which its profile may withhold.
    Agent,
    Operator,
}

/// Returns true if the profile of an agent lets it attach directories by itself.
#[must_use]
pub fn may_attach(agent: &AgentRecord) -> bool {
    let preset = agent.identity.profile_preset;
    policy::check(
        preset,
        &ExecutionProfile::default(),
        ExecutionAct::AttachWorkspace,
    )
    .is_ok()
}

/// Asks the execution policy about an act of an agent, or of an operator for it.
fn ask_policy(
    draft: &Draft<'_>,
    authority: AttachAuthority,
    act: ExecutionAct,
) -> Result<(), Rejection> {
    let host = &draft.host.execution;
    let preset = draft.agent.identity.profile_preset;
    let asked = match authority {
        AttachAuthority::Agent => policy::check(preset, host, act),
        AttachAuthority::Operator => policy::check_host(host, act),
    };
    asked.map_err(PolicyDenial::rejection)
}

/// Handles a request of an operator.
pub(crate) fn handle(
    draft: &mut Draft<'_>,
    command: &WorkspaceCommand,
) -> Result<Reply, Rejection> {
    match draft.agent.lifecycle {
        Lifecycle::Deleting => return Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {}
    }
    match command {
        WorkspaceCommand::Attach(workspace) => {
            draft.event(Event::WorkspaceAttachRequested(WorkspaceAttachRequested {
                workspace_id: workspace.workspace_id.clone(),
                workspace_anchor: workspace.workspace_anchor.clone(),
            }));
            attach(draft, workspace, AttachAuthority::Operator)?;
        }
        WorkspaceCommand::Use(selected) => enter(draft, selected, AttachAuthority::Operator)?,
        WorkspaceCommand::Exit => exit(draft)?,
        WorkspaceCommand::Detach(id) => detach(draft, id)?,
    }
    Ok(Reply::Done)
}

/// Makes a selected workspace active, and attaches it if the request named it by its path.
pub(crate) fn enter(
    draft: &mut Draft<'_>,
    selected: &SelectedWorkspace,
    authority: AttachAuthority,
) -> Result<(), Rejection> {
    let id = &selected.entry.workspace_id;
    let is_known = draft.agent.attached_workspaces().find(id).is_some();
    if !selected.by_path && !is_known && !selected.entry.is_agent_home() {
        return Err(Rejection::WorkspaceNotAttached);
    }
    ask_policy(draft, authority, ExecutionAct::UseWorkspace(selected.mode))?;
    check_size(draft, &selected.entry, selected.worktree.as_ref())?;
    attach(draft, &selected.attached(), authority)?;
    activate(draft, selected.entry.clone(), selected.worktree.clone());
    Ok(())
}

/// Makes the entry of an operator's run active, by the same rules as a request to use it: the policy is asked, and a
/// workspace that is not attached yet needs room.
pub(crate) fn enter_configured(
    draft: &mut Draft<'_>,
    entry: WorkspaceEntry,
) -> Result<(), Rejection> {
    let authority = AttachAuthority::Operator;
    ask_policy(
        draft,
        authority,
        ExecutionAct::UseWorkspace(UseMode::Direct),
    )?;
    check_size(draft, &entry, None)?;
    attach(draft, &AttachedWorkspace::of(&entry), authority)?;
    activate(draft, entry, None);
    Ok(())
}

/// Refuses an entry for which the settings have no room. An agent always has room to go home.
fn check_size(
    draft: &Draft<'_>,
    entry: &WorkspaceEntry,
    worktree: Option<&WorktreeSession>,
) -> Result<(), Rejection> {
    let change = |settings: &mut AgentSettings| {
        settings.attached = settings.attached_workspaces();
        settings.attached.attach(AttachedWorkspace::of(entry));
        settings.workspace = entry.clone();
        settings.worktree_session = worktree.cloned();
    };
    draft.check_settings(change).map(drop)
}

/// Makes an entry active. Its workspace is attached.
pub(crate) fn activate(
    draft: &mut Draft<'_>,
    entry: WorkspaceEntry,
    worktree: Option<WorktreeSession>,
) {
    if entry == draft.agent.workspace && worktree == draft.agent.worktree_session {
        return;
    }
    leave_worktree(draft, worktree.as_ref());
    if entry.execution_root != draft.agent.workspace.execution_root {
        draft.event(Event::WorkspaceEntered(WorkspaceEntered {
            workspace_id: entry.workspace_id.clone(),
            workspace_anchor: entry.workspace_anchor.clone(),
            execution_root: entry.execution_root.clone(),
            execution_root_id: entry.execution_root_id(),
            projection_kind: entry.projection_kind,
            cwd: entry.cwd.clone(),
        }));
    }
    draft.event(Event::WorkspaceUsed(WorkspaceUsed {
        workspace_id: entry.workspace_id.clone(),
        execution_root: entry.execution_root.clone(),
        cwd: entry.cwd.clone(),
        workspace_anchor: Some(entry.workspace_anchor.clone()),
        projection_kind: Some(entry.projection_kind),
        ownership: Some(entry.ownership),
    }));
    let is_new = worktree != draft.agent.worktree_session;
    if let Some(session) = worktree.as_ref().filter(|_| is_new) {
        draft.event(Event::WorktreeEntered(WorktreeEntered {
            workspace_id: entry.workspace_id.clone(),
            worktree_path: session.worktree_path.clone(),
            worktree_branch: session.worktree_branch.clone(),
            base_commit: session.base_commit.clone(),
        }));
    }
    let workspace = AttachedWorkspace::of(&entry);
    if draft
        .agent
        .attached_workspaces()
        .find(&workspace.workspace_id)
        != Some(&workspace)
    {
        register(draft, &workspace);
    }
    draft.change_settings(|settings| {
        settings.attached = settings.attached_workspaces();
        settings.attached.attach(workspace);
        settings.workspace = entry;
        settings.worktree_session = worktree;
    });
}

/// Attaches a workspace. Nothing happens if it is attached already.
fn attach(
    draft: &mut Draft<'_>,
    workspace: &AttachedWorkspace,
    authority: AttachAuthority,
) -> Result<(), Rejection> {
    let known = draft.agent.attached_workspaces();
    if !known.clone().attach(workspace.clone()) {
        return Ok(());
    }
    ask_policy(draft, authority, ExecutionAct::AttachWorkspace)?;
    if !known.has_room() {
        return Err(Rejection::TooManyWorkspaces);
    }
    let added = workspace.clone();
    draft.change_settings_within(|settings| {
        settings.attached = known;
        settings.attached.attach(added);
    })?;
    draft.event(Event::WorkspaceAttached(WorkspaceAttached {
        workspace_id: workspace.workspace_id.clone(),
        workspace_anchor: workspace.workspace_anchor.clone(),
    }));
    register(draft, workspace);
    Ok(())
}

/// Writes a workspace to the host's registry. An agent's home is not registered.
pub(crate) fn register(draft: &mut Draft<'_>, workspace: &AttachedWorkspace) {
    if workspace.workspace_id.as_str() == AGENT_HOME {
        return;
    }
    draft.fact(Fact::WorkspaceRegistered {
        workspace: workspace.clone(),
        at: draft.now,
    });
}

/// Leaves the active workspace for the agent's home.
fn exit(draft: &mut Draft<'_>) -> Result<(), Rejection> {
    let left = draft.agent.workspace.clone();
    if left.is_agent_home() {
        return Err(Rejection::WorkspaceIsHome);
    }
    draft.event(Event::WorkspaceExitRequested(WorkspaceExitRequested {
        workspace_id: left.workspace_id.clone(),
        execution_root: left.execution_root.clone(),
    }));
    draft.event(Event::WorkspaceExited(WorkspaceExited {
        workspace_id: left.workspace_id,
        execution_root: left.execution_root,
    }));
    let home = WorkspaceEntry::agent_home(&draft.agent.agent_home);
    activate(draft, home, None);
    Ok(())
}

fn detach(draft: &mut Draft<'_>, id: &WorkspaceId) -> Result<(), Rejection> {
    let mut attached = draft.agent.attached_workspaces();
    let removed = attached
        .detach(id, &draft.agent.workspace.workspace_id)
        .map_err(|refusal| match refusal {
            DetachRefusal::AgentHome => Rejection::WorkspaceIsHome,
            DetachRefusal::Active => Rejection::WorkspaceActive,
            DetachRefusal::NotAttached => Rejection::WorkspaceNotAttached,
        })?;
    draft.event(Event::WorkspaceDetachRequested(WorkspaceDetachRequested {
        workspace_id: removed.workspace_id.clone(),
        workspace_anchor: removed.workspace_anchor.clone(),
    }));
    draft.event(Event::WorkspaceDetached(WorkspaceDetached {
        workspace_id: removed.workspace_id,
        workspace_anchor: removed.workspace_anchor,
    }));
    draft.change_settings(|settings| settings.attached = attached);
    Ok(())
}

fn leave_worktree(draft: &mut Draft<'_>, next: Option<&WorktreeSession>) {
    let Some(session) = draft.agent.worktree_session.clone() else {
        return;
    };
    if next.is_some_and(|next| next.worktree_path == session.worktree_path) {
        return;
    }
    let workspace_id = draft.agent.workspace.workspace_id.clone();
    draft.event(Event::WorktreeExited(WorktreeExited {
        workspace_id,
        worktree_path: session.worktree_path,
        worktree_branch: session.worktree_branch,
    }));
}
