//! The calls of a round: run in order, one at a time. What the kernel can decide itself is decided in the commit;
//! what needs the world becomes an effect. Every call gets exactly one result.

use super::end;
use super::ending::{Ending, Rest};
use super::finish::{finish_call, in_hand};
use super::settled::{self, Taken};
use crate::draft::Draft;
use crate::input::{Reply, RoundInHand, Stamp};
use crate::task;
use holon_domain::block::ToolCall;
use holon_domain::effect::Effect;
use holon_domain::intent::{AfterRestart, HostAction, Intent};
use holon_domain::limits;
use holon_domain::task::CommandTaskSpec;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::{OpenTurn, Phase, TerminalReason};
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
            Ok(intent) => match settled::take(draft, &mut turn, call, intent, (round.entry, index))
            {
                Taken::Result(envelope) => finish_call(draft, &turn, call, envelope, 0),
                Taken::Act(action) => {
                    return start_call(draft, turn, call, &action, (round.entry, index));
                }
            },
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

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) envelope: ToolEnvelope,
    pub(crate) duration_ms: u64,
    /// The command that goes on without the call.
    pub(crate) goes_on: Option<CommandTaskSpec>,
}

/// A call came to its end.
pub(crate) fn tool_finished(draft: &mut Draft<'_>, stamp: Stamp, finished: Finished) -> Reply {
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
    // First of all, so that nothing goes on that nobody follows.
    if let Some(spec) = finished.goes_on {
        task::promote(draft, &turn, spec);
    }
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
        finish_call(draft, &turn, call, finished.envelope, finished.duration_ms);
    }
    run_calls(draft, turn, &round, call_index + 1);
    Reply::Done
}

/// Whether the call a turn runs may be performed again.
pub(crate) fn takes_up(draft: &Draft<'_>, turn: &OpenTurn) -> bool {
    in_hand(draft, turn)
        .is_some_and(|(_, action, _)| action.after_restart() == AfterRestart::TakenUp)
}

/// Performs the call a turn runs again: whatever it began is found.
pub(crate) fn take_up_call(draft: &mut Draft<'_>, turn: OpenTurn) {
    match in_hand(draft, &turn) {
        Some((call, action, position)) => start_call(draft, turn, &call, &action, position),
        None => next_round(draft, turn),
    }
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
