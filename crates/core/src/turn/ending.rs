//! How a turn ends and what is said of it: the words, the failure, the rest. Writes nothing; `end` does.

use super::work_calls::asks_operator;
use crate::input::RoundInHand;
use holon_domain::attempt::AttemptTimeline;
use holon_domain::brief::{ActionCode, ActionRequired};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::turn::{LogSeq, OpenTurn, TerminalKind, TerminalReason};
use holon_domain::wait::WaitRecord;
use holon_domain::{limits, text};

/// A rest the model asked for.
pub(crate) struct Rest {
    pub(crate) reason: Option<String>,
    pub(crate) duration_ms: Option<u64>,
}

/// How and why a turn ends, and what is said of it.
pub(crate) struct Ending {
    pub(super) reason: TerminalReason,
    /// The last round, whose words are the terminal message; and the first of them.
    pub(super) last_round: Option<(LogSeq, String)>,
    pub(super) failure: Option<Failure>,
    pub(super) rest: Option<Rest>,
    /// What the operator is asked for, if the turn ended to wait for them.
    pub(super) asks: Option<ActionRequired>,
}

/// Why a turn failed.
pub(crate) struct Failure {
    pub(super) artifact: FailureArtifact,
    pub(super) timeline: Option<AttemptTimeline>,
    /// What the provider did, if it was one.
    pub(super) provider: Option<ModelFailureKind>,
}

impl Ending {
    pub(super) fn finished(round: &RoundInHand) -> Self {
        let last_round = Some((round.entry, round.words()));
        Self {
            reason: TerminalReason::Finished,
            last_round,
            failure: None,
            rest: None,
            asks: None,
        }
    }

    pub(super) fn slept(round: &RoundInHand, rest: Rest) -> Self {
        Self {
            reason: TerminalReason::Slept,
            rest: Some(rest),
            ..Self::finished(round)
        }
    }

    /// The model declared what it waits for.
    pub(super) fn waits(round: &RoundInHand, wait: &WaitRecord) -> Self {
        let rest = Rest {
            reason: Some(wait.waiting_for.clone()),
            duration_ms: None,
        };
        let asks = asks_operator(wait).then(|| ActionRequired {
            code: ActionCode::OperatorInput,
            next_step: format!("answer the agent: {}", wait.waiting_for),
        });
        Self {
            asks,
            ..Self::slept(round, rest)
        }
    }

    pub(super) fn max_rounds(round: &RoundInHand, rounds: u64) -> Self {
        let summary = format!(
            "stopped after {}, the most this request allowed; allow more with --max-turns",
            text::pluralize(rounds, "model round")
        );
        let failure = Failure::runtime("max_turns_exceeded", &summary);
        Self {
            reason: TerminalReason::MaxRounds,
            failure: Some(failure),
            ..Self::finished(round)
        }
    }

    pub(super) fn output_limit() -> Self {
        let summary = "the model kept hitting its output limit; ask for the work in smaller pieces";
        Self::failed(
            TerminalReason::OutputLimit,
            Failure::runtime("output_limit", summary),
        )
    }

    pub(super) fn empty_answer(turn: &OpenTurn) -> Self {
        let summary = format!(
            "{} ended the turn without a word for its operator; ask again, or choose another model",
            turn.model_ref()
        );
        let mut failure = Failure::runtime("empty_answer", &summary);
        failure.artifact.category = FailureCategory::Protocol;
        failure.artifact.model_ref = Some(turn.model_ref());
        Self::failed(TerminalReason::ProviderFailed, failure)
    }

    pub(super) fn provider_failed(
        reason: TerminalReason,
        failure: &ModelFailure,
        timeline: AttemptTimeline,
    ) -> Self {
        Self::failed(reason, Failure::provider(failure, timeline))
    }

    pub(super) fn failed(reason: TerminalReason, failure: Failure) -> Self {
        Self {
            reason,
            last_round: None,
            failure: Some(failure),
            rest: None,
            asks: None,
        }
    }

