//! A provider round that failed: a pause and another try, the next model, a suspension, or the end of the turn.

use super::asking::{ask, ask_chain_again, turn_to};
use super::ending::Ending;
use super::tries::{attempt_record, current_try, keep};
use super::{end, notice, suspended};
use crate::attempt::{self, AttemptState, Disposition, Remedy};
use crate::draft::Draft;
use crate::input::{Reply, RoundTiming, Stamp};
use crate::patience::{self, ChainVerdict};
use holon_domain::attempt::{AttemptRecord, AttemptTimeline};
use holon_domain::decision::Fact;
use holon_domain::effect::EffectId;
use holon_domain::event::{
    Event, ModelLimitLearned, ProviderFallbackSelected, ProviderRetryScheduled,
};
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef};
use holon_domain::provider::LearnedLimits;
use holon_domain::queue::QueueEntry;
use holon_domain::timer::DueAction;
use holon_domain::turn::{OpenTurn, PauseCause, Phase, ResumeMark, TerminalReason};
use holon_domain::{limits, text};

/// The effect whose answer is waited for.
pub(super) fn awaited_answer(draft: &Draft<'_>) -> Option<EffectId> {
    match draft.agent.open_turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::CallingModel { effect }) => Some(*effect),
        Some(
            Phase::BackingOff { .. }
            | Phase::Suspended { .. }
            | Phase::RunningTool { .. }
            | Phase::Sending { .. },
        )
        | None => None,
    }
}

/// A request that failed.
pub(crate) struct FailedRound<'a> {
    /// How its model failed.
    pub(crate) failure: &'a ModelFailure,
    /// How long that took.
    pub(crate) timing: RoundTiming,
    /// Messages that had joined the request. They are still queued.
    pub(crate) joined: &'a [QueueEntry],
}

/// A model failed.
pub(crate) fn round_failed(draft: &mut Draft<'_>, stamp: Stamp, failed: &FailedRound<'_>) -> Reply {
    let failure = failed.failure;
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
        ..attempt_record(&turn, failure, failed.timing, verdict)
    };
    keep(draft, &mut turn, record);
    // A prompt waits from when its model was asked. The host lives to record this, so no resumption counts any more.
    let since = &mut turn.patience.since;
    *since = since.or(Some(failed.timing.started_at));
    turn.resume = ResumeMark::default();
    turn.patience.failed_at = Some(draft.now);
    match next {
        Next::Model(index) => fall_over(draft, turn, index, failure),
        Next::Pause(pause) => back_off(draft, turn, failed, pause),
        Next::ChainFailed => chain_failed(draft, turn, failed),
        Next::Refused => refused(draft, turn, failed),
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
    /// Every model of the chain has failed.
    ChainFailed,
    /// No model is asked the same again.
    Refused,
}

fn choose(
    draft: &Draft<'_>,
    turn: &OpenTurn,
    kind: ModelFailureKind,
    verdict: Disposition,
) -> Next {
    match verdict {
        Disposition::Retry { backoff_ms } => Next::Pause((backoff_ms, PauseCause::Retry)),
        Disposition::WaitForNetwork { backoff_ms } => match local_fallback(draft, turn) {
            Some(index) => Next::Model(index),
            None => Next::Pause((backoff_ms, PauseCause::Network)),
        },
        Disposition::Exhausted | Disposition::FailFast => match attempt::remedy(kind) {
            Remedy::None => Next::Refused,
            // Without a network only a model on this machine can still answer.
            Remedy::Network => local_fallback(draft, turn).map_or(Next::ChainFailed, Next::Model),
            Remedy::Retry | Remedy::Allowance | Remedy::OtherModel
                if !turn.fallbacks.is_empty() =>
            {
                Next::Model(0)
            }
            Remedy::Retry | Remedy::Allowance | Remedy::OtherModel => Next::ChainFailed,
        },
        Disposition::Park { .. } => Next::ChainFailed,
    }
}

