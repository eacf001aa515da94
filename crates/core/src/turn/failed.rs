//! A provider round that failed: a pause and another try, the next model, or the end of the turn.

use super::end;
use super::ending::Ending;
use super::tries::{attempt_record, current_try, keep};
use crate::attempt::{self, AttemptState, Disposition};
use crate::draft::Draft;
use crate::input::{Reply, RoundTiming, Stamp};
use holon_domain::attempt::{AttemptRecord, AttemptTimeline, tries_of};
use holon_domain::decision::Fact;
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{
    Event, ModelLimitLearned, ProviderFallbackSelected, ProviderRetryScheduled,
};
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef};
use holon_domain::provider::LearnedLimits;
use holon_domain::timer::{Due, DueId};
use holon_domain::turn::{OpenTurn, PauseCause, Phase, TerminalReason};
use holon_domain::{limits, text};

/// The effect whose answer is waited for.
pub(super) fn awaited_answer(draft: &Draft<'_>) -> Option<EffectId> {
    match draft.agent.open_turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::CallingModel { effect }) => Some(*effect),
        Some(Phase::BackingOff { .. } | Phase::RunningTool { .. } | Phase::Sending { .. })
        | None => None,
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
    learn(draft, &turn, failure.learned);
    let verdict = attempt::judge(failure, attempt_state(&turn), draft.entropy.next());
    let next = choose(draft, &turn, failure.kind, verdict);
    turn.offline_ms = match verdict {
        Disposition::WaitForNetwork { backoff_ms } => turn.offline_ms.saturating_add(backoff_ms),
        Disposition::Retry { .. }
        | Disposition::Park { .. }
        | Disposition::Exhausted
        | Disposition::FailFast => 0,
    };
    let record = AttemptRecord {
        backoff_ms: verdict.backoff_ms(),
        advanced_to_fallback: matches!(next, Next::Model(_)),
        renews_at: attempt::renewal_ms(failure).map(|ms| draft.now.plus_millis(ms)),
        ..attempt_record(&turn, failure, timing, verdict)
    };
    keep(draft, &mut turn, record);
    match next {
        Next::Model(index) => fall_over(draft, turn, index, failure),
        Next::Pause(pause) => back_off(draft, turn, failure, pause),
        Next::Renewal => match next_renewal(draft, &turn) {
            Some(renewal) => park(draft, turn, failure, renewal),
            None => give_up(draft, &turn, failure),
        },
        Next::End => give_up(draft, &turn, failure),
    }
    Reply::Done
}

/// What follows from a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The fallback at this position is asked.
    Model(usize),
    /// The same model is asked after a pause.
    Pause((u64, PauseCause)),
    /// The first renewal of an allowance is waited for, if one is near enough.
    Renewal,
    /// Nothing: the turn fails.
    End,
}

fn choose(
    draft: &Draft<'_>,
    turn: &OpenTurn,
    kind: ModelFailureKind,
    verdict: Disposition,
) -> Next {
    match verdict {
        Disposition::Retry { backoff_ms } => Next::Pause((backoff_ms, PauseCause::Retry)),
        // Without a network a model on this machine can still answer.
        Disposition::WaitForNetwork { backoff_ms } => match local_fallback(draft, turn) {
            Some(index) => Next::Model(index),
            None => Next::Pause((backoff_ms, PauseCause::Network)),
        },
        Disposition::Exhausted | Disposition::FailFast if !attempt::falls_over(kind) => Next::End,
        Disposition::Exhausted | Disposition::FailFast if !turn.fallbacks.is_empty() => {
            Next::Model(0)
        }
        Disposition::Park { .. } | Disposition::Exhausted | Disposition::FailFast => Next::Renewal,
    }
}

/// A model on this machine that the turn may turn to.
fn local_fallback(draft: &Draft<'_>, turn: &OpenTurn) -> Option<usize> {
    let is_local = |model: &ModelRef| draft.host.models.is_local(model);
    turn.fallbacks.iter().position(is_local)
}

/// The model whose allowance is renewed first, of all the round has asked, and how long that takes. Nothing for
/// somebody who would sit and wait too long, and not for ever.
fn next_renewal(draft: &Draft<'_>, turn: &OpenTurn) -> Option<(ModelRef, u64)> {
    let now = draft.now;
    let patience = if turn.attended {
        limits::ATTENDED_PATIENCE_MS
    } else {
        limits::PARK_MAX_MS
    };
    let ahead = |attempt: &AttemptRecord| {
        let at = attempt.renews_at.filter(|at| *at > now)?;
        let model = ModelRef::parse(&attempt.model_ref).ok()?;
        Some((model, at.millis_since(now)))
    };
    let attempts = draft.attempts();
    let renewals = attempts.iter().filter_map(ahead);
    renewals
        .filter(|(_, wait_ms)| turn.parks < limits::PARKS_PER_ROUND && *wait_ms <= patience)
        .min_by_key(|(_, wait_ms)| *wait_ms)
}

/// Nobody could answer, but one model will be able to again: it is waited for, and then all are asked anew, that one
/// first.
fn park(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    failure: &ModelFailure,
    (model, wait_ms): (ModelRef, u64),
) {
    let mut others: Vec<ModelRef> = Vec::new();
    for attempt in &draft.attempts() {
        if let Ok(asked) = ModelRef::parse(&attempt.model_ref)
            && asked != model
            && !others.contains(&asked)
        {
            others.push(asked);
        }
    }
    others.append(&mut turn.fallbacks);
    turn.fallbacks = others;
    turn.parks += 1;
    turn_to(draft, &mut turn, Some(model));
    back_off(draft, turn, failure, (wait_ms, PauseCause::Quota));
}

