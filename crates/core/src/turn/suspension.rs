//! Suspension: an unattended turn outlives the outage of its providers.
//!
//! The turn is suspended once every model of its chain has failed. It asks the chain again after a pause, or at once
//! when an operator writes, starts the agent or changes its model. Nothing is settled or lost meanwhile: queued
//! messages stay queued, and the turn continues from its log.

use super::ask::{ask, ask_from_first};
use super::notice;
use crate::draft::Draft;
use crate::input::FailedAttempt;
use crate::input::Reply;
use crate::patience::{self, ChainVerdict, Outlook, PlannedPause};
use holon_domain::attempt::{AttemptRecord, StoredWord};
use holon_domain::event::{Event, SuspensionEnd, TurnSuspended, TurnSuspensionEnded};
use holon_domain::limits;
use holon_domain::model::{ModelFailureKind, ModelRef};
use holon_domain::text;
use holon_domain::timer::{DueAction, DueId};
use holon_domain::turn::{
    OpenTurn, Patience, PauseCause, Phase, SuspensionPause, SuspensionReason,
};

/// Plans the next pause of a turn whose chain has failed. `None` if its patience is used up.
pub(super) fn plan(draft: &mut Draft<'_>, turn: &OpenTurn) -> Option<PlannedPause> {
    let attempts = last_failures(draft);
    let now = draft.now;
    let renewals = attempts.iter().filter_map(|attempt| attempt.renews_at);
    let outlook = Outlook {
        renewal_ms: renewals.min().map(|at| at.millis_since(now)),
        may_pass_any_time: attempts.iter().any(may_pass_any_time),
    };
    let patience_ms = draft.host.provider_patience_ms;
    let chance = draft.entropy.next();
    patience::plan_pause(&turn.patience, patience_ms, outlook, chance)
}

/// Returns true if a model failed in a way that may pass, and named no time for it.
fn may_pass_any_time(attempt: &AttemptRecord) -> bool {
    let may_pass = match &attempt.failure_kind {
        Some(StoredWord::Known(kind)) => {
            matches!(patience::judge_chain(&[*kind]), ChainVerdict::MayPass(_))
        }
        Some(StoredWord::Unknown(_)) | None => true,
    };
    may_pass && attempt.renews_at.is_none()
}

/// Returns the last failed attempt of each model, in the order in which the models were first asked. An earlier failure
/// of the same model says nothing about its prospects: a server error may come before a refused credential.
fn last_failures(draft: &Draft<'_>) -> Vec<AttemptRecord> {
    let mut last: Vec<AttemptRecord> = Vec::new();
    for attempt in draft.attempts() {
        let of_model = |known: &&mut AttemptRecord| known.model_ref == attempt.model_ref;
        match last.iter_mut().find(of_model) {
            Some(known) => *known = attempt,
            None => last.push(attempt),
        }
    }
    last
}

/// Lists the last failure of each model of the chain, in the order in which the models were asked.
pub(super) fn failure_kinds(draft: &Draft<'_>) -> Vec<ModelFailureKind> {
    let kind = |attempt: &AttemptRecord| match &attempt.failure_kind {
        Some(StoredWord::Known(kind)) => Some(*kind),
        Some(StoredWord::Unknown(_)) | None => None,
    };
    last_failures(draft).iter().filter_map(kind).collect()
}

/// Describes the model that decides the verdict on a chain: the first that failed for this reason, with its provider's
/// message and that of the model that was asked last.
fn decisive(
    draft: &Draft<'_>,
    turn: &OpenTurn,
    failed: &FailedAttempt,
    reason: SuspensionReason,
) -> DecisiveFailure {
    let last = DecisiveFailure {
        model_ref: turn.model_ref(),
        error: text::preview(&failed.failure.message, limits::EVENT_PREVIEW_BYTES),
    };
    let decides = |attempt: &AttemptRecord| match &attempt.failure_kind {
        Some(StoredWord::Known(kind)) => match patience::judge_chain(&[*kind]) {
            ChainVerdict::MayPass(of) | ChainVerdict::NeedsOperator(of) if of == reason => {
                let said = attempt.error.clone();
                Some((
                    attempt.model_ref.clone(),
                    said.unwrap_or_else(|| kind.as_str().to_owned()),
                ))
            }
            _ => None,
        },
        Some(StoredWord::Unknown(_)) | None => None,
    };
    match last_failures(draft).iter().find_map(decides) {
        Some((model_ref, said)) if model_ref != last.model_ref => DecisiveFailure {
            error: format!("{said}; {} then said: {}", last.model_ref, last.error),
            model_ref,
        },
        Some(_) | None => last,
    }
}

