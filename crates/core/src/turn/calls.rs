//! Runs the tool calls of a round in order, one at a time. The kernel answers some calls in the commit; a call that
//! needs the host becomes an effect, and one that needs another agent a send. Every call gets exactly one result.

use super::ask::ask;
use super::before_rest;
use super::call_results::{finish_call, running_call};
use super::command_events;
use super::end;
use super::ending::{Ending, RestRequest};
use super::immediate_calls::{self, CallRoute};
use super::notification;
use super::round::{is_owed_words, rounds_so_far};
use super::work_calls;
use crate::draft::Draft;
use crate::input::{CallIntent, CurrentRound, Reply, Stamp};
use crate::policy::{self, ExecutionAct};
use crate::rejection::Rejection;
use crate::workspace::AttachAuthority;
use crate::{delegation, memory, skill, task, work, workspace};
use holon_domain::AgentId;
use holon_domain::block::ToolCall;
use holon_domain::consequence::Consequence;
use holon_domain::effect::Effect;
use holon_domain::intent::{Intent, NewWait, RestartPolicy, WakeCondition};
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::send::{AgentSend, SendId, Verdict};
use holon_domain::task::CommandTaskSpec;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::{CallPlace, OpenTurn, Phase, Speech, TerminalReason};
use holon_domain::wait::WaitRecord;
use holon_domain::workspace::SelectedWorkspace;
use serde_json::json;

/// Runs the calls of a round from index `from` on, until one needs the host or another agent, or none is left.
pub(super) fn run_calls(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    round: &CurrentRound,
    from: usize,
) {
    let count = round.calls().count();
    for (call_index, (call, planned)) in round.calls().enumerate().skip(from) {
        let may_rest = call_index + 1 == count && !turn.unread_results;
        let place = CallPlace {
            round_entry: round.entry,
            call_index,
        };
        let taken = match check_call(call_index, planned) {
            Err(error) => CallRoute::Settled(ToolEnvelope::failure(&call.name, error)),
            Ok(Intent::Sleep {
                reason,
                duration_ms,
            }) if may_rest => {
                let rest = RestRequest {
                    reason: reason.clone(),
                    duration_ms: *duration_ms,
                };
                return fall_asleep(draft, turn, round, call, rest);
            }
            Ok(Intent::WaitFor(new)) if may_rest => match begin_wait(draft, &mut turn, call, new) {
                Ok(wait) => {
                    work::adopt_report(draft, &mut turn, round);
                    return end::end(draft, &turn, Ending::waits(round, &wait));
                }
                Err(error) => CallRoute::Settled(ToolEnvelope::failure(&call.name, error)),
            },
            Ok(Intent::Sleep { .. } | Intent::WaitFor(_)) => CallRoute::Settled(
                ToolEnvelope::failure(&call.name, before_rest::refusal(call)),
            ),
            Ok(intent) => immediate_calls::route_call(draft, &mut turn, call, round, intent),
        };
        match taken {
            CallRoute::Settled(envelope) => {
                before_rest::note_result(&mut turn, planned, &envelope);
                finish_call(draft, &turn, call, envelope, 0);
            }
            CallRoute::Act => {
                work::adopt_report_early(draft, &mut turn, round, call_index);
                command_events::record_commands(draft, &turn, call, planned);
                return start_call(draft, turn, place);
            }
            CallRoute::Message {
                agent_id,
                text,
                priority,
            } => {
                work::adopt_report_early(draft, &mut turn, round, call_index);
                return send_message(draft, turn, place, agent_id, text, priority);
            }
            CallRoute::Spawn(spawn) => {
                work::adopt_report_early(draft, &mut turn, round, call_index);
                let send = delegation::send_spawn(draft, &turn, call, &spawn, None);
                return await_verdict(draft, turn, place, send);
            }
            CallRoute::Sent(send) => {
                work::adopt_report_early(draft, &mut turn, round, call_index);
                return await_verdict(draft, turn, place, send);
            }
        }
    }
    work::adopt_report(draft, &mut turn, round);
    // Only a refused rest reaches this point on the last round; no round is left to ask for another.
    if turn.rounds >= turn.max_rounds {
        let rounds = rounds_so_far(draft, &turn);
        return end::end(draft, &turn, Ending::max_rounds(round, rounds));
    }
    next_round(draft, turn);
}

/// Ends the turn with the rest that the agent asked for, unless it owes an operator words.
fn fall_asleep(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    round: &CurrentRound,
    call: &ToolCall,
    rest: RestRequest,
) {
    work::adopt_report(draft, &mut turn, round);
    if is_owed_words(&turn, round) {
        return refuse_silent_sleep(draft, turn, call);
    }
    let envelope = sleep_result(call, rest.reason.as_deref(), rest.duration_ms);
    finish_call(draft, &turn, call, envelope, 0);
    end::end(draft, &turn, Ending::slept(round, rest));
}