/// Every model of the chain has failed. A turn somebody waits for on the line ends, any other is suspended.
fn chain_failed(draft: &mut Draft<'_>, turn: OpenTurn, failed: &FailedRound<'_>) {
    let kinds = suspended::failure_kinds(draft);
    let refused_by_one = kinds.iter().any(|kind| kind.refuses_request());
    if refused_by_one && may_drop_joined(&turn, failed) {
        return refused(draft, turn, failed);
    }
    match patience::judge_chain(&kinds) {
        ChainVerdict::Refused => refused(draft, turn, failed),
        ChainVerdict::MayPass(_) | ChainVerdict::NeedsOperator(_) if turn.attended => {
            match next_renewal(draft, &turn) {
                Some(renewal) => park(draft, turn, failed, renewal),
                None => give_up(draft, &turn, failed.failure),
            }
        }
        ChainVerdict::MayPass(reason) => match suspended::plan(draft, &turn) {
            None if refused_by_one => refused(draft, turn, failed),
            planned => suspended::suspend(draft, turn, failed, reason, planned),
        },
        ChainVerdict::NeedsOperator(reason) => {
            suspended::suspend(draft, turn, failed, reason, None);
        }
    }
}

/// The failure that ends a refused turn. A model that was asked later may have failed for another reason.
fn as_refusal(draft: &Draft<'_>, failure: &ModelFailure) -> ModelFailure {
    let mut kinds = suspended::failure_kinds(draft).into_iter();
    let refusal = kinds.find(|kind| kind.refuses_request());
    ModelFailure {
        kind: refusal.unwrap_or(failure.kind),
        ..failure.clone()
    }
}

/// Whether a request that was refused can be asked without the messages that had joined it.
const fn may_drop_joined(turn: &OpenTurn, failed: &FailedRound<'_>) -> bool {
    !turn.closed_to_joining && !failed.joined.is_empty()
}

/// No model takes the request. It is asked once more without the messages that had joined it, which get turns of their
/// own; without any the turn fails.
fn refused(draft: &mut Draft<'_>, mut turn: OpenTurn, failed: &FailedRound<'_>) {
    if !may_drop_joined(&turn, failed) {
        return give_up(draft, &turn, &as_refusal(draft, failed.failure));
    }
    turn.closed_to_joining = true;
    for entry in failed.joined {
        draft.queue_held(entry);
    }
    ask_chain_again(draft, turn);
}

/// A model on this machine that the turn may turn to.
fn local_fallback(draft: &Draft<'_>, turn: &OpenTurn) -> Option<usize> {
    let is_local = |model: &ModelRef| draft.host.models.is_local(model);
    turn.fallbacks.iter().position(is_local)
}

/// The model whose allowance is renewed first, of all the round has asked, and how long that takes. None if that is
/// longer than somebody waits on the line.
fn next_renewal(draft: &Draft<'_>, turn: &OpenTurn) -> Option<(ModelRef, u64)> {
    let now = draft.now;
    let patience = limits::ATTENDED_PATIENCE_MS;
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
    failed: &FailedRound<'_>,
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
    back_off(draft, turn, failed, (wait_ms, PauseCause::Quota));
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
    failed: &FailedRound<'_>,
    (backoff_ms, cause): (u64, PauseCause),
) {
    let failure = failed.failure;
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
        run_id: Some(turn.run_id.clone()),
        message_seq: Some(turn.message_seq),
    }));
    let due = draft.set_due(
        until,
        DueAction::BackoffOver {
            turn_index: turn.turn_index,
        },
    );
    notice::acknowledge(draft, &turn, failed, until);
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
        run_id: Some(turn.run_id.clone()),
        message_seq: Some(turn.message_seq),
    }));
    // An effort was chosen for the model it was chosen with.
    turn.reasoning_effort = None;
    ask(draft, turn);
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
