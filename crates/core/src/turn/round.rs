//! Handles an answered provider round: writes the answer to the log and continues the turn.
//!
//! The commit of the answer consumes what the request held, such as interjections, and never earlier.

use super::before_rest;
use super::call_results;
use super::calls::{next_round, run_calls};
use super::end;
use super::ending::Ending;
use super::failure::{awaited_answer, learn};
use super::first_shown;
use super::invalid_rounds;
use super::open::{is_attended, order_words, rounds_allowed};
use super::refusal::set_apart;
use super::tries::close_tries;
use crate::draft::Draft;
use crate::input::{CurrentRound, Reply, RoundAnswer, Stamp};
use crate::{usage, wait, work};
use holon_domain::attempt::RoundAttempts;
use holon_domain::block::{calls_of, chars_of, text_beginning};
use holon_domain::event::{
    AssistantRoundRecorded, Event, MaxOutputTokensRecovery, MessageProcessingStarted,
    OperatorInterjectionAdmitted, ProviderRoundCompleted,
};
use holon_domain::log::{InterjectionBoundary, LogEntry};
use holon_domain::model::StopReason;
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::turn::{OpenTurn, OwedOutcome, Patience, Speech};
use holon_domain::{limits, text};
use std::sync::Arc;

/// Handles the answer of a model to the open round.
pub(crate) fn handle_answer(draft: &mut Draft<'_>, stamp: Stamp, answer: &RoundAnswer) -> Reply {
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
    learn(draft, &turn, &answer.server, answer.learned);
    first_shown::record_fold(draft, &turn, answer);
    first_shown::record_form(draft, &mut turn);
    first_shown::record_frame(draft, &mut turn, answer);
    first_shown::record_compaction(draft, &turn, answer);
    work::handle_answered_request(draft, &mut turn, answer);
    first_shown::record_reminder(draft, &turn, answer);
    note_size(&mut turn, answer.request_tokens);
    set_apart(draft, &mut turn, &answer.apart);
    consume_interjections(draft, &mut turn, &answer.interjected, answer.boundary);
    let tries = close_tries(draft, &mut turn, answer);
    add_usage(draft, &mut turn, answer);
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
    let round = CurrentRound::new(entry, blocks, intents);
    continue_turn(draft, turn, answer.stop_reason, &round);
    Reply::Done
}

/// Continues the turn after an answer.
fn continue_turn(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    stop: StopReason,
    round: &CurrentRound,
) {
    let bound_reached = turn.rounds >= turn.max_rounds;
    let cut_off = stop == StopReason::MaxOutputTokens;
    turn.output_limit_hits = if cut_off {
        turn.output_limit_hits + 1
    } else {
        0
    };
    let has_calls = round.calls().next().is_some();
    let words = round.words();
    if !words.is_empty() {
        turn.speech = Speech::Spoken;
        turn.last_words = Some(words);
    }
    // The round limit applies to answers that need another round; a rest ends the turn by itself.
    if bound_reached && (cut_off || has_calls && !before_rest::is_rest(round)) {
        let rounds = rounds_so_far(draft, &turn);
        call_results::refuse_all(draft, &turn, round, || round_bound_error(rounds));
        return end::end(draft, &turn, Ending::max_rounds(round, rounds));
    }
    if cut_off && turn.output_limit_hits > limits::OUTPUT_LIMIT_RECOVERIES {
        call_results::refuse_all(draft, &turn, round, truncated_error);
        return end::end(draft, &turn, Ending::output_limit());
    }
    if cut_off {
        call_results::refuse_all(draft, &turn, round, truncated_error);
        return ask_to_go_on(draft, turn, has_calls);
    }
    if invalid_rounds::count_invalid_round(&mut turn, round) {
        return invalid_rounds::give_up(draft, &turn, round);
    }
    turn.unread_results = false;
    if has_calls {
        return run_calls(draft, turn, round, 0);
    }
    // An operator's message joins before the turn ends. The result of a task waits for a turn of its own, because this
    // answer is owed to an operator.
    if !bound_reached && draft.operator_interjects(&turn) {
        return next_round(draft, turn);
    }
    if stop == StopReason::ContentFilter && turn.delivery.is_none() {
        return end::end(draft, &turn, Ending::filtered(&turn, round));
    }
    if is_owed_words(&turn, round) {
        // A model that refused the request would refuse it again.
        let asks_again = stop != StopReason::Refusal && !bound_reached;
        return handle_empty_answer(draft, turn, asks_again);
    }
    end::end(draft, &turn, Ending::finished(round));
}

