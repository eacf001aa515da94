//! A provider round that was answered: the answer becomes log entries and the next thing to wait for.
//!
//! What the request held (interjections) is consumed here, in the commit of its outcome, never before.

use super::calls::{next_round, run_calls};
use super::end;
use super::ending::Ending;
use super::failed::{awaited_answer, learn};
use super::finish;
use super::open::{is_attended, rounds_allowed};
use super::tries::close_tries;
use crate::draft::Draft;
use crate::input::{Reply, RoundAnswer, RoundInHand, Stamp};
use crate::work;
use holon_domain::attempt::{RoundAttempts, TokenUsage};
use holon_domain::block::{calls_of, chars_of, text_beginning};
use holon_domain::decision::Fact;
use holon_domain::event::{
    AssistantRoundRecorded, Event, MaxOutputTokensRecovery, MessageProcessingStarted,
    OperatorInterjectionAdmitted, ProviderRoundCompleted, TurnContextBuilt,
};
use holon_domain::intent::Intent;
use holon_domain::log::{InterjectionBoundary, LogEntry};
use holon_domain::model::StopReason;
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::turn::{OpenTurn, OwedOutcome, Patience, Speech};
use holon_domain::{limits, text};
use std::sync::Arc;

/// A model answered.
pub(crate) fn round_answered(draft: &mut Draft<'_>, stamp: Stamp, answer: &RoundAnswer) -> Reply {
    let awaited = awaited_answer(draft);
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(mut turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    turn.rounds += 1;
    (turn.offline_ms, turn.parks) = (0, 0);
    turn.patience = Patience::default();
    learn(draft, &turn, answer.learned);
    record_frame(draft, &turn, answer);
    work::request_answered(draft, &mut turn, answer);
    consume_interjections(draft, &mut turn, &answer.interjected, answer.boundary);
    let tries = close_tries(draft, &mut turn, answer.timing);
    account(draft, &mut turn, answer.usage);
    emit_round(draft, &turn, answer, &tries);
    let entry = draft.log(
        turn.turn_index,
        LogEntry::AssistantRound {
            round: turn.rounds,
            blocks: Arc::clone(&answer.blocks),
            intents: Arc::clone(&answer.intents),
            stop_reason: answer.stop_reason,
            usage: answer.usage,
            tries,
        },
    );
    let (blocks, intents) = (Arc::clone(&answer.blocks), Arc::clone(&answer.intents));
    let round = RoundInHand::new(entry, blocks, intents);
    follow(draft, turn, answer.stop_reason, &round);
    Reply::Done
}

/// What the turn does after an answer.
fn follow(draft: &mut Draft<'_>, mut turn: OpenTurn, stop: StopReason, round: &RoundInHand) {
    let bound_reached = turn.rounds >= turn.max_rounds;
    let cut_off = stop == StopReason::MaxOutputTokens;
    turn.output_limit_hits = if cut_off {
        turn.output_limit_hits + 1
    } else {
        0
    };
    let has_calls = round.calls().next().is_some();
    if !round.words().is_empty() {
        turn.speech = Speech::Spoken;
    }
    // What asks for another round meets the bound; a rest ends the turn by itself.
    if bound_reached && (cut_off || has_calls && !rests(round)) {
        let rounds = rounds_so_far(draft, &turn);
        finish::refuse_all(draft, &turn, round, || round_bound_error(rounds));
        return end::end(draft, &turn, Ending::max_rounds(round, rounds));
    }
    if cut_off && turn.output_limit_hits > limits::OUTPUT_LIMIT_RECOVERIES {
        finish::refuse_all(draft, &turn, round, truncated_error);
        return end::end(draft, &turn, Ending::output_limit());
    }
    if cut_off {
        finish::refuse_all(draft, &turn, round, truncated_error);
        return ask_to_go_on(draft, turn, has_calls);
    }
    if has_calls {
        return run_calls(draft, turn, round, 0);
    }
    // An operator's words are taken in before the turn ends. The result of a task waits for a turn of its own: what the
    // model has just said is the answer somebody is owed.
    if !bound_reached && !turn.closed_to_joining && draft.operator_interjects() {
        return next_round(draft, turn);
    }
    if is_owed_words(&turn, round) {
        // A model that refuses the request refuses it again.
        let asks_again = stop != StopReason::Refusal && !bound_reached;
        return answer_was_empty(draft, turn, asks_again);
    }
    end::end(draft, &turn, Ending::finished(round));
}

/// Whether the turn may not end with this round, because it says nothing and an operator is owed words: the outcome of a
/// prompt is what the last round says, or the report of the work that the turn completed. A tick, an event or a result may
/// be finished in silence.
pub(super) fn is_owed_words(turn: &OpenTurn, round: &RoundInHand) -> bool {
    !turn.owes.is_empty() && turn.delivery.is_none() && round.words().is_empty()
}

/// The model has ended the turn without a word. It is asked once more, and then the turn fails.
fn answer_was_empty(draft: &mut Draft<'_>, mut turn: OpenTurn, asks_again: bool) {
    if !asks_again || turn.speech == Speech::AskedAgain {
        return end::end(draft, &turn, Ending::empty_answer(&turn));
    }
    turn.speech = Speech::AskedAgain;
    draft.log(
        turn.turn_index,
        LogEntry::ContinuationPrompt {
            text: "Your last message was empty. Answer the request, or say why you cannot."
                .to_owned(),
            reason: "empty_answer".to_owned(),
        },
    );
    next_round(draft, turn);
}

/// The rounds of the request that set the bound, over however many turns it took.
pub(super) fn rounds_so_far(draft: &Draft<'_>, turn: &OpenTurn) -> u64 {
    if draft.agent.is_one_run() {
        draft.agent.totals.model_rounds
    } else {
        u64::from(turn.rounds)
    }
}

/// Whether the round is nothing but a call to rest.
fn rests(round: &RoundInHand) -> bool {
    let mut calls = round.calls();
    let first = calls.next();
    let ends = matches!(
        first,
        Some((_, Some(Ok(Intent::Sleep { .. } | Intent::WaitFor(_)))))
    );
    ends && calls.next().is_none()
}

fn truncated_error() -> ToolError {
    ToolError::new(
        ToolErrorKind::TruncatedToolCall,
        "the answer was cut off by the output limit, so this call was not run",
    )
    .hint("make the call again, alone and shorter; write large content in several steps")
    .retryable()
}

fn round_bound_error(rounds: u64) -> ToolError {
    let allowed = text::pluralize(rounds, "model round");
    ToolError::new(
        ToolErrorKind::RunAborted,
        format!("not run: the request allowed {allowed} and this was the last"),
    )
}

fn ask_to_go_on(draft: &mut Draft<'_>, turn: OpenTurn, had_calls: bool) {
    draft.event(Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
        turn_index: turn.turn_index,
        attempt: turn.output_limit_hits,
        run_id: Some(turn.run_id.clone()),
        message_seq: Some(turn.message_seq),
    }));
    // A cut-off call is answered by its error already; words need to be asked for.
    if !had_calls {
        draft.log(
            turn.turn_index,
            LogEntry::ContinuationPrompt {
                text:
                    "Your last message was cut off by the output limit. Go on from where it ended."
                        .to_owned(),
                reason: "max_output_tokens".to_owned(),
            },
        );
    }
    next_round(draft, turn);
}

