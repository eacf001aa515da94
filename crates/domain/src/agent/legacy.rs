//! Rows of earlier builds: how the facts they hold are read as today's.

use super::{
    AgentRecord, Counters, HomeState, IdentityView, LastFailure, Lifecycle, RestRecord, RestWake,
    RunTerms, Totals,
};
use crate::effect::EffectId;
use crate::failure::{FailureArtifact, FailureCause};
use crate::model::ModelRef;
use crate::provider::ReasoningEffort;
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::turn::{OpenTurn, TerminalRecord};
use crate::workspace::WorkspaceEntry;
use serde::Deserialize;

/// A failure as stored; before causes were, only the artifact said why.
#[derive(Deserialize)]
pub(super) struct StoredFailure {
    occurred_at: Timestamp,
    #[serde(default)]
    cause: Option<FailureCause>,
    failure_artifact: FailureArtifact,
}

impl From<StoredFailure> for LastFailure {
    fn from(stored: StoredFailure) -> Self {
        let artifact = stored.failure_artifact;
        let cause = stored
            .cause
            .unwrap_or_else(|| FailureCause::of_old(&artifact.kind));
        Self {
            occurred_at: stored.occurred_at,
            cause,
            failure_artifact: artifact,
        }
    }
}

/// An agent's row as stored; before the state of a home was, an effect and the last failure told it.
#[derive(Deserialize)]
pub(super) struct StoredAgent {
    identity: IdentityView,
    created_at: Timestamp,
    lifecycle: Lifecycle,
    generation: u64,
    counters: Counters,
    #[serde(default)]
    home: Option<HomeState>,
    #[serde(default)]
    home_effect: Option<EffectId>,
    #[serde(default)]
    open_turn: Option<OpenTurn>,
    #[serde(default)]
    rest: Option<RestRecord>,
    agent_home: String,
    workspace: WorkspaceEntry,
    #[serde(default)]
    run: Option<RunTerms>,
    #[serde(default)]
    model_override: Option<ModelRef>,
    #[serde(default)]
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(default)]
    totals: Totals,
    #[serde(default)]
    self_caused_turns: u32,
    #[serde(default)]
    self_caused_queued: u64,
    #[serde(default)]
    active_tasks: u32,
    #[serde(default)]
    held: Vec<MessageSeq>,
    #[serde(default)]
    pace: Option<RestWake>,
    #[serde(default)]
    last_turn: Option<TerminalRecord>,
    #[serde(default)]
    last_failure: Option<LastFailure>,
    #[serde(default)]
    last_wake_reason: Option<String>,
    #[serde(default)]
    last_brief_at: Option<Timestamp>,
}

impl From<StoredAgent> for AgentRecord {
    fn from(row: StoredAgent) -> Self {
        let home = row.home.unwrap_or_else(|| home_of_old(&row));
        let temporary = row.identity.temporary.then(|| RunTerms::temporary(None));
        Self {
            home,
            run: row.run.or(temporary),
            identity: row.identity.identity,
            created_at: row.created_at,
            lifecycle: row.lifecycle,
            generation: row.generation,
            counters: row.counters,
            open_turn: row.open_turn,
            rest: row.rest,
            agent_home: row.agent_home,
            workspace: row.workspace,
            model_override: row.model_override,
            reasoning_effort: row.reasoning_effort,
            totals: row.totals,
            self_caused_turns: row.self_caused_turns,
            self_caused_queued: row.self_caused_queued,
            active_tasks: row.active_tasks,
            held: row.held,
            pace: row.pace,
            last_turn: row.last_turn,
            last_failure: row.last_failure,
            last_wake_reason: row.last_wake_reason,
            last_brief_at: row.last_brief_at,
        }
    }
}

fn home_of_old(row: &StoredAgent) -> HomeState {
    let cause = row.last_failure.as_ref().map(|failure| failure.cause);
    match (row.lifecycle, row.home_effect, cause) {
        (Lifecycle::Deleting, Some(effect), _) => HomeState::Removing { effect },
        (Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped, Some(effect), _) => {
            HomeState::Preparing { effect }
        }
        (Lifecycle::Deleting, None, Some(FailureCause::HomeNotRemoved)) => HomeState::NotRemoved,
        (Lifecycle::Booting, None, _)
        | (Lifecycle::Stopped, None, Some(FailureCause::HomeNotMade)) => HomeState::Unmade,
        (Lifecycle::Runnable | Lifecycle::Stopped | Lifecycle::Deleting, None, _) => {
            HomeState::Ready
        }
    }
}
