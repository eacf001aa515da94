//! Handles a refused request: a provider that refuses a request for its content refuses the same one again, so it is
//! repeated only in a way that differs.
//!
//! Owns what differs: a smaller prompt after a refusal for length, a request without sealed blocks, without the messages
//! that had joined it, or with the whole thread folded. `RequestForm` holds the order of the forms. The retries and the
//! chain of models belong to `failure`.

use super::ask::ask_chain_again;
use super::failure::fail_turn;
use super::suspension;
use crate::attempt::{self, Disposition};
use crate::draft::Draft;
use crate::input::FailedAttempt;
use holon_domain::model::ModelFailure;
use holon_domain::queue::QueueEntry;
use holon_domain::turn::{OpenTurn, PromptCeiling, RequestForm};

/// Notes a refusal of the request as invalid. The same model is asked again without sealed blocks.
pub(super) fn note_refused(turn: &mut OpenTurn, failed: &FailedAttempt, verdict: Disposition) {
    let is_asked_again = verdict.backoff_ms().is_some();
    if is_asked_again && attempt::taught_output_limit(&failed.failure) {
        return;
    }
    let next = turn.request_form().after_refusal(failed.shown);
    let model = turn.model.clone();
    let refused = turn.refused.get_or_insert_default();
    match next.filter(|form| *form == RequestForm::Unsealed) {
        Some(form) if is_asked_again => refused.change_to(form),
        Some(_) | None => model.iter().for_each(|model| refused.note(model)),
    }
}

/// Distance that later prompts keep from the size that was refused, even if one of nearly that size was answered before;
/// as a divisor.
const REFUSED_MARGIN: u64 = 16;

/// Bounds the prompts of the turn after one was refused: by three quarters of its size, or of the window that the
/// refusal named, and by the size that the model answered last. The request is repeated once only, so the repetition
/// takes no risk; answers raise the bound again, up to a size that was answered before.
pub(super) fn lower_ceiling(turn: &mut OpenTurn, failed: &FailedAttempt) {
    let window = failed.failure.learned;
    let window = window.and_then(|limits| limits.context_window_tokens);
    let window = window.map_or(u64::MAX, u64::from);
    let most = failed.request_tokens.min(window) / 4 * 3;
    let answered = match turn.answered_tokens {
        0 => u64::MAX,
        tokens => tokens,
    };
    let below = failed.request_tokens - failed.request_tokens / REFUSED_MARGIN;
    let proven = turn.answered_tokens.min(below).max(most);
    let (known, known_most) = turn.prompt_ceiling.map_or((u64::MAX, u64::MAX), |ceiling| {
        (ceiling.tokens, ceiling.most.max(ceiling.tokens))
    });
    let refused = turn.prompt_ceiling.map(|ceiling| ceiling.refused);
    let refused = refused.filter(|tokens| *tokens > 0).unwrap_or(u64::MAX);
    turn.prompt_ceiling = Some(PromptCeiling {
        tokens: known.min(most).min(answered),
        most: known_most.min(proven),
        round: turn.rounds + 1,
        refused: refused.min(failed.request_tokens),
        refused_answer: failed.answer_tokens,
        counts_answer: failed.failure.counts_answer,
    });
}

/// Returns the failure that ends a refused turn. A model that was asked later may have failed for another reason.
fn as_refusal(draft: &Draft<'_>, failure: &ModelFailure) -> ModelFailure {
    let mut kinds = suspension::failure_kinds(draft).into_iter();
    let refusal = kinds.find(|kind| kind.refuses_request());
    ModelFailure {
        kind: refusal.unwrap_or(failure.kind),
        ..failure.clone()
    }
}

/// Returns true if a refused request can be repeated without the messages that had joined it.
fn may_drop_interjected(turn: &OpenTurn, failed: &FailedAttempt) -> bool {
    let is_apart = |entry: &QueueEntry| turn.keeps_apart(entry.seq);
    !failed.interjected.iter().all(is_apart)
}

/// Returns true if a refused request can be repeated in a way that differs from it.
pub(super) fn may_change(draft: &Draft<'_>, turn: &OpenTurn, failed: &FailedAttempt) -> bool {
    may_drop_interjected(turn, failed) || may_fold(draft, turn, failed)
}

/// Returns true if a model refused the request as invalid, and it can be repeated with a recap in place of the thread.
fn may_fold(draft: &Draft<'_>, turn: &OpenTurn, failed: &FailedAttempt) -> bool {
    let kinds = suspension::failure_kinds(draft);
    kinds.into_iter().any(attempt::refuses_form)
        && turn.request_form() != RequestForm::Folded
        && failed.shown.turns
}

/// Handles a request that no model accepts. It is repeated without the messages that had joined it, which get turns of
/// their own; later messages may join. Without such messages it is repeated with the whole thread folded, and then the
/// turn fails.
pub(super) fn handle_refusal(draft: &mut Draft<'_>, mut turn: OpenTurn, failed: &FailedAttempt) {
    let form = if may_drop_interjected(&turn, failed) {
        set_apart(draft, &mut turn, &failed.interjected);
        turn.request_form()
    } else if may_fold(draft, &turn, failed) {
        RequestForm::Folded
    } else {
        return fail_turn(draft, &turn, &as_refusal(draft, &failed.failure));
    };
    if let Some(refused) = &mut turn.refused {
        refused.change_to(form);
    }
    ask_chain_again(draft, turn);
}

/// Excludes messages from joining the turn. They are queued and get turns of their own.
pub(super) fn set_apart(draft: &mut Draft<'_>, turn: &mut OpenTurn, entries: &[QueueEntry]) {
    for entry in entries {
        draft.queue_held(entry);
        turn.set_apart(entry);
    }
}
