//! The request to a simulated model.

use crate::plan::Plan;
use crate::work_calls::WorkNames;
use holon_domain::model::ModelFailureKind;
use holon_domain::{AgentId, TaskId};

/// Behaviour of the simulated models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Models call tools, fail and are cut off.
    Busy,
    /// Models answer once with text, so that everything settles.
    Calm,
}

/// A request to a simulated model, with the ids that its calls may name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelQuery<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) mood: Mood,
    /// Failure of every model during an outage; `None` without one.
    pub(crate) outage: Option<ModelFailureKind>,
    /// Number of cut-off answers in a row; the next one is likely to be cut off as well.
    pub(crate) cut_off: u32,
    /// Existing tasks; active ones of the agent come first.
    pub(crate) tasks: &'a [TaskId],
    /// Number of active tasks at the beginning of `tasks`.
    pub(crate) active: usize,
    /// Unfinished tasks of the agent that stand for children.
    pub(crate) children: &'a [TaskId],
    /// Work of the agent.
    pub(crate) work: &'a WorkNames,
    /// Existing agents; the asking one comes first.
    pub(crate) agents: &'a [AgentId],
}