/// The model that a suspension is reported with, and its message.
pub(super) struct DecisiveFailure {
    pub(super) model_ref: String,
    pub(super) error: String,
}

/// Suspends a turn whose chain has failed. Without a pause only an operator ends the suspension, and a brief tells them
/// so.
pub(super) fn suspend(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    failed: &FailedAttempt,
    reason: SuspensionReason,
    planned: Option<PlannedPause>,
) {
    let pause = planned.map(|planned| begin_pause(draft, turn.turn_index, planned));
    let told = decisive(draft, &turn, failed, reason);
    let Patience {
        waited_ms,
        renewal_waited_ms,
        ..
    } = turn.patience;
    draft.event(Event::TurnSuspended(TurnSuspended {
        run_id: turn.run_id.clone(),
        turn_index: turn.turn_index,
        round: turn.rounds + 1,
        reason,
        failure_kind: Some(failed.failure.kind),
        error: told.error.clone(),
        until: pause.map(|pause| pause.until),
        waited_ms: waited_ms.saturating_add(renewal_waited_ms),
        message_seq: Some(turn.message_seq),
    }));
    match pause {
        Some(pause) => notice::acknowledge(draft, &turn, failed, pause.until),
        None => notice::request_action(draft, &mut turn, &told, reason),
    }
    turn.phase = Phase::Suspended {
        reason,
        model_ref: told.model_ref,
        error: told.error,
        pause,
    };
    draft.agent.open_turn = Some(turn);
}

fn begin_pause(draft: &mut Draft<'_>, turn_index: u64, planned: PlannedPause) -> SuspensionPause {
    let until = draft.now.plus_millis(planned.length_ms);
    SuspensionPause {
        due: draft.set_due(until, DueAction::ProviderPauseOver { turn_index }),
        until,
        length_ms: planned.length_ms,
        renewal: planned.renewal,
    }
}

/// Handles the end of a turn's pause: asks the same model again, or the whole chain if the turn was suspended.
pub(crate) fn handle_provider_pause_end(draft: &mut Draft<'_>, id: DueId) -> Reply {
    let waits = |turn: &mut OpenTurn| turn.phase.due() == Some(id);
    let Some(mut turn) = draft.agent.open_turn.take_if(waits) else {
        return Reply::Unchanged;
    };
    let Phase::Suspended {
        pause: Some(pause),
        reason,
        ..
    } = turn.phase
    else {
        ask(draft, turn);
        return Reply::Done;
    };
    if reason == SuspensionReason::BudgetReached {
        // The provider was not asked, so its trouble got no patience.
        resume_asking(draft, turn, SuspensionEnd::PauseOver);
        return Reply::Done;
    }
    let waited = if pause.renewal {
        &mut turn.patience.renewal_waited_ms
    } else {
        &mut turn.patience.waited_ms
    };
    *waited = waited.saturating_add(pause.length_ms);
    resume_asking(draft, turn, SuspensionEnd::PauseOver);
    Reply::Done
}

/// Returns true if the open turn waits for a provider, and this ends the wait.
pub(crate) fn has_provider_pause(draft: &Draft<'_>, by: SuspensionEnd) -> bool {
    let turn = draft.agent.open_turn.as_ref();
    turn.is_some_and(|turn| ends_pause(turn, by))
}

const fn ends_pause(turn: &OpenTurn, by: SuspensionEnd) -> bool {
    match turn.phase {
        // A message gives a budget no room.
        Phase::Suspended {
            reason: SuspensionReason::BudgetReached,
            ..
        } => !matches!(by, SuspensionEnd::OperatorMessage),
        Phase::Suspended { .. } => true,
        Phase::BackingOff { cause, .. } => match cause {
            PauseCause::Network | PauseCause::Quota => true,
            // While a caller waits these pauses are short, and they are kept to spare the provider.
            PauseCause::Retry => !turn.attended,
        },
        Phase::CallingModel { .. } | Phase::RunningTool { .. } | Phase::Sending { .. } => false,
    }
}