/// Lets the turn ask another model from now on, and remembers the one it asked first.
fn turn_to(draft: &Draft<'_>, turn: &mut OpenTurn, model: Option<ModelRef>) {
    if turn.model == model {
        return;
    }
    let before = std::mem::replace(&mut turn.model, model);
    if turn.requested_model.is_none() {
        turn.requested_model = before;
    }
    turn.tries = tries_of(&draft.attempts(), &turn.model_ref());
}

/// What a provider taught holds for every agent of the host.
pub(super) fn learn(draft: &mut Draft<'_>, turn: &OpenTurn, learned: Option<LearnedLimits>) {
    if let Some(limits) = learned {
        let model_ref = turn.model_ref();
        draft.event(Event::ModelLimitLearned(ModelLimitLearned {
            model_ref: model_ref.clone(),
            limits,
        }));
        draft.fact(Fact::LimitLearned { model_ref, limits });
    }
}

fn attempt_state(turn: &OpenTurn) -> AttemptState {
    AttemptState {
        attempt: current_try(turn),
        has_fallback: !turn.fallbacks.is_empty(),
        attended: turn.attended,
        without_network_ms: turn.offline_ms,
        parks: turn.parks,
    }
}

fn back_off(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    failure: &ModelFailure,
    (backoff_ms, cause): (u64, PauseCause),
) {
    let until = draft.now.plus_millis(backoff_ms);
    draft.event(Event::ProviderRetryScheduled(ProviderRetryScheduled {
        turn_index: turn.turn_index,
        round: turn.rounds + 1,
        attempt: draft.attempts().last().map_or(0, |last| last.attempt),
        failure_kind: failure.kind.as_str().to_owned(),
        error: text::preview(&failure.message, limits::EVENT_PREVIEW_BYTES),
        backoff_ms,
        retry_at: until,
        cause,
        model_ref: Some(turn.model_ref()),
    }));
    let due = draft.set_due(
        until,
        Due::BackoffOver {
            turn_index: turn.turn_index,
        },
    );
    turn.phase = Phase::BackingOff { due, until, cause };
    draft.agent.open_turn = Some(turn);
}

/// The next model is asked the same, and for the rest of the turn.
fn fall_over(draft: &mut Draft<'_>, mut turn: OpenTurn, index: usize, failure: &ModelFailure) {
    let next = turn.fallbacks.remove(index);
    let failed = turn.model_ref();
    turn_to(draft, &mut turn, Some(next));
    draft.event(Event::ProviderFallbackSelected(ProviderFallbackSelected {
        turn_index: turn.turn_index,
        round: turn.rounds + 1,
        from_model_ref: failed,
        to_model_ref: turn.model_ref(),
        failure_kind: failure.kind.as_str().to_owned(),
        error: text::preview(&failure.message, limits::EVENT_PREVIEW_BYTES),
    }));
    // An effort was chosen for the model it was chosen with.
    turn.reasoning_effort = None;
    ask(draft, turn);
}

/// Somebody has done something about it, or wants an answer: a wait for network or allowance is over at once.
pub(crate) fn end_wait(draft: &mut Draft<'_>) {
    if let Some(turn) = take_waiting(draft) {
        ask(draft, turn);
    }
}

/// The agent is to ask another model. A turn that only waits goes on with that one; any other ends as it began.
pub(crate) fn redirect(draft: &mut Draft<'_>) {
    let Some(mut turn) = take_waiting(draft) else {
        return;
    };
    let own = draft.agent.model_override.as_ref();
    let model = draft.host.models.first(own).cloned();
    turn_to(draft, &mut turn, model);
    turn.fallbacks = draft.host.models.after_first(own);
    turn.fallbacks.truncate(limits::FALLBACKS);
    turn.reasoning_effort = draft.agent.reasoning_effort;
    ask(draft, turn);
}

/// Takes the open turn if all it does is wait for network or allowance, and ends the wait.
fn take_waiting(draft: &mut Draft<'_>) -> Option<OpenTurn> {
    let waits = |turn: &mut OpenTurn| match turn.phase {
        Phase::BackingOff { cause, .. } => match cause {
            PauseCause::Network | PauseCause::Quota => true,
            PauseCause::Retry => false,
        },
        Phase::CallingModel { .. } | Phase::RunningTool { .. } | Phase::Sending { .. } => false,
    };
    let turn = draft.agent.open_turn.take_if(waits)?;
    if let Phase::BackingOff { due, .. } = turn.phase {
        draft.clear_due(due);
    }
    Some(turn)
}

/// Asks the turn's model.
fn ask(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    let effect = draft.open_effect(Effect::CallModel {
        turn_index: turn.turn_index,
        attempt: current_try(&turn),
    });
    turn.phase = Phase::CallingModel { effect };
    draft.agent.open_turn = Some(turn);
}

fn give_up(draft: &mut Draft<'_>, turn: &OpenTurn, failure: &ModelFailure) {
    let attempts = draft.attempts();
    let timeline = AttemptTimeline::of(&ModelRef::spell(turn.requested()), attempts);
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
        turn,
        Ending::provider_failed(reason, failure, timeline),
    );
}

/// The pause before the next try is over.
pub(crate) fn backoff_over(draft: &mut Draft<'_>, id: DueId) -> Reply {
    let waits =
        |turn: &mut OpenTurn| matches!(turn.phase, Phase::BackingOff { due, .. } if due == id);
    match draft.agent.open_turn.take_if(waits) {
        Some(turn) => {
            ask(draft, turn);
            Reply::Done
        }
        None => Reply::Unchanged,
    }
}
