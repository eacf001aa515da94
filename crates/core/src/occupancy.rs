//! Occupancy of execution roots: which directory an agent may work in, so that others can be told.
//!
//! | agent | its tasks and patches | occupancy of its execution root |
//! |---|---|---|
//! | booting, runnable | any | held |
//! | stopped, deleting | some are not over | held until the last is over |
//! | stopped, deleting | all over | released, with an event |
//! | in its own home | any | none |
//!
//! The release is part of the commit that makes it due, so it cannot fail alone: if it cannot be written, the stop
//! fails. What still works there is an open effect, which survives a crash. The binding to the workspace stays.

use crate::draft::Draft;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::decision::Fact;
use holon_domain::event::{Event, WorkspaceOccupancyReleased};
use holon_domain::workspace::Occupancy;

/// Claim of an agent to its execution root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    None,
    Held,
    Releasing,
}

fn claim(agent: &AgentRecord) -> Claim {
    if agent.workspace.is_agent_home() {
        return Claim::None;
    }
    match agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Runnable => Claim::Held,
        Lifecycle::Stopped | Lifecycle::Deleting if is_at_work(agent) => Claim::Releasing,
        Lifecycle::Stopped | Lifecycle::Deleting => Claim::None,
    }
}

/// Returns true if a command or a patch of an agent may still change files.
fn is_at_work(agent: &AgentRecord) -> bool {
    agent.active_tasks > 0 || !agent.patches.is_empty()
}

/// Returns true if the row names the occupancy that follows from the agent's state. Rows of earlier builds name none.
#[must_use]
pub(crate) fn is_settled(agent: &AgentRecord) -> bool {
    let Some(held) = &agent.occupancy else {
        return true;
    };
    let is_root = held.execution_root == agent.workspace.execution_root
        && held.workspace_id == agent.workspace.workspace_id;
    match claim(agent) {
        Claim::None => false,
        Claim::Held => is_root && !held.releasing,
        Claim::Releasing => is_root && held.releasing,
    }
}

/// Writes the occupancy that follows from the agent's state, if it is another one than before.
pub(crate) fn settle(draft: &mut Draft<'_>) {
    let claim = claim(&draft.agent);
    if is_settled(&draft.agent) && (draft.agent.occupancy.is_some() || claim == Claim::None) {
        return;
    }
    let workspace = &draft.agent.workspace;
    let is_root = |held: &Occupancy| {
        held.execution_root == workspace.execution_root
            && held.workspace_id == workspace.workspace_id
    };
    let before = draft.agent.occupancy.clone();
    let kept = before.clone().filter(is_root);
    let next = match claim {
        Claim::None => None,
        Claim::Held | Claim::Releasing => Some(Occupancy {
            releasing: claim == Claim::Releasing,
            ..kept.unwrap_or_else(|| Occupancy::of(workspace, draft.now))
        }),
    };
    let is_left = |held: &Occupancy| {
        next.as_ref()
            .is_none_or(|next| next.execution_root != held.execution_root)
    };
    if let Some(left) = before.filter(is_left) {
        draft.event(Event::WorkspaceOccupancyReleased(
            WorkspaceOccupancyReleased {
                workspace_id: left.workspace_id,
                execution_root: left.execution_root,
                execution_root_id: left.execution_root_id,
            },
        ));
    }
    draft.fact(match next.clone() {
        Some(occupancy) => Fact::OccupancyTaken(Box::new(occupancy)),
        None => Fact::OccupancyReleased,
    });
    draft.agent.occupancy = next;
}
