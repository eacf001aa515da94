//! Suspension: a turn that nobody waits for on the line outlives the trouble of its providers.
//!
//! It is suspended where it stands once every model of its chain has failed, and asks the chain again after a pause, or
//! at once when an operator writes, starts the agent or changes its model, which it then asks. Nothing is settled and nothing is lost
//! meanwhile: what was queued stays queued, and the log is where the turn goes on from.

use super::asking::{ask, ask_from_first};
use super::failed::FailedRound;
use super::notice;
use crate::draft::Draft;
use crate::input::Reply;
use crate::patience::{self, ChainVerdict, Outlook, PlannedPause};
use holon_domain::attempt::{AttemptRecord, StoredWord};
use holon_domain::event::{Event, SuspensionEnd, TurnSuspended, TurnSuspensionEnded};
use holon_domain::limits;
use holon_domain::model::ModelFailureKind;
use holon_domain::text;
use holon_domain::timer::{DueAction, DueId};
use holon_domain::turn::{
    OpenTurn, Patience, PauseCause, Phase, SuspensionPause, SuspensionReason,
};

/// Plans the next pause of a turn whose chain has failed. None when its patience is used up.
pub(super) fn plan(draft: &mut Draft<'_>, turn: &OpenTurn) -> Option<PlannedPause> {
    let attempts = draft.attempts();
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

/// Whether a model failed in a way that may pass, without a time at which it will.
fn may_pass_any_time(attempt: &AttemptRecord) -> bool {
    let may_pass = match &attempt.failure_kind {
        Some(StoredWord::Known(kind)) => {
            matches!(patience::judge_chain(&[*kind]), ChainVerdict::MayPass(_))
        }
        Some(StoredWord::Unknown(_)) | None => true,
    };
    may_pass && attempt.renews_at.is_none()
}

/// How each model of the chain failed, in the order they were asked.
pub(super) fn failure_kinds(draft: &Draft<'_>) -> Vec<ModelFailureKind> {
    let kind = |attempt: &AttemptRecord| match &attempt.failure_kind {
        Some(StoredWord::Known(kind)) => Some(*kind),
        Some(StoredWord::Unknown(_)) | None => None,
    };
    draft.attempts().iter().filter_map(kind).collect()
}

/// What is said of the model that decides how a chain is judged: the first that failed for this reason, with its
/// provider's words where it was the last that was asked.
fn decisive(
    draft: &Draft<'_>,
    turn: &OpenTurn,
    failed: &FailedRound<'_>,
    reason: SuspensionReason,
) -> Decisive {
    let last = Decisive {
        model_ref: turn.model_ref(),
        error: text::preview(&failed.failure.message, limits::EVENT_PREVIEW_BYTES),
    };
    let decides = |attempt: &AttemptRecord| match &attempt.failure_kind {
        Some(StoredWord::Known(kind)) => match patience::judge_chain(&[*kind]) {
            ChainVerdict::MayPass(of) | ChainVerdict::NeedsOperator(of) if of == reason => {
                Some((attempt.model_ref.clone(), *kind))
            }
            _ => None,
        },
        Some(StoredWord::Unknown(_)) | None => None,
    };
    match draft.attempts().iter().find_map(decides) {
        Some((model_ref, kind)) if model_ref != last.model_ref => Decisive {
            error: format!(
                "{}; {} then said: {}",
                kind.as_str(),
                last.model_ref,
                last.error
            ),
            model_ref,
        },
        Some(_) | None => last,
    }
}

/// The model a suspension is told by, and the words.
pub(super) struct Decisive {
    pub(super) model_ref: String,
    pub(super) error: String,
}

/// Suspends a turn whose chain has failed. Without a pause only an operator ends the suspension, and is told so.
pub(super) fn suspend(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    failed: &FailedRound<'_>,
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
        failure_kind: failed.failure.kind,
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
        due: draft.set_due(until, DueAction::BackoffOver { turn_index }),
        until,
        length_ms: planned.length_ms,
        renewal: planned.renewal,
    }
}

