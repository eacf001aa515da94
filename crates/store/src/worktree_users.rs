//! Lists the agents and their tasks as users of directories, so that no worktree is removed that one of them uses.

use crate::error::Error;
use crate::reader::Reader;
use holon_domain::agent::AgentRecord;
use holon_domain::task::TaskRecord;
use holon_domain::workspace::{WorktreeTask, WorktreeUser};

/// Lists every agent. A row that cannot be read fails the whole list: its agent may use any directory.
pub(crate) fn list(reader: &Reader<'_>) -> Result<Vec<WorktreeUser>, Error> {
    let mut users = Vec::new();
    for listed in reader.every_agent()? {
        let agent = listed.record?;
        let row = match agent.active_tasks {
            0 => None,
            _ => reader.agent(&listed.agent_id)?,
        };
        let tasks = row.map(|(no, _)| reader.active_tasks(no)).transpose()?;
        users.push(user_of(agent, &tasks.unwrap_or_default()));
    }
    Ok(users)
}

fn user_of(agent: AgentRecord, tasks: &[TaskRecord]) -> WorktreeUser {
    // An open turn may still work in a directory that an operator made it leave.
    let turn = agent.open_turn.as_ref();
    // A child that has ended does not come back to its worktree.
    let ended = agent.supervision.is_some() && agent.archived_at.is_some();
    let mut execution_roots = Vec::new();
    if !ended {
        execution_roots.push(agent.workspace.execution_root.clone());
    }
    execution_roots.extend(turn.map(|turn| turn.workspace.execution_root.clone()));
    let task = |task: &TaskRecord| {
        Some(WorktreeTask {
            task_id: task.id.clone(),
            workdir: task.command()?.workdir.clone(),
        })
    };
    WorktreeUser {
        in_turn: turn.is_some(),
        agent_id: agent.settings.identity.agent_id,
        execution_roots,
        tasks: tasks.iter().filter_map(task).collect(),
    }
}
