//! A provider round that failed: a pause and another try, or the end of the turn. Keeps the account of the tries.

use super::end;
use super::ending::Ending;
use crate::attempt::{self, Disposition, MAX_ATTEMPTS};
use crate::draft::Draft;
use crate::input::{Reply, RoundTiming, Stamp};
use holon_domain::attempt::{AttemptOutcome, AttemptRecord, AttemptTimeline, Tries};
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{Event, ProviderRetryScheduled};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::timer::{Due, DueId};
use holon_domain::turn::{OpenTurn, Phase, TerminalReason};
use holon_domain::{limits, text};

/// The effect whose answer is waited for.
pub(super) fn awaited_answer(draft: &Draft<'_>) -> Option<EffectId> {
    match draft.agent.open_turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::CallingModel { effect }) => Some(*effect),
        Some(Phase::BackingOff { .. } | Phase::RunningTool { .. }) | None => None,
    }
}

fn attempt_record(turn: &OpenTurn, timing: RoundTiming, outcome: AttemptOutcome) -> AttemptRecord {
    AttemptRecord {
        provider: turn.model.provider().to_owned(),
        model_ref: turn.model.to_string(),
        attempt: tries_so_far(turn) + 1,
        max_attempts: MAX_ATTEMPTS,
        started_at: Some(timing.started_at),
        completed_at: Some(timing.completed_at),
        duration_ms: Some(timing.provider_ms),
        failure_kind: None,
        disposition: None,
        outcome,
        advanced_to_fallback: false,
        backoff_ms: None,
        token_usage: None,
        transport_diagnostics: None,
    }
}

fn tries_so_far(turn: &OpenTurn) -> u32 {
    u32::try_from(turn.attempts.len()).unwrap_or(MAX_ATTEMPTS)
}

/// How the answered round came about. The account of its tries is closed.
pub(super) fn close_tries(turn: &mut OpenTurn, timing: RoundTiming) -> Tries {
    Tries {
        model_ref: turn.model.to_string(),
        started_at: timing.started_at,
        duration_ms: timing.provider_ms,
        max_attempts: MAX_ATTEMPTS,
        failed: std::mem::take(&mut turn.attempts),
    }
}

/// A model failed.
pub(crate) fn round_failed(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    failure: &ModelFailure,
    timing: RoundTiming,
) -> Reply {
    let awaited = awaited_answer(draft);
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(mut turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    if let Some(usage) = failure.usage {
        turn.usage.add(usage);
        draft.agent.totals.usage.add(usage);
    }
    let attempt = tries_so_far(&turn) + 1;
    let verdict = attempt::judge(
        failure.kind,
        attempt,
        failure.retry_after_ms,
        draft.entropy.next(),
    );
    let outcome = match verdict {
        Disposition::Retry { .. } => AttemptOutcome::Retrying,
        Disposition::Exhausted => AttemptOutcome::RetriesExhausted,
        Disposition::FailFast => AttemptOutcome::FailFastAborted,
    };
    let mut record = AttemptRecord {
        failure_kind: Some(failure.kind.as_str().to_owned()),
        disposition: Some(verdict.as_str().to_owned()),
        token_usage: failure.usage,
        transport_diagnostics: failure.diagnostics.as_deref().cloned(),
        ..attempt_record(&turn, timing, outcome)
    };
    match verdict {
        Disposition::Retry { backoff_ms } => {
            record.backoff_ms = Some(backoff_ms);
            turn.attempts.push(record);
            back_off(draft, turn, failure, backoff_ms);
        }
        Disposition::Exhausted | Disposition::FailFast => {
            turn.attempts.push(record);
            let attempts = std::mem::take(&mut turn.attempts);
            let timeline = AttemptTimeline::of(&turn.model.to_string(), attempts);
            let reason = match failure.kind {
                ModelFailureKind::ContextLengthExceeded => TerminalReason::ContextLengthExceeded,
                ModelFailureKind::Timeout
                | ModelFailureKind::Connection
                | ModelFailureKind::Network
                | ModelFailureKind::Quota
                | ModelFailureKind::RateLimited
                | ModelFailureKind::ServerError
                | ModelFailureKind::Auth
                | ModelFailureKind::InvalidRequest
                | ModelFailureKind::InvalidResponse
                | ModelFailureKind::UnsupportedTransport
                | ModelFailureKind::ModelUnavailable => TerminalReason::ProviderFailed,
            };
            end::end(
                draft,
                &turn,
                Ending::provider_failed(reason, failure, timeline),
            );
        }
    }
    Reply::Done
}

fn back_off(draft: &mut Draft<'_>, mut turn: OpenTurn, failure: &ModelFailure, backoff_ms: u64) {
    let until = draft.now.plus_millis(backoff_ms);
    draft.event(Event::ProviderRetryScheduled(ProviderRetryScheduled {
        turn_index: turn.turn_index,
        round: turn.rounds + 1,
        attempt: tries_so_far(&turn),
        failure_kind: failure.kind.as_str().to_owned(),
        error: text::preview(&failure.message, limits::EVENT_PREVIEW_BYTES),
        backoff_ms,
        retry_at: until,
    }));
    let due = draft.set_due(
        until,
        Due::BackoffOver {
            turn_index: turn.turn_index,
        },
    );
    turn.phase = Phase::BackingOff { due, until };
    draft.agent.open_turn = Some(turn);
}

/// The pause before the next try is over.
pub(crate) fn backoff_over(draft: &mut Draft<'_>, id: DueId) -> Reply {
    let Some(turn) = draft.agent.open_turn.as_mut() else {
        return Reply::Unchanged;
    };
    match turn.phase {
        Phase::BackingOff { due, .. } if due == id => {
            let (turn_index, attempt) = (turn.turn_index, tries_so_far(turn) + 1);
            let effect = draft.open_effect(Effect::CallModel {
                turn_index,
                attempt,
            });
            if let Some(turn) = draft.agent.open_turn.as_mut() {
                turn.phase = Phase::CallingModel { effect };
            }
            Reply::Done
        }
        Phase::BackingOff { .. } | Phase::CallingModel { .. } | Phase::RunningTool { .. } => {
            Reply::Unchanged
        }
    }
}
