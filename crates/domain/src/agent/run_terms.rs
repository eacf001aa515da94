//! Terms of an agent that was created for one run of one caller: its budget of model rounds and its end.

use super::{AgentRecord, IdentityStatus, IdentityView, Lifecycle};
use crate::limits;
use serde::{Deserialize, Serialize};

/// Fate of an agent at the end of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// Reserved: the agent stays and can be used again.
    Keep,
    /// The agent is removed with everything it has.
    Remove,
}

/// Terms of a one-shot run. All turns of the agent belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTerms {
    /// Most model rounds over all turns, as the caller set it. Absent if the limit of a single turn applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// Applies when the caller has the answer or has stopped waiting.
    pub when_over: RunEnd,
    /// Applies when the process that serves the caller is gone.
    pub when_host_restarts: RunEnd,
}

impl RunTerms {
    /// Returns the terms of a run whose agent is removed with the answer and with the process.
    #[must_use]
    pub const fn temporary(max_rounds: Option<u32>) -> Self {
        Self {
            max_rounds,
            when_over: RunEnd::Remove,
            when_host_restarts: RunEnd::Remove,
        }
    }

    /// Returns the model rounds that all turns of the run may take together.
    #[must_use]
    pub fn budget(self) -> u32 {
        let max = self.max_rounds.unwrap_or(limits::ROUNDS_PER_TURN);
        max.min(limits::ROUNDS_PER_TURN)
    }
}

impl AgentRecord {
    /// Returns true if the agent was created for one run, whose caller waits for its end.
    #[must_use]
    pub const fn is_one_run(&self) -> bool {
        self.settings.run.is_some()
    }

    /// Returns true if the agent is removed once its run is over.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.run.is_some_and(|run| run.when_over == RunEnd::Remove)
    }

    /// Returns true if the agent is removed when the process that serves its caller is gone.
    #[must_use]
    pub fn is_removed_with_process(&self) -> bool {
        self.run
            .is_some_and(|run| run.when_host_restarts == RunEnd::Remove)
    }

    /// Returns the model rounds that are left of the run. `None` if the agent was not created for one run.
    #[must_use]
    pub fn run_rounds_left(&self) -> Option<u32> {
        let used = u32::try_from(self.totals.model_rounds).unwrap_or(u32::MAX);
        self.run.map(|run| run.budget().saturating_sub(used))
    }

    /// Returns the agent's identity as clients see it.
    #[must_use]
    pub fn identity_view(&self) -> IdentityView {
        IdentityView {
            status: match self.lifecycle {
                Lifecycle::Deleting => IdentityStatus::Archived,
                Lifecycle::Stopped if self.archived_at.is_some() => IdentityStatus::Archived,
                Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {
                    IdentityStatus::Active
                }
            },
            temporary: self.is_temporary(),
            agent_home: Some(self.agent_home.clone()),
            ..IdentityView::active(self.identity.clone())
        }
    }
}
