//! The calls of a round: run in order, one at a time. What the kernel can decide itself is decided in the commit;
//! what needs the world becomes an effect. Every call gets exactly one result.

use super::end;
use super::ending::{Ending, Rest};
use crate::admission::{self, Ingress};
use crate::draft::Draft;
use crate::input::{Reply, RoundInHand, Stamp};
use crate::rest::self_caused_priority;
use crate::subsystem::TOOL_ENQUEUE;
use crate::summary;
use holon_domain::block::ToolCall;
use holon_domain::effect::Effect;
use holon_domain::event::{Event, ToolExecuted, ToolExecutionFailed};
use holon_domain::intent::{HostAction, Intent};
use holon_domain::log::LogEntry;
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::{OpenTurn, Phase, TerminalReason};
use holon_domain::{CallId, limits, text};
use serde_json::json;

/// Runs the calls of a round from number `from` on, until one needs the world or none is left.
pub(super) fn run_calls(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    round: &RoundInHand,
    from: usize,
) {
    let alone = round.calls.len() == 1;
    for (index, (call, planned)) in round.calls.iter().enumerate().skip(from) {
        if index >= limits::CALLS_PER_ROUND {
            finish_call(
                draft,
                &turn,
                call,
                ToolEnvelope::failure(&call.name, too_many_calls()),
                0,
            );
            continue;
        }
        match planned {
            Err(error) => finish_call(
                draft,
                &turn,
                call,
                ToolEnvelope::failure(&call.name, error.clone()),
                0,
            ),
            Ok(Intent::Sleep {
                reason,
                duration_ms,
            }) if alone => {
                let envelope = slept(call, reason.as_deref(), *duration_ms);
                finish_call(draft, &turn, call, envelope, 0);
                let rest = Rest {
                    reason: reason.clone(),
                    duration_ms: *duration_ms,
                };
                return end::end(draft, &turn, Ending::slept(round, rest));
            }
            Ok(Intent::Sleep { .. }) => {
                finish_call(
                    draft,
                    &turn,
                    call,
                    ToolEnvelope::failure(&call.name, sleep_not_alone()),
                    0,
                );
            }
            Ok(Intent::Enqueue { text, priority }) => {
                let envelope = follow_up(draft, &mut turn, call, text, *priority);
                finish_call(draft, &turn, call, envelope, 0);
            }
            Ok(Intent::AgentGet) => {
                let envelope = described(draft, &turn, call);
                finish_call(draft, &turn, call, envelope, 0);
            }
            Ok(Intent::Host(action)) => {
                return start_call(draft, turn, call, action, (round.entry, index));
            }
        }
    }
    next_round(draft, turn);
}

/// Asks for the turn's next round.
pub(crate) fn next_round(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    let effect = draft.open_effect(Effect::CallModel {
        turn_index: turn.turn_index,
        attempt: 1,
    });
    turn.phase = Phase::CallingModel { effect };
    draft.agent.open_turn = Some(turn);
}

fn start_call(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    call: &ToolCall,
    action: &HostAction,
    (round_entry, call_index): (u64, usize),
) {
    let effect = draft.open_effect(Effect::RunTool {
        turn_index: turn.turn_index,
        call: call.clone(),
        action: action.clone(),
        workspace: turn.workspace.clone(),
    });
    turn.phase = Phase::RunningTool {
        round_entry,
        call_index,
        effect,
    };
    draft.agent.open_turn = Some(turn);
}

/// A call came to its end.
pub(crate) fn tool_finished(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    envelope: ToolEnvelope,
    duration_ms: u64,
) -> Reply {
    let awaited = match draft.agent.open_turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::RunningTool { effect, .. }) => Some(*effect),
        Some(Phase::CallingModel { .. } | Phase::BackingOff { .. }) | None => None,
    };
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    let round = draft.round.take();
    let (Phase::RunningTool { call_index, .. }, Some(round)) = (&turn.phase, round) else {
        // The round is not in the log where the turn says it is: nothing can be told to a model about its calls.
        let summary = "the round whose calls ran is missing from the log";
        end::fail(
            draft,
            &turn,
            TerminalReason::RuntimeFault,
            "runtime_fault",
            summary,
        );
        return Reply::Done;
    };
    let call_index = *call_index;
    if let Some((call, _)) = round.calls.get(call_index) {
        finish_call(draft, &turn, call, envelope, duration_ms);
    }
    run_calls(draft, turn, &round, call_index + 1);
    Reply::Done
}

/// Gives every call of a round the same refusal.
pub(super) fn refuse_all(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    round: &RoundInHand,
    error: impl Fn() -> ToolError,
) {
    for (call, _) in &round.calls {
        finish_call(
            draft,
            turn,
            call,
            ToolEnvelope::failure(&call.name, error()),
            0,
        );
    }
}

/// A call that came to nothing but this error.
pub(crate) fn failing(error: ToolError) -> impl FnOnce(&ToolCall) -> ToolEnvelope {
    move |call| ToolEnvelope::failure(&call.name, error)
}

/// Closes the calls a turn leaves unfinished: the one that runs with `running`, the ones behind it with `unstarted`.
/// Returns which were which.
pub(crate) fn close_unfinished(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    running: impl FnOnce(&ToolCall) -> ToolEnvelope,
    unstarted: &ToolError,
) -> (Vec<CallId>, Vec<CallId>) {
    let Phase::RunningTool { call_index, .. } = turn.phase else {
        return (Vec::new(), Vec::new());
    };
    let Some(round) = draft.round.take() else {
        return (Vec::new(), Vec::new());
    };
    let mut left = round.calls.iter().skip(call_index).map(|(call, _)| call);
    let mut cut = Vec::new();
    if let Some(call) = left.next() {
        cut.push(call.id.clone());
        finish_call(draft, turn, call, running(call), 0);
    }
    let mut never_run = Vec::new();
    for call in left {
        never_run.push(call.id.clone());
        let refused = ToolEnvelope::failure(&call.name, unstarted.clone());
        finish_call(draft, turn, call, refused, 0);
    }
    (cut, never_run)
}