/// Ends a wait for a provider because an operator acted. Returns true if there was one.
pub(crate) fn end_provider_pause(draft: &mut Draft<'_>, by: SuspensionEnd) -> bool {
    let waits = |turn: &mut OpenTurn| ends_pause(turn, by);
    let Some(mut turn) = draft.agent.open_turn.take_if(waits) else {
        return false;
    };
    if by == SuspensionEnd::OperatorMessage && has_just_failed(draft, &turn) {
        shorten_pause(draft, turn);
        return true;
    }
    if let Some(due) = turn.phase.due() {
        draft.clear_due(due);
    }
    match turn.phase {
        Phase::Suspended { pause, reason, .. } => {
            // A turn whose patience was used up begins to wait again.
            if pause.is_none() {
                (turn.patience.waited_ms, turn.patience.renewal_waited_ms) = (0, 0);
            }
            let by_budget = reason == SuspensionReason::BudgetReached;
            if asks_operator_anew(by) && (!by_budget || by == SuspensionEnd::BudgetChanged) {
                turn.patience.action_requested = None;
            }
            resume_asking(draft, turn, by);
        }
        // A turn that was not suspended keeps its own models.
        _ => ask(draft, turn),
    }
    true
}

/// Returns true if a failure after this end of a suspension is reported to the operator once more. A message changes
/// nothing about a provider. A program may write new credentials that are refused as well, again and again.
const fn asks_operator_anew(by: SuspensionEnd) -> bool {
    match by {
        SuspensionEnd::Start | SuspensionEnd::ModelChange | SuspensionEnd::BudgetChanged => true,
        SuspensionEnd::OperatorMessage
        | SuspensionEnd::PauseOver
        | SuspensionEnd::HostStart
        | SuspensionEnd::CredentialRenewed => false,
    }
}

/// Returns true if the turn is suspended and this provider refused its credential in the current round.
pub(crate) fn is_suspended_by_credential(draft: &Draft<'_>, provider: &str) -> bool {
    let turn = draft.agent.open_turn.as_ref();
    if !turn.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. })) {
        return false;
    }
    let refused = |attempt: &AttemptRecord| {
        attempt.failure_kind == Some(StoredWord::Known(ModelFailureKind::Auth))
            && ModelRef::parse(&attempt.model_ref).is_ok_and(|model| model.provider() == provider)
    };
    draft.attempts().iter().any(refused)
}

/// Handles a new model of the agent. A suspended turn asks it at once; any other keeps its own models.
pub(crate) fn handle_model_choice(draft: &mut Draft<'_>) {
    let turn = draft.agent.open_turn.as_ref();
    if turn.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. })) {
        end_provider_pause(draft, SuspensionEnd::ModelChange);
    }
}

/// Returns true if the models were asked a moment ago, so that many prompts in a row do not ask once each.
fn has_just_failed(draft: &Draft<'_>, turn: &OpenTurn) -> bool {
    let failed_at = turn.patience.failed_at;
    failed_at.is_some_and(|at| draft.now.millis_since(at) < limits::BACKOFF_BASE_MS)
}

/// Shortens a suspension to a moment. A pause between two tries is kept, because the provider may have asked for it.
fn shorten_pause(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    let length_ms = limits::BACKOFF_BASE_MS;
    let until = draft.now.plus_millis(length_ms);
    if let Phase::Suspended { pause, .. } = &mut turn.phase
        && pause.is_none_or(|pause| pause.until > until)
    {
        if let Some(pause) = pause {
            draft.clear_due(pause.due);
        }
        let turn_index = turn.turn_index;
        *pause = Some(begin_pause(
            draft,
            turn_index,
            PlannedPause {
                length_ms,
                renewal: false,
            },
        ));
    }
    draft.agent.open_turn = Some(turn);
}

/// Asks the models once more after a host start, for a turn that only an operator could help: the host may have another
/// credential.
pub(crate) fn handle_recovery(draft: &mut Draft<'_>, turn: OpenTurn) {
    match turn.phase {
        Phase::Suspended { pause: None, .. } => {
            resume_asking(draft, turn, SuspensionEnd::HostStart)
        }
        _ => draft.agent.open_turn = Some(turn),
    }
}

fn resume_asking(draft: &mut Draft<'_>, mut turn: OpenTurn, by: SuspensionEnd) {
    match by {
        SuspensionEnd::PauseOver | SuspensionEnd::HostStart => {}
        // What the operator changed may be what was refused.
        SuspensionEnd::OperatorMessage
        | SuspensionEnd::Start
        | SuspensionEnd::ModelChange
        | SuspensionEnd::CredentialRenewed
        | SuspensionEnd::BudgetChanged => {
            if let Some(refused) = &mut turn.refused {
                refused.by.clear();
            }
        }
    }
    draft.event(Event::TurnSuspensionEnded(TurnSuspensionEnded {
        run_id: turn.run_id.clone(),
        turn_index: turn.turn_index,
        by,
        message_seq: Some(turn.message_seq),
    }));
    ask_from_first(draft, turn);
}
