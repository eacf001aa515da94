//! The record of a round's failed tries: stores each one, and closes the record when the round is answered.

use crate::attempt::{Disposition, MAX_ATTEMPTS};
use crate::draft::Draft;
use crate::input::{RoundAnswer, RoundTiming};
use crate::planted::{Fault, is_planted};
use holon_domain::attempt::{
    AttemptDisposition, AttemptOutcome, AttemptRecord, RoundAttempts, StoredWord, count_attempts,
};
use holon_domain::model::{ModelFailure, ModelRef};
use holon_domain::turn::OpenTurn;
use holon_domain::{limits, text};

/// Returns the number of the current try of the turn's model, counted from 1.
pub(super) fn current_try(turn: &OpenTurn) -> u32 {
    turn.tries.saturating_add(1)
}

/// Returns the timeline of the answered round, and closes the record of its tries.
pub(super) fn close_tries(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    answer: &RoundAnswer,
) -> RoundAttempts {
    let failed = draft.attempts();
    if turn.failed_attempts > 0 {
        draft.clear_attempts();
    }
    (turn.failed_attempts, turn.tries) = (0, 0);
    RoundAttempts {
        model_ref: turn.model_ref(),
        requested_model_ref: turn.requested_model.as_ref().map(ToString::to_string),
        started_at: answer.timing.started_at,
        duration_ms: answer.timing.provider_ms,
        max_attempts: MAX_ATTEMPTS,
        failed,
        context_management: answer.context_management,
        overlap: answer.overlap,
        implausible_usage: answer.implausible_usage,
    }
}

/// Builds the stored record of a failed try.
pub(super) fn attempt_record(
    turn: &OpenTurn,
    failure: &ModelFailure,
    timing: RoundTiming,
    verdict: Disposition,
) -> AttemptRecord {
    let outcome = match verdict {
        Disposition::Retry { .. }
        | Disposition::WaitForNetwork { .. }
        | Disposition::Park { .. } => AttemptOutcome::Retrying,
        Disposition::Exhausted => AttemptOutcome::RetriesExhausted,
        Disposition::FailFast => AttemptOutcome::FailFastAborted,
    };
    AttemptRecord {
        provider: turn
            .model
            .as_ref()
            .map_or("none", ModelRef::provider)
            .to_owned(),
        model_ref: turn.model_ref(),
        attempt: current_try(turn),
        max_attempts: MAX_ATTEMPTS,
        started_at: Some(timing.started_at),
        completed_at: Some(timing.completed_at),
        duration_ms: Some(timing.provider_ms),
        failure_kind: Some(StoredWord::Known(failure.kind)),
        error: Some(text::preview(&failure.message, limits::EVENT_PREVIEW_BYTES)),
        disposition: Some(StoredWord::Known(verdict.stored())),
        outcome,
        advanced_to_fallback: false,
        backoff_ms: None,
        renews_at: None,
        token_usage: failure.usage,
        implausible_usage: None,
        transport_diagnostics: failure.diagnostics.as_deref().cloned(),
    }
}

/// Adds a failed try to the record. Of many tries without a network in a row, only the first and the last are kept.
pub(super) fn keep(draft: &mut Draft<'_>, turn: &mut OpenTurn, record: AttemptRecord) {
    let offline = |attempt: &AttemptRecord| {
        attempt.has_disposition(AttemptDisposition::WaitForNetwork)
            && attempt.model_ref == record.model_ref
    };
    let replaces_last = match draft.attempts().as_slice() {
        [.., first, last] => offline(&record) && offline(first) && offline(last),
        [] | [_] => false,
    };
    let kept = draft.attempts().len() - usize::from(replaces_last);
    draft.keep_attempt(kept + 1, record);
    turn.failed_attempts = u32::try_from(draft.attempts().len()).unwrap_or(u32::MAX);
    turn.tries = count_attempts(&draft.attempts(), &turn.model_ref());
    if is_planted(Fault::RetriesUncounted) {
        turn.tries = 0;
    }
}