fn finish_call(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    envelope: ToolEnvelope,
    duration_ms: u64,
) {
    let (tool_call_id, tool_name) = (call.id.clone(), call.name.clone());
    let (turn_index, run_id) = (turn.turn_index, turn.run_id.clone());
    let event = match envelope.error() {
        None => Event::ToolExecuted(ToolExecuted {
            tool_call_id,
            tool_name,
            turn_index,
            run_id,
            duration_ms,
            summary: text::preview(&envelope.summary_text, limits::EVENT_PREVIEW_BYTES),
            exec_command_cmd: command_preview(call),
        }),
        Some(error) => Event::ToolExecutionFailed(ToolExecutionFailed {
            tool_call_id,
            tool_name,
            turn_index,
            run_id,
            duration_ms,
            error: text::preview(&error.to_string(), limits::EVENT_PREVIEW_BYTES),
            tool_error: bounded(error),
        }),
    };
    draft.event(event);
    draft.log(
        turn_index,
        LogEntry::ToolResult {
            round: turn.rounds,
            call_id: call.id.clone(),
            envelope,
            duration_ms,
        },
    );
}

/// The error as an event carries it: details stay in the log, where they are stored once.
fn bounded(error: &ToolError) -> ToolError {
    ToolError {
        details: None,
        ..error.clone()
    }
}

fn command_preview(call: &ToolCall) -> Option<String> {
    let cmd = call.input.get("cmd")?.as_str()?;
    Some(text::preview(cmd, limits::EVENT_PREVIEW_BYTES))
}

fn slept(call: &ToolCall, reason: Option<&str>, duration_ms: Option<u64>) -> ToolEnvelope {
    let summary = match duration_ms {
        Some(ms) => format!("resting for {ms} ms or until something arrives"),
        None => "resting until something arrives".to_owned(),
    };
    ToolEnvelope::success(
        &call.name,
        summary,
        json!({ "reason": reason, "duration_ms": duration_ms }),
    )
}

fn sleep_not_alone() -> ToolError {
    ToolError::new(
        ToolErrorKind::SleepNotAlone,
        "Sleep was not taken: other calls of this round have results to read",
    )
    .hint("read the results, then call Sleep alone to end the turn")
    .retryable()
}

fn too_many_calls() -> ToolError {
    let max = limits::CALLS_PER_ROUND;
    ToolError::new(
        ToolErrorKind::LimitReached,
        format!("not run: one round may make at most {max} calls"),
    )
    .hint("make the remaining calls in the next round")
    .retryable()
}

fn described(draft: &Draft<'_>, turn: &OpenTurn, call: &ToolCall) -> ToolEnvelope {
    let mut agent = draft.agent.clone();
    agent.open_turn = Some(turn.clone());
    let summary = summary::summarise(&agent, &draft.queue, draft.host);
    let text = format!(
        "{}: {}",
        summary.agent.id, summary.scheduling_posture.reason
    );
    match serde_json::to_value(&summary) {
        Ok(value) => ToolEnvelope::success(&call.name, text, json!({ "agent": value })),
        Err(error) => ToolEnvelope::failure(
            &call.name,
            ToolError::new(ToolErrorKind::ToolExecutionFailed, error.to_string()),
        ),
    }
}

fn no_room_for_follow_up(draft: &Draft<'_>, turn: &OpenTurn) -> Option<ToolError> {
    let (message, hint) = if turn.followups >= limits::FOLLOWUPS_PER_TURN {
        let max = limits::FOLLOWUPS_PER_TURN;
        (
            format!("one turn may queue at most {max} follow-ups"),
            "fold the remaining work into one of them",
        )
    } else if draft.queue.pending >= limits::QUEUE_ENTRIES {
        (
            "the queue is full".to_owned(),
            "do the work in this turn, or end the turn so that the queue drains",
        )
    } else {
        return None;
    };
    Some(ToolError::new(ToolErrorKind::LimitReached, message).hint(hint))
}

fn follow_up(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    words: &str,
    priority: Priority,
) -> ToolEnvelope {
    if let Some(error) = no_room_for_follow_up(draft, turn) {
        return ToolEnvelope::failure(&call.name, error);
    }
    turn.followups += 1;
    // Only the operator interjects; what an agent asks itself stands in line.
    let wanted = if priority == Priority::Interject {
        Priority::Next
    } else {
        priority
    };
    let priority = self_caused_priority(&draft.agent, wanted);
    let ingress = Ingress {
        kind: MessageKind::InternalFollowup,
        origin: Origin::System {
            subsystem: TOOL_ENQUEUE.to_owned(),
        },
        priority,
        body: Body::text(words),
        metadata: None,
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: Some(turn.message_id.to_string()),
        max_rounds: None,
    };
    // Never more authority than the message whose turn made it, and never the operator's own.
    let authority = turn
        .authority
        .weaker(holon_domain::authority::AuthorityClass::RuntimeInstruction);
    let entry = admission::enqueue(draft, ingress, authority);
    let result = json!({
        "enqueued": true,
        "message_id": entry.envelope.id,
        "priority": priority,
        "follow_up_text": text::preview(words, limits::EVENT_PREVIEW_BYTES),
    });
    ToolEnvelope::success(
        &call.name,
        format!("queued follow-up {}", entry.envelope.id),
        result,
    )
}
