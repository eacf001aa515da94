//! Records what an answered request was the first to show: its frame, a fold of the thread, a recap of rounds and a
//! reminder. Later requests show the same.
//!
//! Also moves the beginning of the thread before retention removes turns that it shows.

use crate::draft::Draft;
use crate::input::{Reply, RoundAnswer};
use crate::memory;
use holon_domain::decision::Fact;
use holon_domain::event::{Event, ThreadFolded, TurnContextBuilt, TurnLocalCompactionApplied};
use holon_domain::log::LogEntry;
use holon_domain::prompt_plan::{BlockSource, CutReason};
use holon_domain::turn::{LogSeq, OpenTurn, RequestForm};
use holon_domain::work_item::StaleReminder;

pub(super) fn record_frame(draft: &mut Draft<'_>, turn: &mut OpenTurn, answer: &RoundAnswer) {
    let cuts = answer.frame.cuts.iter();
    let shortened = cuts.filter(|cut| cut.reason == CutReason::OverWindow);
    let shortened_parts: Vec<BlockSource> = shortened.map(|cut| cut.source).collect();
    let is_input = |part: &BlockSource| *part == BlockSource::CurrentInput;
    // A fallback with a smaller window may cut in a later round what the first request had whole.
    turn.input_shortened |= !turn.owes.is_empty() && shortened_parts.iter().any(is_input);
    if turn.rounds != 1 {
        return;
    }
    let entry = draft.agent.counters.log + 1;
    for (hash, body) in &answer.kept {
        draft.fact(Fact::BlobKept {
            hash: hash.clone(),
            body: body.clone(),
            entry,
        });
    }
    draft.log(turn.turn_index, LogEntry::Frame(answer.frame.clone()));
    draft.event(Event::TurnContextBuilt(TurnContextBuilt {
        shortened_parts,
        turn_index: turn.turn_index,
        duration_ms: answer.timing.context_build_ms,
        context_section_count: answer.context.sections,
        rendered_context_chars: answer.context.context_chars,
        rendered_system_chars: answer.context.system_chars,
        run_id: Some(turn.run_id.clone()),
        message_seq: Some(turn.message_seq),
    }));
}

/// Writes the fold that the answered request was the first to begin with, and moves the beginning of the thread. Later
/// requests begin with its recap.
pub(super) fn record_fold(draft: &mut Draft<'_>, turn: &OpenTurn, answer: &RoundAnswer) {
    let thread = &mut draft.agent.thread;
    if thread.asked_of(turn.turn_index).is_some() && turn.rounds == 1 {
        (thread.asked, thread.asked_in) = (None, 0);
    }
    let Some(fold) = &answer.fold else {
        return;
    };
    draft.event(Event::ThreadFolded(ThreadFolded {
        cause: fold.cause,
        turn_index: turn.turn_index,
        round: turn.rounds,
        last_turn: fold.last_turn,
        recaps: u64::try_from(fold.turns.len()).unwrap_or(u64::MAX),
        tokens_before: fold.tokens_before,
        tokens_after: fold.tokens_after,
        run_id: turn.run_id.clone(),
        message_seq: turn.message_seq,
    }));
    let shown = fold.kept_messages + u64::try_from(turn.owes.len().max(1)).unwrap_or(1);
    let left_out = memory::messages_taken(draft).saturating_sub(shown);
    let totals = &mut draft.agent.totals;
    totals.compactions += 1;
    totals.compacted_messages = totals.compacted_messages.max(left_out);
    let entry = draft.log(turn.turn_index, LogEntry::ThreadFold(fold.clone()));
    let thread = &mut draft.agent.thread;
    thread.fold = Some(entry);
    thread.from_entry = fold.from_entry;
    thread.sealed_from = turn.turn_index;
    if fold.cause.takes_pins() {
        thread.pins.clear();
    }
    // Of the other turns the fold has taken the pinned ones too, or they stay without a pin.
    thread.pins.retain(|pin| {
        let is_after_fold = pin.first_entry >= fold.from_entry && pin.released_in.is_none();
        pin.is_kept_by(turn.turn_index) || is_after_fold
    });
}

/// Records that a model answered only without sealed blocks. None that exist by now returns to a request; the turn itself
/// shows none either, because its earlier rounds stand before its later ones.
pub(super) fn record_form(draft: &mut Draft<'_>, turn: &mut OpenTurn) {
    let refused = turn.refused.take();
    if refused.is_some_and(|refused| refused.form == RequestForm::Unsealed) {
        let thread = &mut draft.agent.thread;
        thread.sealed_from = thread.sealed_from.max(turn.turn_index + 1);
    }
}

/// Writes the recap and the shorter texts that the answered request was the first to have. Later requests repeat them.
pub(super) fn record_compaction(draft: &mut Draft<'_>, turn: &OpenTurn, answer: &RoundAnswer) {
    let Some(compaction) = &answer.compaction else {
        return;
    };
    let recap = compaction.recap.as_ref();
    draft.event(Event::TurnLocalCompactionApplied(
        TurnLocalCompactionApplied {
            turn_index: turn.turn_index,
            round: turn.rounds,
            compacted_rounds: recap.map_or(0, |recap| recap.last_round + 1 - recap.first_round),
            exact_tail_rounds: compaction.exact_rounds,
            projected_tokens: compaction.tokens_before,
            effective_tokens: compaction.tokens_after,
            room_tokens: compaction.room_tokens,
            strict_fallback_applied: !compaction.shortened.is_empty(),
            run_id: turn.run_id.clone(),
            message_seq: turn.message_seq,
        },
    ));
    if let Some(recap) = recap {
        draft.agent.totals.compactions += 1;
        draft.log(turn.turn_index, LogEntry::Recap(recap.clone()));
    }
    if !compaction.shortened.is_empty() {
        let shortened = compaction.shortened.clone();
        draft.log(turn.turn_index, LogEntry::Shortened(shortened));
    }
}

/// Writes the reminder that the answered request was the first to have. It stood before the messages that joined.
pub(super) fn record_reminder(draft: &mut Draft<'_>, turn: &OpenTurn, answer: &RoundAnswer) {
    if let Some(text) = &answer.reminder_text {
        draft.log(
            turn.turn_index,
            LogEntry::ContinuationPrompt {
                text: text.clone(),
                reason: StaleReminder::LOG_REASON.to_owned(),
            },
        );
    }
}

/// Moves the beginning of the thread behind the turns that retention is about to remove. An open turn keeps the thread
/// that it shows, and retention leaves its rows alone.
pub(crate) fn handle_history_removal(draft: &mut Draft<'_>, through: LogSeq) -> Reply {
    let thread = &draft.agent.thread;
    let is_shown =
        thread.pins.iter().any(|pin| pin.first_entry <= through) || thread.from_entry <= through;
    if draft.agent.open_turn.is_some() || !is_shown {
        return Reply::Unchanged;
    }
    let next_turn = draft.agent.counters.turns + 1;
    let thread = &mut draft.agent.thread;
    thread.from_entry = thread.from_entry.max(through + 1);
    thread.fold = thread.fold.filter(|fold| *fold > through);
    thread.pins.retain(|pin| pin.first_entry > through);
    // Models bind sealed blocks to all that stood before them.
    thread.sealed_from = next_turn;
    Reply::Done
}
