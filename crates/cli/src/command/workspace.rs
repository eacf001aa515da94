//! `holon workspace` and `holon worktree`.

use crate::args::{UseArgs, WorkspaceCommand, WorktreeCommand};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use crate::target::Target;
use holon_api::{
    AttachWorkspaceRequest, DetachWorkspaceRequest, UseWorkspaceRequest, WorktreesRequest,
};
use holon_domain::workspace::AGENT_HOME;
use std::path::Path;

/// Changes or lists the workspaces of an agent.
pub(super) async fn run(
    target: Target,
    command: WorkspaceCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        WorkspaceCommand::Attach { path, agent } => {
            let request = AttachWorkspaceRequest {
                path: target.absolute("PATH", &path)?,
                ..AttachWorkspaceRequest::default()
            };
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let attached = host.client().attach_workspace(&agent_id, &request).await;
            output.answer(&host.check_answer(attached)?, |attached| {
                format!(
                    "{} is attached as {}",
                    attached.workspace_anchor, attached.workspace_id
                )
            });
        }
        WorkspaceCommand::Use(args) => return use_workspace(target, args, output).await,
        WorkspaceCommand::List(agent) => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let status = host.check_answer(host.client().status(Some(&agent_id)).await)?;
            output.answer(&status, |agent| render::workspace::list(&agent.execution));
        }
        WorkspaceCommand::Detach { workspace, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let request = DetachWorkspaceRequest {
                workspace_id: workspace.clone(),
                ..DetachWorkspaceRequest::default()
            };
            let detached = host.client().detach_workspace(&agent_id, &request).await;
            output.answer(&host.check_answer(detached)?, |change| {
                format!("{workspace} is detached from agent {}", change.agent_id)
            });
        }
        WorkspaceCommand::Exit(agent) => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let left = host.client().exit_workspace(&agent_id).await;
            output.answer(&host.check_answer(left)?, |change| {
                format!("agent {} is back in its home", change.agent_id)
            });
        }
    }
    Ok(Exit::Done)
}

async fn use_workspace(target: Target, args: UseArgs, output: &Output) -> Result<Exit, Failure> {
    let is_id = args.workspace == AGENT_HOME || args.workspace.starts_with("ws-");
    let request = UseWorkspaceRequest {
        path: (!is_id)
            .then(|| target.absolute("WORKSPACE", Path::new(&args.workspace)))
            .transpose()?,
        workspace_id: is_id.then_some(args.workspace),
        mode: Some(args.mode.into()),
        cwd: args.cwd,
        isolation_label: args.label,
        ..UseWorkspaceRequest::default()
    };
    let host = Host::find(target, args.agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    let used = host.client().use_workspace(&agent_id, &request).await;
    output.answer(&host.check_answer(used)?, |used| {
        let mut lines = vec![format!(
            "agent {} works in {}",
            used.agent_id, used.entry.cwd
        )];
        lines.extend(used.notes.iter().cloned());
        lines.join("\n")
    });
    Ok(Exit::Done)
}

/// Lists or cleans up managed worktrees.
pub(super) async fn worktree(
    target: Target,
    command: WorktreeCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let clean = match command {
        WorktreeCommand::List | WorktreeCommand::Clean { dry_run: true } => false,
        WorktreeCommand::Clean { dry_run: false } => true,
    };
    let request = WorktreesRequest {
        clean,
        ..WorktreesRequest::default()
    };
    let host = Host::find(target, None, output)?;
    let found = host.check_answer(host.client().worktrees(&request).await)?;
    output.answer(&found, |found| render::workspace::worktrees(found));
    Ok(Exit::Done)
}