/// Declares a wait and gives its call the result, or returns the reason for which it does not begin.
fn begin_wait(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    new: &NewWait,
) -> Result<WaitRecord, ToolError> {
    if is_answered_already(draft, turn, new) {
        return Err(operator_has_written());
    }
    let (envelope, wait) = work_calls::declare_wait(draft, turn, call, new)?;
    finish_call(draft, turn, call, envelope, 0);
    Ok(wait)
}

/// Returns true if a wait for the operator would begin although a message of theirs is queued. The message was admitted
/// before the wait, so it would not end it.
fn is_answered_already(draft: &Draft<'_>, turn: &OpenTurn, new: &NewWait) -> bool {
    new.wake_on.contains(&WakeCondition::Operator) && draft.operator_interjects(turn)
}

fn operator_has_written() -> ToolError {
    ToolError::new(
        ToolErrorKind::SleepNotAlone,
        "the wait was not declared: the operator has written meanwhile",
    )
    .hint("read the message that follows; call WaitFor again if you still need an answer")
}

/// Refuses a rest of a turn that owes an operator an answer and has none yet. The model is told once; then the turn
/// fails.
fn refuse_silent_sleep(draft: &mut Draft<'_>, mut turn: OpenTurn, call: &ToolCall) {
    let refused = ToolEnvelope::failure(&call.name, sleep_without_answer());
    finish_call(draft, &turn, call, refused, 0);
    if turn.rounds >= turn.max_rounds || turn.speech == Speech::AskedAgain {
        return end::end(draft, &turn, Ending::empty_answer(&turn));
    }
    turn.speech = Speech::AskedAgain;
    next_round(draft, turn);
}

/// Returns the intent of a call, or the reason for which it is not run.
pub(super) fn check_call(index: usize, planned: Option<&CallIntent>) -> Result<&Intent, ToolError> {
    if index >= limits::CALLS_PER_ROUND {
        return Err(too_many_calls());
    }
    match planned {
        Some(Ok(intent)) => Ok(intent),
        Some(Err(error)) => Err(error.clone()),
        None => Err(not_interpreted()),
    }
}

/// Begins the next round of the turn.
pub(crate) fn next_round(draft: &mut Draft<'_>, turn: OpenTurn) {
    ask(draft, turn);
}

fn start_call(draft: &mut Draft<'_>, mut turn: OpenTurn, place: CallPlace) {
    let CallPlace {
        round_entry,
        call_index,
    } = place;
    let effect = draft.open_effect(Effect::RunTool {
        turn_index: turn.turn_index,
        round_entry,
        call_index,
    });
    turn.phase = Phase::RunningTool {
        round_entry,
        call_index,
        effect,
    };
    draft.agent.open_turn = Some(turn);
}

/// Sends a message to another agent. The call stays open until the verdict arrives.
fn send_message(
    draft: &mut Draft<'_>,
    turn: OpenTurn,
    place: CallPlace,
    to: AgentId,
    text: String,
    priority: Priority,
) {
    let send = draft.next_effect();
    let message = AgentSend::Message {
        send,
        from: draft.agent.identity.agent_id.clone(),
        text,
        priority,
        authority: turn.authority,
    };
    draft.send(to, message);
    await_verdict(draft, turn, place, send);
}

/// Keeps a call open until the verdict on its send arrives.
fn await_verdict(draft: &mut Draft<'_>, mut turn: OpenTurn, place: CallPlace, send: SendId) {
    turn.phase = Phase::Sending {
        round_entry: place.round_entry,
        call_index: place.call_index,
        send,
    };
    draft.agent.open_turn = Some(turn);
}

/// Handles the verdict of a receiver: the call gets its result, and the round continues.
pub(crate) fn handle_verdict(draft: &mut Draft<'_>, id: SendId, verdict: &Verdict) -> Reply {
    let waits =
        |turn: &mut OpenTurn| matches!(turn.phase, Phase::Sending { send, .. } if send == id);
    // A turn that was cancelled meanwhile has already closed the call.
    let Some(mut turn) = draft.agent.open_turn.take_if(waits) else {
        return Reply::Unchanged;
    };
    if let Some(envelope) = child_result(draft, &mut turn, verdict) {
        return continue_calls(draft, turn, 0, |_| envelope);
    }
    continue_calls(draft, turn, 0, |call| match verdict {
        Verdict::Accepted { message_id } => ToolEnvelope::success(
            &call.name,
            "the message was delivered",
            json!({ "delivered": true, "message_id": message_id }),
        ),
        Verdict::Refused { code, reason } => {
            let error = ToolError::new(
                ToolErrorKind::ToolExecutionFailed,
                format!("the message was refused: {reason}"),
            );
            ToolEnvelope::failure(&call.name, error.details(json!({ "code": code })))
        }
    })
}

