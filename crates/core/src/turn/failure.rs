//! Handles a failed provider round: retry after a backoff, ask the next model, suspend the turn or end it.

use super::ask::{ask, restore_options, switch_model};
use super::ending::Ending;
use super::tries::{attempt_record, current_try, keep};
use super::{end, notice, refusal, suspension};
use crate::attempt::{self, AttemptState, Disposition, Remedy};
use crate::draft::Draft;
use crate::input::{FailedAttempt, Reply, Stamp};
use crate::patience::{self, ChainVerdict};
use crate::usage;
use holon_domain::attempt::{AttemptRecord, AttemptTimeline};
use holon_domain::decision::Fact;
use holon_domain::effect::EffectId;
use holon_domain::event::{
    Event, ModelLimitLearned, ProviderFallbackSelected, ProviderRetryScheduled,
};
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef};
use holon_domain::provider::{AskedServer, LearnedLimits};
use holon_domain::timer::DueAction;
use holon_domain::turn::{OpenTurn, PauseCause, Phase, ResumeMark, TerminalReason};
use holon_domain::{limits, text};

/// Returns the effect whose answer the turn waits for.
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

/// Handles a failed request of the open turn.
pub(crate) fn handle_failure(draft: &mut Draft<'_>, stamp: Stamp, failed: &FailedAttempt) -> Reply {
    let failure = &failed.failure;
    let awaited = awaited_answer(draft);
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(mut turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    usage::charge_failure(draft, &mut turn, failed);
    if let Some(usage) = failure.usage {
        turn.usage.add(usage);
        draft.agent.totals.usage.add(usage);
    }
    learn(draft, &turn, &failed.server, failure.learned);
    let verdict = attempt::judge(failure, attempt_state(&turn, failed), draft.entropy.next());
    let next = choose_action(draft, &turn, failure.kind, verdict);
    turn.offline_ms = match verdict {
        Disposition::WaitForNetwork { backoff_ms } => turn.offline_ms.saturating_add(backoff_ms),
        Disposition::Retry { .. }
        | Disposition::Park { .. }
        | Disposition::Exhausted
        | Disposition::FailFast => 0,
    };
    let record = AttemptRecord {
        backoff_ms: verdict.backoff_ms(),
        advanced_to_fallback: matches!(next, FailureAction::Model(_)),
        renews_at: attempt::renewal_ms(failure).map(|ms| draft.now.plus_millis(ms)),
        implausible_usage: failed.implausible_usage,
        ..attempt_record(&turn, failure, failed.timing, verdict)
    };
    keep(draft, &mut turn, record);
    if failure.kind == ModelFailureKind::ContextLengthExceeded {
        refusal::lower_ceiling(&mut turn, failed);
    }
    if attempt::refuses_form(failure.kind) {
        refusal::note_refused(&mut turn, failed, verdict);
    }
    // A prompt waits from the time its model was asked. The host is alive to record this, so earlier resumptions no
    // longer count.
    let since = &mut turn.patience.since;
    *since = since.or(Some(failed.timing.started_at));
    turn.resume = ResumeMark::default();
    turn.patience.failed_at = Some(draft.now);
    match next {
        FailureAction::Model(index) => ask_fallback(draft, turn, index, failure),
        FailureAction::Pause { backoff_ms, cause } => {
            back_off(draft, turn, failed, backoff_ms, cause)
        }
        FailureAction::ChainFailed => handle_chain_failure(draft, turn, failed),
        FailureAction::Refused => refusal::handle_refusal(draft, turn, failed),
    }
    Reply::Done
}

/// The action that follows a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureAction {
    /// Ask the fallback at this position.
    Model(usize),
    /// Ask the same model after a backoff.
    Pause {
        backoff_ms: u64,
        cause: PauseCause,
    },
    ChainFailed,
    /// The request was refused, so no model is asked the same again.
    Refused,
}

fn choose_action(
    draft: &Draft<'_>,
    turn: &OpenTurn,
    kind: ModelFailureKind,
    verdict: Disposition,
) -> FailureAction {
    match verdict {
        Disposition::Retry { backoff_ms } => FailureAction::Pause {
            backoff_ms,
            cause: PauseCause::Retry,
        },
        Disposition::WaitForNetwork { backoff_ms } => match local_fallback(draft, turn) {
            Some(index) => FailureAction::Model(index),
            None => FailureAction::Pause {
                backoff_ms,
                cause: PauseCause::Network,
            },
        },
        Disposition::Exhausted | Disposition::FailFast => match attempt::remedy(kind) {
            Remedy::Compaction => FailureAction::Refused,
            // Without a network only a local model can answer.
            Remedy::Network => {
                local_fallback(draft, turn).map_or(FailureAction::ChainFailed, FailureAction::Model)
            }
            Remedy::Retry | Remedy::Allowance | Remedy::OtherModel
                if !turn.fallbacks.is_empty() =>
            {
                FailureAction::Model(0)
            }
            Remedy::Retry | Remedy::Allowance | Remedy::OtherModel => FailureAction::ChainFailed,
        },
        Disposition::Park { .. } => FailureAction::ChainFailed,
    }
}