/// Returns true if the turn may not end with this round, because it has no text and an operator is owed an answer: the
/// text of the last round, or the report of completed work. A turn for a tick, an event or a result may end without
/// text.
pub(super) fn is_owed_words(turn: &OpenTurn, round: &CurrentRound) -> bool {
    !turn.owes.is_empty() && turn.delivery.is_none() && round.words().is_empty()
}

/// Handles an empty last answer: the model is asked once more, and then the turn fails.
fn handle_empty_answer(draft: &mut Draft<'_>, mut turn: OpenTurn, asks_again: bool) {
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

/// Counts the rounds of the request that set the limit, over all of its turns.
pub(super) fn rounds_so_far(draft: &Draft<'_>, turn: &OpenTurn) -> u64 {
    if draft.agent.is_one_run() {
        draft.agent.totals.model_rounds
    } else {
        u64::from(turn.rounds)
    }
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
    // A cut-off call already has its error as a result; cut-off text needs a request to continue.
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

/// Notes the size of a request that the model took.
fn note_size(turn: &mut OpenTurn, request_tokens: u64) {
    turn.answered_tokens = request_tokens;
    if let Some(ceiling) = &mut turn.prompt_ceiling {
        ceiling.raise(request_tokens);
    }
}

fn consume_interjections(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    interjected: &[QueueEntry],
    boundary: InterjectionBoundary,
) {
    for entry in interjected {
        draft.take_along(entry, QueueStatus::Interjected);
        let owes_outcome = entry.envelope.owes_outcome();
        let waits = match owes_outcome {
            true => wait::join(draft, turn, &entry.envelope),
            false => None,
        };
        draft.log(
            turn.turn_index,
            LogEntry::Interjection {
                message_seq: entry.seq,
                boundary,
                waits,
            },
        );
        if !owes_outcome {
            record_result(draft, turn, entry);
            continue;
        }
        if entry.envelope.is_operator_instruction() {
            draft.agent.operator_seq = Some(entry.seq);
            draft.agent.order = Some(order_words(&entry.envelope));
            turn.raise_authority();
            // As if the message had begun the turn.
            draft.agent.self_caused_turns = 0;
        }
        draft.event(Event::OperatorInterjectionAdmitted(
            OperatorInterjectionAdmitted {
                message_id: entry.envelope.id.clone(),
                round: turn.rounds,
                boundary,
                delivery_surface: entry.envelope.delivery_surface,
                admission_context: entry.envelope.admission_context,
                text_preview: text::preview(&entry.envelope.summary(), limits::EVENT_PREVIEW_BYTES),
                message_seq: Some(entry.seq),
                run_id: Some(turn.run_id.clone()),
                turn_index: Some(turn.turn_index),
                origin: Some(entry.envelope.origin.clone()),
                authority_class: Some(entry.envelope.authority_class),
                priority: Some(entry.envelope.priority),
                pending_tool_call_count: 0,
            },
        ));
        // The turn stays attended only while a caller waits for every prompt it owes an answer.
        turn.attended &= is_attended(draft, entry);
        // Earlier text of the turn does not answer this prompt.
        turn.speech = Speech::Silent;
        turn.owes.push(OwedOutcome {
            seq: entry.seq,
            id: entry.envelope.id.clone(),
        });
        turn.max_rounds = joined_round_limit(
            turn.max_rounds,
            rounds_allowed(entry.max_rounds),
            turn.rounds,
        );
    }
}

/// Adds the result of a task to the open turn. It is owed no answer and does not raise the round limit.
fn record_result(draft: &mut Draft<'_>, turn: &OpenTurn, entry: &QueueEntry) {
    draft.event(Event::MessageProcessingStarted(MessageProcessingStarted {
        message_id: entry.envelope.id.clone(),
        run_id: turn.run_id.clone(),
        queue_wait_ms: draft.now.millis_since(entry.envelope.created_at),
        message_seq: Some(entry.seq),
        turn_index: Some(turn.turn_index),
    }));
}

/// Computes the round limit after a message joined: its own limit is added to the rounds so far.
fn joined_round_limit(turn: u32, joined: u32, rounds: u32) -> u32 {
    turn.max(rounds.saturating_sub(1).saturating_add(joined))
}

fn add_usage(draft: &mut Draft<'_>, turn: &mut OpenTurn, answer: &RoundAnswer) {
    let usage = answer.usage;
    usage::charge_answer(draft, turn, answer);
    turn.usage.add(usage);
    draft.agent.totals.last_call = Some(answer.estimate);
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
        working_memory_revision: answer.frame.working_memory_revision,
        compression_epoch: answer.frame.compression_epoch,
        // The log keeps it; an event of each round stays small.
        tries: RoundAttempts {
            overlap: None,
            ..tries.clone()
        },
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
