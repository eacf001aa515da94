//! Reads agent rows of earlier builds, which held everything in one JSON text. This build never writes them.

use super::stored::HotState;
use super::{
    AgentRecord, AgentSettings, Counters, HomeState, IdentityView, LastFailure, Lifecycle, RunTerms,
};
use crate::attempt::{AttemptRecord, count_attempts};
use crate::effect::EffectId;
use crate::failure::{FailureArtifact, FailureCause};
use crate::model::ModelRef;
use crate::provider::ReasoningEffort;
use crate::time::Timestamp;
use crate::turn::OpenTurn;
use crate::workspace::{WorkspaceEntry, WorkspaceSet};
use serde::Deserialize;

/// A failure as stored. Rows of earlier builds hold only the artifact, without a cause.
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
            .unwrap_or_else(|| FailureCause::from_legacy(&artifact.kind));
        Self {
            occurred_at: stored.occurred_at,
            cause,
            failure_artifact: artifact,
        }
    }
}

/// Whole row of an earlier build.
#[derive(Deserialize)]
pub(super) struct OldRow {
    identity: IdentityView,
    created_at: Timestamp,
    counters: Counters,
    agent_home: String,
    workspace: WorkspaceEntry,
    #[serde(default)]
    model_override: Option<ModelRef>,
    #[serde(default)]
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(default)]
    home_effect: Option<EffectId>,
    #[serde(default)]
    open_turn: Option<OldTurn>,
    #[serde(flatten)]
    state: HotState,
}

/// Open turn of an earlier build, with the failed attempts of its round.
#[derive(Deserialize)]
struct OldTurn {
    #[serde(default)]
    attempts: Vec<AttemptRecord>,
    #[serde(flatten)]
    turn: OpenTurn,
}

impl OldTurn {
    fn split(self) -> (OpenTurn, Vec<AttemptRecord>) {
        let Self { attempts, mut turn } = self;
        // Earlier builds stored `none/none` if no model was chosen.
        turn.model
            .take_if(|model| model.provider() == "none" && model.model() == "none");
        turn.failed_attempts = u32::try_from(attempts.len()).unwrap_or(u32::MAX);
        turn.tries = count_attempts(&attempts, &turn.model_ref());
        (turn, attempts)
    }
}

impl OldRow {
    /// Converts the row to today's record and the failed attempts, which have rows of their own today. Settings are
    /// split off, the state of the home is derived, and the flag `temporary` becomes run terms.
    pub(super) fn split(self) -> (AgentRecord, Vec<AttemptRecord>) {
        let home = home_of(&self);
        let temporary = self.identity.temporary;
        let settings = AgentSettings {
            identity: self.identity.identity,
            created_at: self.created_at,
            agent_home: self.agent_home,
            workspace: self.workspace,
            attached: WorkspaceSet::default(),
            worktree_session: None,
            run: temporary.then(|| RunTerms::temporary(None)),
            model_override: self.model_override,
            reasoning_effort: self.reasoning_effort,
            thinking_tokens: None,
            fallback_models: None,
            thread_tokens: None,
            operator_bindings: Vec::new(),
            unsigned_webhooks: false,
            withdrawn_modes: Vec::new(),
            supervision: None,
        };
        let (open_turn, attempts) = self.open_turn.map(OldTurn::split).unzip();
        let state = HotState {
            home,
            open_turn,
            ..self.state
        };
        let record = AgentRecord::of(settings, self.counters, state);
        (record, attempts.unwrap_or_default())
    }
}

/// Derives the state of a home from the open effect and the last failure, which told it in earlier builds.
fn home_of(row: &OldRow) -> HomeState {
    let (lifecycle, last) = (row.state.lifecycle, row.state.last_failure.as_ref());
    let cause = last.map(|failure| failure.cause);
    match (lifecycle, row.home_effect, cause) {
        (Lifecycle::Deleting, Some(effect), _) => HomeState::Removing { effect, failed: 0 },
        (Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped, Some(effect), _) => {
            HomeState::Preparing { effect }
        }
        (Lifecycle::Deleting, None, Some(FailureCause::HomeNotRemoved)) => HomeState::NotRemoved {
            failed: 1,
            retry: None,
        },
        (Lifecycle::Booting, None, _)
        | (Lifecycle::Stopped, None, Some(FailureCause::HomeNotMade)) => HomeState::Unmade,
        (Lifecycle::Runnable | Lifecycle::Stopped | Lifecycle::Deleting, None, _) => {
            HomeState::Ready
        }
    }
}