/// Handles the failure of every model. A turn with a waiting caller ends, any other is suspended.
fn handle_chain_failure(draft: &mut Draft<'_>, turn: OpenTurn, failed: &FailedAttempt) {
    let kinds = suspension::failure_kinds(draft);
    let refused_by_one = kinds.iter().any(|kind| kind.refuses_request());
    let may_differ = refusal::may_change(draft, &turn, failed);
    if refused_by_one && may_differ {
        return refusal::handle_refusal(draft, turn, failed);
    }
    match patience::judge_chain(&kinds) {
        ChainVerdict::Refused => refusal::handle_refusal(draft, turn, failed),
        ChainVerdict::MayPass(_) | ChainVerdict::NeedsOperator(_) if turn.attended => {
            match next_renewal(draft, &turn) {
                Some((model, wait_ms)) => park(draft, turn, failed, model, wait_ms),
                None => fail_turn(draft, &turn, &failed.failure),
            }
        }
        ChainVerdict::MayPass(reason) => match suspension::plan(draft, &turn) {
            None if refused_by_one => refusal::handle_refusal(draft, turn, failed),
            planned => suspension::suspend(draft, turn, failed, reason, planned),
        },
        ChainVerdict::NeedsOperator(reason) => {
            suspension::suspend(draft, turn, failed, reason, None);
        }
    }
}

/// Returns the position of a local model among the fallbacks.
fn local_fallback(draft: &Draft<'_>, turn: &OpenTurn) -> Option<usize> {
    let is_local = |model: &ModelRef| draft.host.models.is_local(model);
    turn.fallbacks.iter().position(is_local)
}

/// Returns the model of this round whose allowance is renewed first, and the time until then. `None` if that is longer
/// than a caller waits.
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

/// Waits for the model whose allowance is renewed first. Then all models are asked again, that one first.
fn park(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    failed: &FailedAttempt,
    model: ModelRef,
    wait_ms: u64,
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
    restore_options(draft, &mut turn, Some(&model));
    switch_model(draft, &mut turn, Some(model));
    back_off(draft, turn, failed, wait_ms, PauseCause::Quota);
}

/// Stores limits learned from a provider in a round. They hold for every agent of the host, as long as the provider has
/// this base URL. A token ratio alone is no event: it moves a little with many answers.
pub(super) fn learn(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    server: &AskedServer,
    learned: Option<LearnedLimits>,
) {
    if let Some(limits) = server.lesson(learned) {
        let model_ref = turn.model_ref();
        if limits.has_limit() {
            draft.event(Event::ModelLimitLearned(ModelLimitLearned {
                model_ref: model_ref.clone(),
                endpoint: server.endpoint.clone(),
                stated_window_tokens: server.stated_window_tokens,
                limits,
            }));
        }
        let at = draft.now;
        draft.fact(Fact::LimitLearned {
            model_ref,
            server: server.clone(),
            limits,
            at,
        });
    }
}

fn attempt_state(turn: &OpenTurn, failed: &FailedAttempt) -> AttemptState {
    AttemptState {
        attempt: current_try(turn),
        has_fallback: !turn.fallbacks.is_empty(),
        attended: turn.attended,
        without_network_ms: turn.offline_ms,
        parks: turn.parks,
        may_compact: turn
            .prompt_ceiling
            .is_none_or(|ceiling| ceiling.round != turn.rounds + 1),
        next_form: turn.request_form().after_refusal(failed.shown),
    }
}

fn back_off(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    failed: &FailedAttempt,
    backoff_ms: u64,
    cause: PauseCause,
) {
    let failure = &failed.failure;
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
        DueAction::ProviderPauseOver {
            turn_index: turn.turn_index,
        },
    );
    notice::acknowledge(draft, &turn, failed, until);
    turn.phase = Phase::BackingOff { due, until, cause };
    draft.agent.open_turn = Some(turn);
}

/// Asks the next model the same request. The rest of the turn stays with it.
fn ask_fallback(draft: &mut Draft<'_>, mut turn: OpenTurn, index: usize, failure: &ModelFailure) {
    let next = turn.fallbacks.remove(index);
    let failed = turn.model_ref();
    switch_model(draft, &mut turn, Some(next));
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
    // The options of an agent's own model are valid for that model only.
    turn.reasoning_effort = None;
    turn.thinking_tokens = None;
    ask(draft, turn);
}

pub(super) fn fail_turn(draft: &mut Draft<'_>, turn: &OpenTurn, failure: &ModelFailure) {
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
        | ModelFailureKind::NotJson
        | ModelFailureKind::UnsupportedTransport
        | ModelFailureKind::ModelUnavailable => TerminalReason::ProviderFailed,
    };
    end::end(
        draft,
        turn,
        Ending::provider_failed(reason, failure, timeline),
    );
}
