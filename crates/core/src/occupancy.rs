//! Occupancy of execution roots: which directory an agent may work in, so that others can be told.
//!
//! | agent | its tasks and patches | execution root that it occupies |
//! |---|---|---|
//! | booting, runnable, in its own home | any | none |
//! | booting, runnable, elsewhere | any | that of its workspace |
//! | stopped, deleting | some are not over | the last one, until the last of them is over |
//! | stopped, deleting | all over | none |
//!
//! Every occupancy that ends leaves an event.
//!
//! The release is part of the commit that makes it due, so it cannot fail alone: if it cannot be written, the stop
//! fails. What still works there is an open effect, which survives a crash. The binding to the workspace stays.

use crate::draft::Draft;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::decision::Fact;
use holon_domain::event::{Event, WorkspaceOccupancyReleased};
use holon_domain::workspace::Occupancy;

/// Claim of an agent to an execution root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    None,
    /// To the root of its workspace.
    Workspace,
    /// To the root that it occupied when it was stopped.
    Last,
}

fn claim(agent: &AgentRecord) -> Claim {
    match agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Runnable if agent.workspace.is_agent_home() => Claim::None,
        Lifecycle::Booting | Lifecycle::Runnable => Claim::Workspace,
        Lifecycle::Stopped | Lifecycle::Deleting if is_at_work(agent) => Claim::Last,
        Lifecycle::Stopped | Lifecycle::Deleting => Claim::None,
    }
}

/// Returns true if a command or a patch of an agent may still change files.
fn is_at_work(agent: &AgentRecord) -> bool {
    agent.active_tasks > 0 || !agent.patches.is_empty()
}

fn is_of_workspace(held: &Occupancy, agent: &AgentRecord) -> bool {
    held.execution_root == agent.workspace.execution_root
        && held.workspace_id == agent.workspace.workspace_id
}

/// Returns true if the row names the occupancy that follows from the agent's state. Rows of earlier builds name none.
#[must_use]
pub(crate) fn is_settled(agent: &AgentRecord) -> bool {
    match (&agent.occupancy, claim(agent)) {
        (None, _) => true,
        (Some(_), Claim::None) => false,
        (Some(held), Claim::Workspace) => is_of_workspace(held, agent) && !held.releasing,
        (Some(held), Claim::Last) => held.releasing,
    }
}

/// Writes the occupancy that follows from the agent's state, if it is another one than before.
pub(crate) fn settle(draft: &mut Draft<'_>) {
    let claim = claim(&draft.agent);
    let is_missing = draft.agent.occupancy.is_none() && claim == Claim::Workspace;
    if is_settled(&draft.agent) && !is_missing {
        return;
    }
    let before = draft.agent.occupancy.clone();
    let next = match claim {
        Claim::None => None,
        Claim::Workspace => {
            let same = |held: &Occupancy| is_of_workspace(held, &draft.agent);
            let kept = before.clone().filter(same);
            let fresh = || Occupancy::of(&draft.agent.workspace, draft.now);
            Some(Occupancy {
                releasing: false,
                ..kept.unwrap_or_else(fresh)
            })
        }
        Claim::Last => before.clone().map(|held| Occupancy {
            releasing: true,
            ..held
        }),
    };
    let is_left = |held: &Occupancy| {
        let stays = |next: &Occupancy| next.execution_root == held.execution_root;
        !next.as_ref().is_some_and(stays)
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
