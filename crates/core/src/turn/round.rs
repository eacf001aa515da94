//! A provider round: its answer becomes log entries and the next thing to wait for; its failure a pause or an end.
//!
//! What the request held (interjections) is consumed here, in the commit of its outcome, never before.

use super::calls::{self, next_round, run_calls};
use super::end::{self, Ending};
use crate::attempt::{self, Disposition, MAX_ATTEMPTS};
use crate::draft::Draft;
use crate::input::{Reply, RoundAnswer, RoundInHand, RoundTiming, Stamp};
use holon_domain::attempt::{AttemptOutcome, AttemptRecord, AttemptTimeline, TokenUsage};
use holon_domain::block::{Block, Opaque, ToolCall, calls_of, text_of};
use holon_domain::decision::Fact;
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{
    AssistantRoundRecorded, Event, MaxOutputTokensRecovery, OperatorInterjectionAdmitted,
    ProviderRetryScheduled, ProviderRoundCompleted, TurnContextBuilt,
};
use holon_domain::intent::Intent;
use holon_domain::log::{InterjectionBoundary, LogEntry};
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ReplyBlock, StopReason,
};
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::timer::{Due, DueId};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::turn::{OpenTurn, Owed, Phase, TerminalReason};
use holon_domain::{CallId, limits, text};

type PlannedCalls = Vec<(ToolCall, Result<Intent, ToolError>)>;

/// A model answered.
pub(crate) fn round_answered(draft: &mut Draft<'_>, stamp: Stamp, answer: RoundAnswer) -> Reply {
    let awaited = awaited_answer(draft);
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(mut turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    turn.rounds += 1;
    record_frame(draft, &turn, &answer);
    consume_interjections(draft, &mut turn, &answer.interjected, answer.boundary);
    let RoundAnswer {
        reply,
        intents,
        frame,
        timing,
        ..
    } = answer;
    let timeline = close_timeline(&mut turn, timing, reply.usage);
    account(draft, &mut turn, reply.usage);
    let model = turn.model.clone();
    let (blocks, calls) = mint_calls(draft, &model, &reply, intents);
    emit_round(draft, &turn, &blocks, &reply, &timeline, (&frame, timing));
    let words = text::preview(text_of(&blocks).trim(), limits::EVENT_PREVIEW_BYTES);
    let entry = draft.log(
        turn.turn_index,
        LogEntry::AssistantRound {
            round: turn.rounds,
            blocks,
            stop_reason: reply.stop_reason,
            usage: reply.usage,
            timeline,
        },
    );
    follow(
        draft,
        turn,
        reply.stop_reason,
        &RoundInHand {
            entry,
            words,
            calls,
        },
    );
    Reply::Done
}

/// What the turn does after an answer.
fn follow(draft: &mut Draft<'_>, mut turn: OpenTurn, stop: StopReason, round: &RoundInHand) {
    let bound_reached = turn.max_rounds.is_some_and(|max| turn.rounds >= max);
    let cut_off = stop == StopReason::MaxOutputTokens;
    turn.output_limit_hits = if cut_off {
        turn.output_limit_hits + 1
    } else {
        0
    };
    let has_calls = !round.calls.is_empty();
    if has_calls && bound_reached {
        let refusal = || round_bound_error(turn.rounds);
        calls::refuse_all(draft, &turn, round, refusal);
        let rounds = turn.rounds;
        return end::end(draft, turn, Ending::max_rounds(round, rounds));
    }
    if cut_off && turn.output_limit_hits > limits::OUTPUT_LIMIT_RECOVERIES {
        calls::refuse_all(draft, &turn, round, truncated_error);
        return end::end(draft, turn, Ending::output_limit());
    }
    if cut_off {
        calls::refuse_all(draft, &turn, round, truncated_error);
        return ask_to_go_on(draft, turn, has_calls);
    }
    if has_calls {
        return run_calls(draft, turn, round, 0);
    }
    if draft.queue.interjections > 0 && !bound_reached {
        return next_round(draft, turn);
    }
    end::end(draft, turn, Ending::finished(round));
}

fn truncated_error() -> ToolError {
    ToolError::new(
        ToolErrorKind::TruncatedToolCall,
        "the answer was cut off by the output limit, so this call was not run",
    )
    .hint("make the call again, alone and shorter; write large content in several steps")
    .retryable()
}

fn round_bound_error(rounds: u32) -> ToolError {
    ToolError::new(
        ToolErrorKind::RunAborted,
        format!("not run: the request allowed {rounds} model rounds and this was the last"),
    )
}

fn ask_to_go_on(draft: &mut Draft<'_>, turn: OpenTurn, had_calls: bool) {
    draft.event(Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
        turn_index: turn.turn_index,
        attempt: turn.output_limit_hits,
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

fn awaited_answer(draft: &Draft<'_>) -> Option<EffectId> {
    match draft.agent.open_turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::CallingModel { effect }) => Some(*effect),
        Some(Phase::BackingOff { .. } | Phase::RunningTool { .. }) | None => None,
    }
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
    }));
}