/// The pause of a turn is over: the next try of a model, or of the whole chain if the turn was suspended.
pub(crate) fn pause_over(draft: &mut Draft<'_>, id: DueId) -> Reply {
    let waits = |turn: &mut OpenTurn| turn.phase.due() == Some(id);
    let Some(mut turn) = draft.agent.open_turn.take_if(waits) else {
        return Reply::Unchanged;
    };
    let Phase::Suspended {
        pause: Some(pause), ..
    } = turn.phase
    else {
        ask(draft, turn);
        return Reply::Done;
    };
    let waited = if pause.renewal {
        &mut turn.patience.renewal_waited_ms
    } else {
        &mut turn.patience.waited_ms
    };
    *waited = waited.saturating_add(pause.length_ms);
    go_on(draft, turn, SuspensionEnd::PauseOver);
    Reply::Done
}

/// An operator has acted, so a wait for a provider is over at once. Whether there was one.
pub(crate) fn end_wait(draft: &mut Draft<'_>, by: SuspensionEnd) -> bool {
    let waits = |turn: &mut OpenTurn| match turn.phase {
        Phase::Suspended { .. } => true,
        Phase::BackingOff { cause, .. } => match cause {
            PauseCause::Network | PauseCause::Quota => true,
            // While somebody waits on the line these pauses are short, and are kept for the provider's sake.
            PauseCause::Retry => !turn.attended,
        },
        Phase::CallingModel { .. } | Phase::RunningTool { .. } | Phase::Sending { .. } => false,
    };
    let Some(mut turn) = draft.agent.open_turn.take_if(waits) else {
        return false;
    };
    if by == SuspensionEnd::OperatorMessage && has_just_failed(draft, &turn) {
        wait_a_moment(draft, turn);
        return true;
    }
    if let Some(due) = turn.phase.due() {
        draft.clear_due(due);
    }
    match turn.phase {
        Phase::Suspended { pause, .. } => {
            // A turn that had given up waiting begins to wait anew.
            if pause.is_none() {
                (turn.patience.waited_ms, turn.patience.renewal_waited_ms) = (0, 0);
            }
            if by != SuspensionEnd::OperatorMessage {
                turn.patience.action_requested = None;
            }
            go_on(draft, turn, by);
        }
        // A turn that was not suspended keeps the models it began with.
        _ => ask(draft, turn),
    }
    true
}

/// The agent has another model. A suspended turn asks it at once; any other keeps the models it began with.
pub(crate) fn model_chosen(draft: &mut Draft<'_>) {
    let turn = draft.agent.open_turn.as_ref();
    if turn.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. })) {
        end_wait(draft, SuspensionEnd::ModelChange);
    }
}

/// Whether the models were asked a moment ago. Many prompts in a row must not ask once each.
fn has_just_failed(draft: &Draft<'_>, turn: &OpenTurn) -> bool {
    let failed_at = turn.patience.failed_at;
    failed_at.is_some_and(|at| draft.now.millis_since(at) < limits::BACKOFF_BASE_MS)
}

/// Shortens a suspension to a moment. The pause between two tries is kept, since it may be what the provider asked for.
fn wait_a_moment(draft: &mut Draft<'_>, mut turn: OpenTurn) {
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

/// A host that was started again may have another credential, so a turn that only an operator could help asks once more.
pub(crate) fn host_started(draft: &mut Draft<'_>, turn: OpenTurn) {
    match turn.phase {
        Phase::Suspended { pause: None, .. } => go_on(draft, turn, SuspensionEnd::HostStart),
        _ => draft.agent.open_turn = Some(turn),
    }
}

fn go_on(draft: &mut Draft<'_>, turn: OpenTurn, by: SuspensionEnd) {
    draft.event(Event::TurnSuspensionEnded(TurnSuspensionEnded {
        run_id: turn.run_id.clone(),
        turn_index: turn.turn_index,
        by,
        message_seq: Some(turn.message_seq),
    }));
    ask_from_first(draft, turn);
}
