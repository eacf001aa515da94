//! Describes the end of a turn: its last text, its failure or its rest. `end` writes it.

use super::work_calls::asks_operator;
use crate::input::CurrentRound;
use holon_domain::attempt::{AttemptRecord, AttemptTimeline};
use holon_domain::brief::{ActionCode, ActionRequired};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::turn::{LogSeq, OpenTurn, TerminalKind, TerminalReason};
use holon_domain::wait::WaitRecord;
use holon_domain::{limits, text};

/// A rest that the model requested.
pub(crate) struct RestRequest {
    pub(crate) reason: Option<String>,
    pub(crate) duration_ms: Option<u64>,
}

/// The reason for the end of a turn, with its text, failure and rest.
pub(crate) struct Ending {
    pub(super) reason: TerminalReason,
    /// The last round, whose text is the terminal message, and the beginning of that text.
    pub(super) last_round: Option<(LogSeq, String)>,
    pub(super) failure: Option<Failure>,
    pub(super) rest: Option<RestRequest>,
    /// Action requested of the operator, if the turn ended to wait for them.
    pub(super) asks: Option<ActionRequired>,
}

/// Description of a failed turn.
pub(crate) struct Failure {
    pub(super) artifact: FailureArtifact,
    pub(super) timeline: Option<AttemptTimeline>,
    /// Kind of the provider's failure; `None` if the runtime failed.
    pub(super) provider: Option<ModelFailureKind>,
}

impl Ending {
    pub(super) fn finished(round: &CurrentRound) -> Self {
        let last_round = Some((round.entry, round.words()));
        Self {
            reason: TerminalReason::Finished,
            last_round,
            failure: None,
            rest: None,
            asks: None,
        }
    }

    pub(super) fn slept(round: &CurrentRound, rest: RestRequest) -> Self {
        Self {
            reason: TerminalReason::Slept,
            rest: Some(rest),
            ..Self::finished(round)
        }
    }

    /// Ends a turn in which the model declared a wait.
    pub(super) fn waits(round: &CurrentRound, wait: &WaitRecord) -> Self {
        let rest = RestRequest {
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

    pub(super) fn max_rounds(round: &CurrentRound, rounds: u64) -> Self {
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

    /// Returns the beginning of the last round's text; `None` if it had none or the turn failed before one.
    pub(super) fn words(&self) -> Option<&str> {
        let (_, words) = self.last_round.as_ref()?;
        Some(words.as_str()).filter(|words| !words.is_empty())
    }

    /// Describes the wait for the brief of a turn without text.
    pub(super) fn waiting_for(&self, asks: &ActionRequired) -> String {
        let reason = self.rest_reason().map(str::to_owned);
        reason.unwrap_or_else(|| asks.next_step.clone())
    }

    /// Returns the reason that the model gave for its rest or wait.
    pub(super) fn rest_reason(&self) -> Option<&str> {
        self.rest.as_ref()?.reason.as_deref()
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
                "none of {} models could answer: {}",
                many.len(),
                many.join("; ")
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

/// Lists the models that were asked, each with the words of its last failure. The model that the round asked for comes
/// first, because an operator wants to know why the chosen one did not answer.
fn failures(timeline: &AttemptTimeline) -> Vec<String> {
    let mut last: Vec<&AttemptRecord> = Vec::new();
    for attempt in &timeline.attempts {
        match last
            .iter_mut()
            .find(|known| known.model_ref == attempt.model_ref)
        {
            Some(known) => *known = attempt,
            None => last.push(attempt),
        }
    }
    // The sort is stable, so the others keep the order in which they were asked.
    last.sort_by_key(|attempt| attempt.model_ref != timeline.requested_model_ref);
    last.into_iter().map(describe).collect()
}

/// Names a model and its failure.
fn describe(attempt: &AttemptRecord) -> String {
    let kind = attempt
        .failure_kind
        .as_ref()
        .map_or("", |kind| kind.as_str());
    match &attempt.error {
        Some(error) => format!("{} failed ({kind}): {error}", attempt.model_ref),
        None => format!("{} failed ({kind})", attempt.model_ref),
    }
}