fn record_frame(draft: &mut Draft<'_>, turn: &OpenTurn, answer: &RoundAnswer) {
    if turn.rounds != 1 {
        return;
    }
    for (hash, body) in &answer.kept {
        draft.fact(Fact::BlobKept {
            hash: hash.clone(),
            body: body.clone(),
        });
    }
    draft.log(turn.turn_index, LogEntry::Frame(answer.frame.clone()));
    draft.event(Event::TurnContextBuilt(TurnContextBuilt {
        turn_index: turn.turn_index,
        duration_ms: answer.timing.context_build_ms,
        context_section_count: answer.context.sections,
        rendered_context_chars: answer.context.context_chars,
        rendered_system_chars: answer.context.system_chars,
        run_id: Some(turn.run_id.clone()),
        message_seq: Some(turn.message_seq),
    }));
}

fn consume_interjections(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    interjected: &[QueueEntry],
    boundary: InterjectionBoundary,
) {
    for entry in interjected {
        draft.take_along(entry, QueueStatus::Interjected);
        draft.log(
            turn.turn_index,
            LogEntry::Interjection {
                message_seq: entry.seq,
                boundary,
            },
        );
        if !entry.envelope.owes_outcome() {
            record_result(draft, turn, entry);
            continue;
        }
        draft.event(Event::OperatorInterjectionAdmitted(
            OperatorInterjectionAdmitted {
                message_id: entry.envelope.id.clone(),
                round: turn.rounds,
                boundary,
                delivery_surface: entry.envelope.delivery_surface,
                admission_context: entry.envelope.admission_context,
                text_preview: text::preview(
                    &entry.envelope.body.render(),
                    limits::EVENT_PREVIEW_BYTES,
                ),
                message_seq: Some(entry.seq),
                run_id: Some(turn.run_id.clone()),
                turn_index: Some(turn.turn_index),
                origin: Some(entry.envelope.origin.clone()),
                authority_class: Some(entry.envelope.authority_class),
                priority: Some(entry.envelope.priority),
                pending_tool_call_count: 0,
            },
        ));
        // Somebody waits on the line only as long as that holds for every prompt the turn owes an answer.
        turn.attended &= is_attended(draft, entry);
        // What was said before was not said to this prompt.
        turn.speech = Speech::Silent;
        turn.owes.push(OwedOutcome {
            seq: entry.seq,
            id: entry.envelope.id.clone(),
        });
        turn.max_rounds = widest(
            turn.max_rounds,
            rounds_allowed(entry.max_rounds),
            turn.rounds,
        );
    }
}