/// Builds the result of a call that made an agent or wrote to a child; `None` for any other call.
fn child_result(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    verdict: &Verdict,
) -> Option<ToolEnvelope> {
    let place = turn.phase.call()?;
    let round = draft.round(place.round_entry)?;
    let (call, planned) = round.calls().nth(place.call_index)?;
    match planned?.as_ref().ok()? {
        Intent::SpawnAgent(spawn) => Some(delegation::handle_spawn_verdict(
            draft, turn, call, spawn, verdict,
        )),
        Intent::TaskInput { task_id, input, .. } => Some(delegation::handle_followup_verdict(
            draft, turn, call, task_id, input, verdict,
        )),
        _ => None,
    }
}

/// Handles the end of the running call.
pub(crate) fn handle_tool_end(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    consequence: &Consequence,
    duration_ms: u64,
) -> Reply {
    let awaited = match draft.agent.open_turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::RunningTool { effect, .. }) => Some(*effect),
        Some(
            Phase::CallingModel { .. }
            | Phase::BackingOff { .. }
            | Phase::Suspended { .. }
            | Phase::Sending { .. },
        )
        | None => None,
    };
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    conclude_call(draft, turn, consequence, duration_ms)
}

/// Applies the consequence of the running call, and continues with the calls behind it.
pub(crate) fn conclude_call(
    draft: &mut Draft<'_>,
    turn: OpenTurn,
    consequence: &Consequence,
    duration_ms: u64,
) -> Reply {
    let mut turn = turn;
    let envelope = match consequence {
        Consequence::ChildPrepared { selected } => {
            return spawn_prepared(draft, turn, selected.as_deref());
        }
        Consequence::Result(envelope) => {
            if is_successful_patch(envelope) {
                turn.note_bound_progress();
            }
            envelope.clone()
        }
        Consequence::SkillUsed { result, skills } => {
            skill::activate(draft, &turn, skills);
            result.clone()
        }
        Consequence::Task { result, spec } => {
            turn.note_bound_progress();
            keep_as_task(draft, &turn, result, spec.as_ref().clone())
        }
        Consequence::PlanWritten(plan) => {
            let place = turn.phase.call();
            let round = place.and_then(|place| draft.round(place.round_entry));
            let made = match (place, round) {
                (Some(place), Some(round)) => {
                    work_calls::create_item(draft, &mut turn, &round, place, plan)
                }
                (Some(_) | None, Some(_) | None) => None,
            };
            made.unwrap_or_else(|| ToolEnvelope::failure("CreateWorkItem", not_interpreted()))
        }
        Consequence::Workspace { result, selected } => {
            enter_workspace(draft, &mut turn, result, selected)
        }
        Consequence::FilesSeen { fault } => attach_files(draft, &mut turn, fault.as_deref()),
    };
    continue_calls(draft, turn, duration_ms, |_| envelope.clone())
}

/// Carries out a call whose attached files were looked at, or refuses it for the fault of one.
fn attach_files(draft: &mut Draft<'_>, turn: &mut OpenTurn, fault: Option<&str>) -> ToolEnvelope {
    let place = turn.phase.call();
    let round = place.and_then(|place| draft.round(place.round_entry));
    let running = place
        .zip(round.as_ref())
        .and_then(|(place, round)| Some((round.calls().nth(place.call_index)?, round)));
    let Some(((call, Some(Ok(intent))), round)) = running else {
        return ToolEnvelope::failure("NotifyOperator", not_interpreted());
    };
    if let Some(fault) = fault {
        return ToolEnvelope::failure(&call.name, notification::wrong_file(fault.to_owned()));
    }
    match intent {
        Intent::NotifyOperator {
            message,
            attachments,
        } => notification::notify(draft, turn, call, message, attachments),
        Intent::Work(intent) => work_calls::apply_call(draft, turn, call, round, intent),
        _ => ToolEnvelope::failure(&call.name, not_interpreted()),
    }
}

