//! Describes the end of a turn: its last text, its failure or its rest. `end` writes it.

use super::work_calls::asks_operator;
use crate::input::CurrentRound;
use holon_domain::attempt::{AttemptRecord, AttemptTimeline, StoredWord};
use holon_domain::brief::{ActionCode, ActionRequired};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::turn::{LogSeq, OpenTurn, TerminalKind, TerminalReason};
use holon_domain::wait::WaitRecord;
use holon_domain::{limits, text};

/// Next step of an operator after a content filter ended an answer.
const FILTER_REMEDY: &str = "ask in other words, or choose another model";

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
    /// Remark about the last text, for the brief.
    pub(super) note: Option<String>,
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
            note: None,
        }
    }

    /// Ends a turn whose last answer a content filter of the provider ended. Without text the turn fails.
    pub(super) fn filtered(turn: &OpenTurn, round: &CurrentRound) -> Self {
        if !round.words().is_empty() {
            let note = format!(
                "a content filter of {} cut this answer off; {FILTER_REMEDY}",
                turn.model_ref()
            );
            return Self {
                note: Some(note),
                ..Self::finished(round)
            };
        }
        let summary = format!(
            "a content filter of {} withheld the whole answer; {FILTER_REMEDY}",
            turn.model_ref()
        );
        Self::failed(
            TerminalReason::ProviderFailed,
            Failure::answer(turn, "content_filter", &summary),
        )
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
            next_step: next_step(wait, &round.words()),
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
        Self::failed(
            TerminalReason::ProviderFailed,
            Failure::answer(turn, "empty_answer", &summary),
        )
    }

    /// Ends a turn whose model repeats invalid calls. `error` names the first of them and its error.
    pub(super) fn repeated_call(turn: &OpenTurn, error: &str) -> Self {
        let summary = format!(
            "{} made the same invalid call {} times in a row ({}); ask in other words, or choose another model",
            turn.model_ref(),
            limits::INVALID_ROUNDS,
            text::preview(error, limits::EVENT_PREVIEW_BYTES),
        );
        Self::failed(
            TerminalReason::ProviderFailed,
            Failure::answer(turn, "repeated_invalid_call", &summary),
        )
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
            note: None,
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

/// Says what an operator is asked for, the reason unless they read it in the words of the turn, and how an answer to a
/// question is recognised.
fn next_step(wait: &WaitRecord, words: &str) -> String {
    let asked = wait.asks_for();
    // Without words the reason stands for them.
    let reason = wait
        .reason_beside_question()
        .filter(|reason| !words.is_empty() && !words.contains(reason));
    let reason = reason.map_or_else(String::new, |reason| format!("; it waits for: {reason}"));
    match &wait.question {
        Some(question) if !question.any_message => {
            let (choices, or_choice) = match question.choices.as_slice() {
                [] => (String::new(), ""),
                choices => (
                    format!(" ({})", choices.join(" / ")),
                    ", or begin it with one of the choices",
                ),
            };
            format!(
                "answer the agent: {asked}{choices}{reason}; write {} in your message{or_choice}, so that it counts as the answer",
                wait.id
            )
        }
        Some(_) | None => format!("answer the agent: {asked}{reason}"),
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

    /// Builds the failure of an answer that holds nothing for the operator.
    fn answer(turn: &OpenTurn, kind: &str, summary: &str) -> Self {
        let mut this = Self::runtime(kind, summary);
        this.artifact.category = FailureCategory::Protocol;
        this.artifact.provider = turn.model.as_ref().map(|model| model.provider().to_owned());
        this.artifact.model_ref = Some(turn.model_ref());
        this
    }

    /// Builds the failure of a round that no model answered. Kind, model, status and causes are those of one attempt:
    /// the last one of the model that the round asked for. The summary begins with its words.
    fn provider(failure: &ModelFailure, timeline: AttemptTimeline) -> Self {
        let failures = last_failures(&timeline);
        let told = failures.first().copied();
        let kind = match told.and_then(|attempt| attempt.failure_kind.as_ref()) {
            Some(StoredWord::Known(kind)) => *kind,
            Some(StoredWord::Unknown(_)) | None => failure.kind,
        };
        let mut this = Self::runtime(kind.as_str(), &summary(failure, &failures));
        this.artifact.category = category(kind);
        this.artifact.provider = told.map(|attempt| attempt.provider.clone());
        this.artifact.model_ref = told.map(|attempt| attempt.model_ref.clone());
        let own = failure.diagnostics.as_deref();
        let facts = match failures.as_slice() {
            [] | [_] => own,
            [first, ..] => first.transport_diagnostics.as_ref(),
        };
        let facts = facts.cloned().unwrap_or_default();
        this.artifact.status = facts.status;
        let metadata = &mut this.artifact.metadata;
        metadata.insert("attempts".to_owned(), timeline.attempts.len().to_string());
        metadata.insert(
            "requested_model_ref".to_owned(),
            timeline.requested_model_ref.clone(),
        );
        this.artifact.source_chain = facts
            .source_chain
            .into_iter()
            .take(limits::SOURCE_CHAIN)
            .collect();
        this.timeline = Some(timeline);
        // The policy of the agent follows the verdict on the whole chain.
        this.provider = Some(failure.kind);
        this
    }
}

const fn category(kind: ModelFailureKind) -> FailureCategory {
    match kind {
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
        | ModelFailureKind::NotJson
        | ModelFailureKind::UnsupportedTransport
        | ModelFailureKind::ModelUnavailable => FailureCategory::Protocol,
    }
}

/// Returns the words of the model that the round asked for, then a list of the others that were asked.
fn summary(failure: &ModelFailure, failures: &[&AttemptRecord]) -> String {
    let [first, others @ ..] = failures else {
        return failure.message.clone();
    };
    if others.is_empty() {
        return failure.message.clone();
    }
    let others: Vec<String> = others.iter().map(|attempt| describe(attempt)).collect();
    format!(
        "{}; no other model answered: {}",
        describe(first),
        others.join("; ")
    )
}

/// Returns the last failed attempt of each model that was asked. The model that the round asked for comes first, because
/// an operator wants to know why the chosen one did not answer.
fn last_failures(timeline: &AttemptTimeline) -> Vec<&AttemptRecord> {
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
    last
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
