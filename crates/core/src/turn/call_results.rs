//! Finishes tool calls: each gets its one result in the log and an event.
//!
//! This module does not decide how the turn continues. Invariant: a released turn leaves no call without a result, no
//! command without a task and no patch without an effect that finishes it.

use crate::draft::Draft;
use crate::input::CurrentRound;
use crate::{detached, task};
use holon_domain::block::ToolCall;
use holon_domain::effect::Effect;
use holon_domain::event::{Event, ToolExecuted, ToolExecutionFailed};
use holon_domain::intent::HostAction;
use holon_domain::log::LogEntry;
use holon_domain::task::CommandTaskSpec;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::tool_times::{ToolTimes, UNKNOWN_TOOLS};
use holon_domain::turn::{CallPlace, OpenTurn, Phase};
use holon_domain::{CallId, limits, text};

/// Returns the call that the shell runs for a turn, and its action.
pub(super) fn running_call(draft: &Draft<'_>, turn: &OpenTurn) -> Option<(ToolCall, HostAction)> {
    let Phase::RunningTool {
        round_entry,
        call_index,
        ..
    } = turn.phase
    else {
        return None;
    };
    let round = draft.round(round_entry)?;
    let (call, planned) = round.calls().nth(call_index)?;
    let intent = planned?.as_ref().ok()?;
    let place = CallPlace {
        round_entry,
        call_index,
    };
    Some((call.clone(), intent.action(place)?))
}

/// Hands the running call over when its turn is released. A command is stopped as a task. The items of a batch are never
/// tasks: a detached effect stops them. A patch is never interrupted: a detached effect stays open until it is complete.
/// Recovery finds each of them after a crash.
pub(crate) fn take_over(draft: &mut Draft<'_>, turn: &OpenTurn) {
    let Some((call, action)) = running_call(draft, turn) else {
        return;
    };
    match action {
        HostAction::ExecCommand(command) => {
            let spec = CommandTaskSpec::of(&call.id, &command, &turn.workspace);
            task::take_over(draft, turn, spec);
        }
        HostAction::ExecCommandBatch(batch) => {
            let stop = Effect::StopBatch {
                call_id: call.id,
                items: u32::try_from(batch.items.len()).unwrap_or(u32::MAX),
                turn_index: turn.turn_index,
                run_id: turn.run_id.clone(),
                message_seq: turn.message_seq,
            };
            detached::open(draft, stop);
        }
        HostAction::ApplyPatch(_) => {
            detached::open(draft, Effect::FinishPatch { call_id: call.id });
        }
        // These actions leave nothing running without their call.
        HostAction::TaskInput(_)
        | HostAction::TaskOutput(_)
        | HostAction::WritePlan
        | HostAction::WorkQuery(_)
        | HostAction::Memory(_)
        // A worktree that was made has a record and stays for a clean-up.
        | HostAction::UseWorkspace(_)
        | HostAction::WebFetch(_)
        | HostAction::WebSearch(_)
        | HostAction::ViewImage { .. }
        | HostAction::PrepareChild(_)
        | HostAction::LookAtFiles { .. } => {}
    }
}

/// Gives every call of a round the same refusal.
pub(super) fn refuse_all(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    round: &CurrentRound,
    error: impl Fn() -> ToolError,
) {
    for (call, _) in round.calls() {
        finish_call(
            draft,
            turn,
            call,
            ToolEnvelope::failure(&call.name, error()),
            0,
        );
    }
}

/// Returns a function that builds a failed result with this error.
pub(crate) fn error_result(error: ToolError) -> impl FnOnce(&ToolCall) -> ToolEnvelope {
    move |call| ToolEnvelope::failure(&call.name, error)
}

/// Closes the unfinished calls of a turn: the running one with `running`, the ones behind it with `unstarted`. Returns
/// the calls of both kinds.
pub(crate) fn close_unfinished(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    running: impl FnOnce(&ToolCall) -> ToolEnvelope,
    unstarted: &ToolError,
) -> (Vec<CallId>, Vec<CallId>) {
    let Some(place) = turn.phase.call() else {
        return (Vec::new(), Vec::new());
    };
    let Some(round) = draft.round(place.round_entry) else {
        return (Vec::new(), Vec::new());
    };
    let mut left = round.calls().skip(place.call_index).map(|(call, _)| call);
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

/// Writes the result of a call to the log, with its event.
pub(super) fn finish_call(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    envelope: ToolEnvelope,
    duration_ms: u64,
) {
    let (tool_call_id, tool_name) = (call.id.clone(), call.name.clone());
    let (turn_index, run_id) = (turn.turn_index, turn.run_id.clone());
    let message_seq = Some(turn.message_seq);
    let event = match envelope.error() {
        None => Event::ToolExecuted(ToolExecuted {
            tool_call_id,
            tool_name,
            turn_index,
            run_id,
            duration_ms,
            summary: text::preview(&envelope.summary_text, limits::EVENT_PREVIEW_BYTES),
            exec_command_cmd: command_preview(call),
            message_seq,
        }),
        Some(error) => Event::ToolExecutionFailed(ToolExecutionFailed {
            tool_call_id,
            tool_name,
            turn_index,
            run_id,
            duration_ms,
            error: text::preview(&error.to_string(), limits::EVENT_PREVIEW_BYTES),
            tool_error: error.bounded(),
            message_seq,
        }),
    };
    draft.event(event);
    add_time(draft, call, &envelope, duration_ms);
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

/// Adds an ended call to the times of its tool. Calls of names that no tool has share one entry, so that a model's
/// inventions take no room from tools.
fn add_time(draft: &mut Draft<'_>, call: &ToolCall, envelope: &ToolEnvelope, duration_ms: u64) {
    let times = &mut draft.agent.tool_times;
    let failed = envelope.error().is_some();
    let is_unknown = |error: &ToolError| error.kind == ToolErrorKind::UnknownTool;
    let tool_name = match envelope.error().is_some_and(is_unknown) {
        true => UNKNOWN_TOOLS,
        false => call.name.as_str(),
    };
    if let Some(known) = times.get_mut(tool_name) {
        known.add(duration_ms, failed);
    } else if times.len() < limits::TIMED_TOOLS && tool_name.len() <= limits::TIMED_TOOL_NAME_BYTES
    {
        let mut first = ToolTimes::default();
        first.add(duration_ms, failed);
        times.insert(tool_name.to_owned(), first);
    }
}

fn command_preview(call: &ToolCall) -> Option<String> {
    let cmd = call.input.get("cmd")?.as_str()?;
    Some(text::preview(cmd, limits::EVENT_PREVIEW_BYTES))
}