/// Makes the agent of a call whose files are ready. The tree may have grown meanwhile, so its limits are checked again.
fn spawn_prepared(
    draft: &mut Draft<'_>,
    turn: OpenTurn,
    selected: Option<&SelectedWorkspace>,
) -> Reply {
    let place = turn.phase.call();
    let round = place.and_then(|place| draft.round(place.round_entry));
    if let (Some(place), Some(round)) = (place, &round)
        && let Some((call, Some(Ok(Intent::SpawnAgent(spawn))))) =
            round.calls().nth(place.call_index)
    {
        return match delegation::check_limits(draft, spawn) {
            Ok(()) => {
                let send = delegation::send_spawn(draft, &turn, call, spawn, selected);
                await_verdict(draft, turn, place, send);
                Reply::Done
            }
            Err(error) => continue_calls(draft, turn, 0, |call| {
                ToolEnvelope::failure(&call.name, error)
            }),
        };
    }
    continue_calls(draft, turn, 0, |call| {
        ToolEnvelope::failure(&call.name, not_interpreted())
    })
}

/// Keeps a command that outlived its call as a task. If the policy forbids it, the command is stopped.
fn keep_as_task(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    result: &ToolEnvelope,
    spec: CommandTaskSpec,
) -> ToolEnvelope {
    let preset = draft.agent.identity.profile_preset;
    let asked = policy::check(preset, &draft.host.execution, ExecutionAct::KeepAsTask);
    match asked {
        Ok(()) => {
            task::promote(draft, turn, spec);
            result.clone()
        }
        Err(denial) => {
            task::take_over(draft, turn, spec);
            ToolEnvelope::failure(&result.tool_name, denial.tool_error())
        }
    }
}

/// Makes the workspace of a call active, for the later calls of the turn too.
fn enter_workspace(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    result: &ToolEnvelope,
    selected: &SelectedWorkspace,
) -> ToolEnvelope {
    match workspace::enter(draft, selected, AttachAuthority::Agent) {
        Ok(()) => {
            turn.workspace = selected.entry.clone();
            result.clone()
        }
        Err(rejection) => {
            let kind = match rejection {
                Rejection::AttachForbidden => ToolErrorKind::UnsupportedAgentProfileCapability,
                Rejection::TooManyWorkspaces => ToolErrorKind::LimitReached,
                Rejection::PolicyDenied { .. } => ToolErrorKind::ExecutionPolicyDenied,
                _ => ToolErrorKind::ToolExecutionFailed,
            };
            let error = ToolError::new(kind, rejection.to_string());
            let error = match rejection.hint() {
                Some(hint) => error.hint(hint),
                None => error,
            };
            ToolEnvelope::failure(&result.tool_name, error)
        }
    }
}

/// Writes the result of the running call and runs the calls behind it.
fn continue_calls(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    duration_ms: u64,
    result: impl FnOnce(&ToolCall) -> ToolEnvelope,
) -> Reply {
    let place = turn.phase.call();
    let round = place.and_then(|place| draft.round(place.round_entry));
    let (Some(place), Some(round)) = (place, round) else {
        // The log does not hold the round that the turn names, so its calls cannot get results.
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
    if let Some((call, planned)) = round.calls().nth(place.call_index) {
        let envelope = result(call);
        if let Some(Ok(intent)) = planned {
            memory::note_call(&mut turn.evidence, intent, &envelope);
        }
        before_rest::note_result(&mut turn, planned, &envelope);
        finish_call(draft, &turn, call, envelope, duration_ms);
    }
    run_calls(draft, turn, &round, place.call_index + 1);
    Reply::Done
}

/// Returns true if the running call may be performed again.
pub(crate) fn can_repeat_call(draft: &Draft<'_>, turn: &OpenTurn) -> bool {
    running_call(draft, turn)
        .is_some_and(|(_, action)| action.restart_policy() == RestartPolicy::Repeat)
}

/// Performs the running call again. Its executor finds what the first attempt started.
pub(crate) fn repeat_call(draft: &mut Draft<'_>, turn: OpenTurn) {
    match turn.phase.call() {
        Some(place) => start_call(draft, turn, place),
        None => next_round(draft, turn),
    }
}

/// Returns true if a call changed files, which counts as progress of its work item.
fn is_successful_patch(envelope: &ToolEnvelope) -> bool {
    envelope.tool_name == "ApplyPatch" && envelope.error().is_none()
}

fn sleep_result(call: &ToolCall, reason: Option<&str>, duration_ms: Option<u64>) -> ToolEnvelope {
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

fn sleep_without_answer() -> ToolError {
    ToolError::new(
        ToolErrorKind::ToolExecutionFailed,
        "Sleep was not taken: an operator waits for an answer, and your last message has no words",
    )
    .hint("answer the request, or say why you cannot; the same message may call Sleep")
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

/// Error for a call that the shell did not interpret, because every call needs a result.
fn not_interpreted() -> ToolError {
    ToolError::new(
        ToolErrorKind::ToolExecutionFailed,
        "not run: the runtime could not say what this call asks for",
    )
}