/// The result of a task joins the turn that runs: nobody is owed an answer, and no bound is widened.
fn record_result(draft: &mut Draft<'_>, turn: &OpenTurn, entry: &QueueEntry) {
    draft.event(Event::MessageProcessingStarted(MessageProcessingStarted {
        message_id: entry.envelope.id.clone(),
        run_id: turn.run_id.clone(),
        queue_wait_ms: draft.now.millis_since(entry.envelope.created_at),
        message_seq: Some(entry.seq),
    }));
}

/// A bound holds for its own message: one who joins gets its share on top of the rounds so far.
fn widest(turn: u32, joined: u32, rounds: u32) -> u32 {
    turn.max(rounds.saturating_sub(1).saturating_add(joined))
}

fn account(draft: &mut Draft<'_>, turn: &mut OpenTurn, usage: TokenUsage) {
    turn.usage.add(usage);
    draft.agent.totals.usage.add(usage);
    draft.agent.totals.model_rounds += 1;
}

fn emit_round(draft: &mut Draft<'_>, turn: &OpenTurn, answer: &RoundAnswer, tries: &RoundAttempts) {
    draft.event(Event::ProviderRoundCompleted(ProviderRoundCompleted {
        turn_index: turn.turn_index,
        round: turn.rounds,
        stop_reason: answer.stop_reason,
        context_build_ms: answer.timing.context_build_ms,
        token_usage: answer.usage,
        prompt_cache_key: answer.frame.prompt_cache_key.clone(),
        context_fingerprint: answer.frame.context_fingerprint.clone(),
        tries: tries.clone(),
        run_id: Some(turn.run_id.clone()),
        message_seq: Some(turn.message_seq),
    }));
    let blocks = answer.blocks.as_slice();
    let words = text_beginning(blocks, limits::EVENT_PREVIEW_BYTES);
    draft.event(Event::AssistantRoundRecorded(AssistantRoundRecorded {
        turn_index: turn.turn_index,
        round: turn.rounds,
        text_preview: (!words.is_empty())
            .then(|| text::preview(&words, limits::EVENT_PREVIEW_BYTES)),
        text_char_count: chars_of(blocks),
        tool_names: calls_of(blocks).map(|call| call.name.clone()).collect(),
        run_id: Some(turn.run_id.clone()),
        message_seq: Some(turn.message_seq),
    }));
}