fn consume_interjections(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    interjected: &[QueueEntry],
    boundary: InterjectionBoundary,
) {
    for entry in interjected {
        draft.unqueue(entry, QueueStatus::Interjected);
        draft.log(
            turn.turn_index,
            LogEntry::Interjection {
                message_seq: entry.seq,
                boundary,
            },
        );
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
            },
        ));
        turn.owes.push(Owed {
            seq: entry.seq,
            id: entry.envelope.id.clone(),
        });
        turn.max_rounds = widest(turn.max_rounds, entry.max_rounds, turn.rounds);
    }
}

/// A bound holds for its own message: one who joins without a bound lifts it, one with a bound gets its share on top.
fn widest(turn: Option<u32>, joined: Option<u32>, rounds: u32) -> Option<u32> {
    Some(turn?.max(rounds.saturating_sub(1).saturating_add(joined?)))
}

fn account(draft: &mut Draft<'_>, turn: &mut OpenTurn, usage: TokenUsage) {
    turn.usage.add(usage);
    draft.agent.totals.usage.add(usage);
    draft.agent.totals.model_rounds += 1;
}

fn mint_calls(
    draft: &mut Draft<'_>,
    model: &ModelRef,
    reply: &ModelReply,
    intents: Vec<Result<Intent, ToolError>>,
) -> (Vec<Block>, PlannedCalls) {
    let lineage = model.to_string();
    let sealed = |data: &String| Opaque {
        lineage: lineage.clone(),
        data: data.clone(),
    };
    let blocks: Vec<Block> = reply
        .blocks
        .iter()
        .filter(|block| !matches!(block, ReplyBlock::Text { text } if text.is_empty()))
        .map(|block| match block {
            ReplyBlock::Text { text } => Block::Text { text: text.clone() },
            ReplyBlock::Reasoning { text, opaque } => Block::Reasoning {
                text: text.clone(),
                opaque: opaque.as_ref().map(sealed),
            },
            ReplyBlock::Call(call) => Block::ToolCall(ToolCall {
                id: CallId::mint(draft.entropy),
                name: call.name.clone(),
                input: call.input.clone(),
                provider_id: call.provider_id.as_ref().map(sealed),
            }),
        })
        .collect();
    let calls = calls_of(&blocks).cloned().zip(intents).collect();
    (blocks, calls)
}

fn emit_round(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    blocks: &[Block],
    reply: &ModelReply,
    timeline: &AttemptTimeline,
    (frame, timing): (&holon_domain::log::FrameRecord, RoundTiming),
) {
    draft.event(Event::ProviderRoundCompleted(ProviderRoundCompleted {
        turn_index: turn.turn_index,
        round: turn.rounds,
        stop_reason: reply.stop_reason,
        context_build_ms: timing.context_build_ms,
        provider_round_ms: timing.provider_ms,
        provider_started_at: timing.started_at,
        provider_completed_at: timing.completed_at,
        token_usage: reply.usage,
        prompt_cache_key: frame.prompt_cache_key.clone(),
        context_fingerprint: frame.context_fingerprint.clone(),
        requested_model: turn.model.to_string(),
        active_model: turn.model.to_string(),
        provider_attempt_timeline: Some(timeline.clone()),
    }));
    let words = text_of(blocks);
    draft.event(Event::AssistantRoundRecorded(AssistantRoundRecorded {
        turn_index: turn.turn_index,
        round: turn.rounds,
        text_preview: (!words.is_empty())
            .then(|| text::preview(&words, limits::EVENT_PREVIEW_BYTES)),
        text_char_count: words.chars().count(),
        tool_names: calls_of(blocks).map(|call| call.name.clone()).collect(),
    }));
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

fn close_timeline(turn: &mut OpenTurn, timing: RoundTiming, usage: TokenUsage) -> AttemptTimeline {
    let record = AttemptRecord {
        token_usage: Some(usage),
        ..attempt_record(turn, timing, AttemptOutcome::Succeeded)
    };
    turn.attempts.push(record);
    let mut timeline = take_timeline(turn);
    timeline.winning_model_ref = Some(turn.model.to_string());
    timeline
}

fn take_timeline(turn: &mut OpenTurn) -> AttemptTimeline {
    let attempts = std::mem::take(&mut turn.attempts);
    let mut spent = TokenUsage::default();
    let reported: Vec<TokenUsage> = attempts
        .iter()
        .filter_map(|attempt| attempt.token_usage)
        .collect();
    reported.iter().for_each(|usage| spent.add(*usage));
    AttemptTimeline {
        attempts,
        requested_model_ref: turn.model.to_string(),
        active_model_ref: Some(turn.model.to_string()),
        winning_model_ref: None,
        aggregated_token_usage: (!reported.is_empty()).then_some(spent),
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
        transport_diagnostics: failure.diagnostics.clone(),
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
            let timeline = take_timeline(&mut turn);
            let reason = match failure.kind {
                ModelFailureKind::ContextLengthExceeded => TerminalReason::ContextLengthExceeded,
                ModelFailureKind::Timeout
                | ModelFailureKind::Connection
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
