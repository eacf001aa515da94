//! What a simulated model is asked.

use crate::plan::Plan;
use holon_domain::model::ModelFailureKind;
use holon_domain::{AgentId, TaskId};

/// Whether the model makes trouble or only talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Calls tools, fails, is cut off.
    Busy,
    /// Says one thing and is done; so that everything settles.
    Calm,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) mood: Mood,
    /// How every model fails for the time being.
    pub(crate) outage: Option<ModelFailureKind>,
    /// Answers that were cut off in a row; the next is likely to be as well.
    pub(crate) cut_off: u32,
    /// Tasks there are, those of the agent that are not over first.
    pub(crate) tasks: &'a [TaskId],
    /// How many of the first are not over.
    pub(crate) active: usize,
    /// Agents there are, the one that asks first.
    pub(crate) agents: &'a [AgentId],
}