    pub(super) fn called_off(reason: TerminalReason, summary: &str) -> Self {
        Self::failed(reason, Failure::runtime("run_aborted", summary))
    }

    /// The first of the turn's last words; none when its last round said nothing or it failed before one.
    pub(super) fn words(&self) -> Option<&str> {
        let (_, words) = self.last_round.as_ref()?;
        Some(words.as_str()).filter(|words| !words.is_empty())
    }

    /// What the turn waits for, for a brief of a turn that said nothing.
    pub(super) fn waiting_for(&self, asks: &ActionRequired) -> String {
        let reason = self.rest.as_ref().and_then(|rest| rest.reason.clone());
        reason.unwrap_or_else(|| asks.next_step.clone())
    }

    pub(super) const fn kind(&self) -> TerminalKind {
        match self.reason {
            TerminalReason::Finished | TerminalReason::Slept => TerminalKind::Completed,
            TerminalReason::MaxRounds
            | TerminalReason::ProviderFailed
            | TerminalReason::ContextLengthExceeded
            | TerminalReason::OutputLimit
            | TerminalReason::Poisoned
            | TerminalReason::OperatorAborted
            | TerminalReason::AgentStopped
            | TerminalReason::RuntimeFault => TerminalKind::Aborted,
        }
    }
}

impl Failure {
    pub(super) fn runtime(kind: &str, summary: &str) -> Self {
        Self {
            artifact: FailureArtifact::new(FailureCategory::Runtime, kind, summary),
            timeline: None,
            provider: None,
        }
    }

    fn provider(failure: &ModelFailure, timeline: AttemptTimeline) -> Self {
        let category = match failure.kind {
            ModelFailureKind::Timeout
            | ModelFailureKind::Connection
            | ModelFailureKind::Network
            | ModelFailureKind::Quota
            | ModelFailureKind::RateLimited
            | ModelFailureKind::ServerError
            | ModelFailureKind::Auth => FailureCategory::Transport,
            ModelFailureKind::InvalidRequest
            | ModelFailureKind::ContextLengthExceeded
            | ModelFailureKind::InvalidResponse
            | ModelFailureKind::UnsupportedTransport
            | ModelFailureKind::ModelUnavailable => FailureCategory::Protocol,
        };
        let summary = match failures(&timeline).as_slice() {
            [] | [_] => failure.message.clone(),
            many => format!(
                "none of {} models could answer ({}); the last: {}",
                many.len(),
                many.join(", "),
                failure.message
            ),
        };
        let mut this = Self::runtime(failure.kind.as_str(), &summary);
        let diagnostics = failure.diagnostics.as_deref().cloned().unwrap_or_default();
        this.artifact.category = category;
        this.artifact.provider = timeline
            .attempts
            .last()
            .map(|attempt| attempt.provider.clone());
        this.artifact.model_ref = timeline.active_model_ref.clone();
        this.artifact.status = diagnostics.status;
        this.artifact.source_chain = diagnostics
            .source_chain
            .into_iter()
            .take(limits::SOURCE_CHAIN)
            .collect();
        this.timeline = Some(timeline);
        this.provider = Some(failure.kind);
        this
    }
}

/// The models that were asked, each with why it failed last.
fn failures(timeline: &AttemptTimeline) -> Vec<String> {
    let mut last: Vec<(&str, &str)> = Vec::new();
    for attempt in &timeline.attempts {
        let kind = attempt
            .failure_kind
            .as_ref()
            .map_or("", |kind| kind.as_str());
        match last
            .iter_mut()
            .find(|(model, _)| *model == attempt.model_ref)
        {
            Some(known) => known.1 = kind,
            None => last.push((&attempt.model_ref, kind)),
        }
    }
    last.iter()
        .map(|(model, kind)| format!("{model}: {kind}"))
        .collect()
}
