//! Delegation: agents that make other agents, and the supervision of private children.
//!
//! `spawn` decides a call of `SpawnAgent` and checks the limits of the tree; `birth` makes the new agent; `end` lets a
//! child end and stops children with their parent; `observe` shows a child to its parent; `worktree` removes what an ended
//! child leaves.
//!
//! | step | where | in one commit |
//! |---|---|---|
//! | spawn | parent | task row with the delegation, row of the tree, send that makes the child; the child with its first message |
//! | follow-up | parent | message in the child's queue, result of the call |
//! | end | child | end of its turn, archive, and the end of the parent's task with its result message |
//! | stop | parent | task cancelled, child and everything below it archived |
//! | removal | parent | every child, ended or not, is removed, too |
//!
//! A private child ends by itself only: with a completed or failed closure, and with nothing of its own under way that
//! could still wake it. A waiting child has not ended.

mod birth;
mod end;
mod observe;
mod spawn;
mod worktree;

pub(crate) use birth::accept_followup;
pub use birth::create;
pub(crate) use end::{
    ask_supervisor, attach, end_if_done, failure_words, handle_attached, hear_missed_ends,
    leave_tree, release_all, retire, stop_child,
};
pub(crate) use observe::stuck_task_words;
pub use observe::{active_child, observe, unreadable_child, with_child};
pub(crate) use spawn::{
    check_limits, handle_followup_verdict, handle_spawn_verdict, send_followup, send_spawn,
};
pub use spawn::{child_home, child_id};
pub(crate) use worktree::{clean_worktree_when_free, handle_worktree_end};

use crate::draft::Draft;
use holon_domain::AgentId;

/// Returns the root of the tree that an agent belongs to: itself, or the one that its identity names.
pub(crate) fn root_of(draft: &Draft<'_>) -> AgentId {
    let identity = &draft.agent.identity;
    let root = identity.root_agent_id.as_ref();
    root.unwrap_or(&identity.agent_id).clone()
}
