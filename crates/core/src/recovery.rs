//! Recovery: resumes or settles what a dead process left open. Idempotent; a crash during recovery is one more boot.
//!
//! Each open effect is settled by the rule on its variant: homes are checked or removed again, a model is asked again,
//! tasks are started, watched or stopped again, and a call that can find what it started is performed again. Any other call that
//! had begun gets the result its executor can prove, or "outcome unknown" once, and the calls behind it are closed as
//! not started. Detached effects (`detached`) are opened again. A turn that was resumed too often without a new log
//! entry is poison (`restart_policy`): its message is set aside.

use crate::assess::assess;
use crate::draft::{BOOTSTRAP_BOUNDARY, Draft};
use crate::input::{Finding, ProbeResult, ProvenResult, Reply};
use crate::planted::{Fault, is_planted};
use crate::restart_policy::{self, Resumption};
use crate::{delegation, detached, home, invariant, lifecycle, task, turn, usage, work};
use holon_domain::CallId;
use holon_domain::agent::Lifecycle;
use holon_domain::block::ToolCall;
use holon_domain::effect::Effect;
use holon_domain::event::{Event, TurnResumed};
use holon_domain::previous_exit::PreviousExit;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::turn::{CallPlace, OpenTurn, Phase, ResumeMark, TerminalReason};

/// The reason for which an open effect may have no performer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecoveryCause {
    Boot(PreviousExit),
    /// A commit could not be confirmed. The process and waiting callers are still alive.
    Doubt,
}

/// Recovers the agent after a new process took over.
pub(crate) fn recover(
    draft: &mut Draft<'_>,
    exit: PreviousExit,
    proven: Option<&ProvenResult>,
    found: &[Finding],
) -> Reply {
    if is_planted(Fault::PaceForgottenAtBoot) {
        draft.agent.self_caused_turns = 0;
    }
    if is_planted(Fault::IdleForgottenAtBoot) {
        work::wake(draft);
    }
    let before = assess(draft.assessment_facts()).status;
    let reply = settle_open(draft, RecoveryCause::Boot(exit), proven, found);
    if draft.agent.lifecycle == Lifecycle::Runnable && draft.agent.archived_at.is_none() {
        draft.record_posture(BOOTSTRAP_BOUNDARY, before);
    }
    reply
}

/// Recovers the agent after a commit that could not be confirmed.
pub(crate) fn take_up(draft: &mut Draft<'_>) -> Reply {
    settle_open(draft, RecoveryCause::Doubt, None, &[])
}

fn settle_open(
    draft: &mut Draft<'_>,
    cause: RecoveryCause,
    proven: Option<&ProvenResult>,
    found: &[Finding],
) -> Reply {
    // The open effects are exactly those the agent waits for, so a recovery that is sent twice closes nothing twice.
    // The new generation closes and reopens detached effects and attempts of deliveries.
    for id in invariant::awaited_effects(&draft.agent, &[]) {
        let agent = &draft.agent;
        let reopened = agent
            .detached_effects()
            .chain(agent.outbox.effects())
            .any(|kept| kept == id);
        if !reopened {
            draft.close_effect(id);
        }
    }
    draft.agent.home = draft.agent.home.without_effect();
    detached::next_generation(draft);
    // Only unclean exits count as resumptions of turns and tasks.
    let counted = (cause == RecoveryCause::Boot(PreviousExit::Unclean)).then_some(found);
    // A restored home holds no claim, so a command that was started after the backup would be started twice.
    let can_repeat = cause != RecoveryCause::Boot(PreviousExit::Restored);
    if !can_repeat {
        task::start_no_more(draft);
    }
    task::supervise_again(draft, counted);
    let nobody_waits =
        matches!(cause, RecoveryCause::Boot(_)) && draft.agent.is_removed_with_process();
    match draft.agent.lifecycle {
        Lifecycle::Deleting => {
            home::remove_when_free(draft);
            return Reply::Done;
        }
        // The caller of a temporary agent ended with the process.
        Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped if nobody_waits => {
            return delete_temporary(draft);
        }
        Lifecycle::Booting => home::prepare(draft),
        Lifecycle::Runnable | Lifecycle::Stopped => {}
    }
    if matches!(cause, RecoveryCause::Boot(_)) {
        delegation::attach(draft, true);
        delegation::hear_missed_ends(draft);
    }
    if let Some(mut turn) = draft.agent.open_turn.take() {
        usage::charge_lost(draft, &mut turn);
        // A waiting caller ended with the process.
        turn.attended &= draft.agent.is_one_run() || cause == RecoveryCause::Doubt;
        resume(draft, turn, proven, counted, can_repeat);
    }
    Reply::Done
}

/// Deletes a temporary agent. Its effects are already closed, so the turn is dropped without releasing them again.
fn delete_temporary(draft: &mut Draft<'_>) -> Reply {
    if let Some(mut turn) = draft.agent.open_turn.take() {
        usage::charge_lost(draft, &mut turn);
        if let Some(due) = turn.phase.due() {
            draft.clear_due(due);
        }
        turn::take_over(draft, &turn);
        turn::close_unfinished(
            draft,
            &turn,
            turn::error_result(outcome_unknown()),
            &not_started(),
        );
        let summary = "the one-shot run ended with the process it ran in";
        turn::fail(
            draft,
            &turn,
            TerminalReason::AgentStopped,
            "run_aborted",
            summary,
        );
    }
    lifecycle::delete(draft)
}

/// Resumes a turn. `found` holds the probes after an unclean exit; without them the resumption does not count. In a
/// restored store no call can be repeated, because it may have been performed after the backup.
fn resume(
    draft: &mut Draft<'_>,
    mut turn: OpenTurn,
    proven: Option<&ProvenResult>,
    found: Option<&[Finding]>,
    can_repeat: bool,
) {
    let log_end = draft.agent.counters.log;
    let of_call = found_of_call(found, &turn);
    let judge = |turn: &mut OpenTurn| match found {
        Some(_) => restart_policy::judge(&mut turn.resume, log_end, of_call),
        None => Resumption::GoesOn,
    };
    match turn.phase {
        // No effect was open: the due entry ends the pause, or the delivery brings the verdict.
        Phase::BackingOff { .. } | Phase::Sending { .. } => draft.agent.open_turn = Some(turn),
        Phase::Suspended { .. } => turn::handle_recovery(draft, turn),
        Phase::CallingModel { .. } => {
            match judge(&mut turn) {
                Resumption::GoesOn => {}
                Resumption::AsTask(_) | Resumption::Unreadable | Resumption::GivenUp => {
                    return fail_poisoned(draft, &turn, turn.resume.count);
                }
            }
            record(draft, &turn, Vec::new(), Vec::new());
            turn::ask(draft, turn);
        }
        Phase::RunningTool { effect, .. } => {
            match judge(&mut turn) {
                Resumption::GoesOn if can_repeat && turn::can_repeat_call(draft, &turn) => {
                    record(draft, &turn, Vec::new(), Vec::new());
                    return turn::repeat_call(draft, turn);
                }
                Resumption::AsTask(consequence) => {
                    record(draft, &turn, Vec::new(), Vec::new());
                    turn::conclude_call(draft, turn, consequence, 0);
                    return;
                }
                Resumption::Unreadable => {
                    // The command has ended, so there is nothing to stop, and its output is not read again.
                    turn::close_unfinished(
                        draft,
                        &turn,
                        turn::error_result(end_not_read()),
                        &not_started(),
                    );
                    return fail_poisoned(draft, &turn, turn.resume.ended);
                }
                Resumption::GoesOn | Resumption::GivenUp => {}
            }
            turn::take_over(draft, &turn);
            let proof = proven.filter(|proof| proof.effect == effect);
            let is_proven = proof.is_some();
            let running = |call: &ToolCall| match proof {
                Some(proof) => proof.envelope.clone(),
                None => turn::error_result(outcome_unknown())(call),
            };
            let (cut, unstarted) = turn::close_unfinished(draft, &turn, running, &not_started());
            let unknown = if is_proven { Vec::new() } else { cut };
            // The results just written are progress, so the count restarts.
            turn.resume = ResumeMark {
                log_end: draft.agent.counters.log,
                ..ResumeMark::default()
            };
            record(draft, &turn, unknown, unstarted);
            turn::next_round(draft, turn);
        }
    }
}

/// Returns the probe of the call that a turn runs. A turn that waits for a model has none.
fn found_of_call<'a>(found: Option<&'a [Finding]>, turn: &OpenTurn) -> &'a ProbeResult {
    let runs = |finding: &&Finding| match finding.effect {
        Effect::RunTool {
            round_entry,
            call_index,
            ..
        } => {
            turn.phase.call()
                == Some(CallPlace {
                    round_entry,
                    call_index,
                })
        }
        Effect::PrepareHome
        | Effect::RemoveHome
        | Effect::CallModel { .. }
        | Effect::StartTask { .. }
        | Effect::WatchTask { .. }
        | Effect::StopTask { .. }
        | Effect::FinishPatch { .. }
        | Effect::StopBatch { .. }
        | Effect::CleanWorktree { .. }
        | Effect::SubmitDelivery { .. }
        | Effect::Deliver { .. } => false,
    };
    let of_call = found.and_then(|found| found.iter().find(runs));
    of_call.map_or(&ProbeResult::Nothing, |finding| &finding.found)
}

fn fail_poisoned(draft: &mut Draft<'_>, turn: &OpenTurn, times: u32) {
    let summary = format!(
        "set aside: the host died {times} times in a row while answering this message, without any progress between; \
         send it again if the cause is mended"
    );
    turn::fail(
        draft,
        turn,
        TerminalReason::Poisoned,
        "poisoned_message",
        &summary,
    );
}

fn record(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    unknown_calls: Vec<CallId>,
    unstarted_calls: Vec<CallId>,
) {
    draft.event(Event::TurnResumed(TurnResumed {
        run_id: turn.run_id.clone(),
        turn_index: turn.turn_index,
        after_entry: draft.agent.counters.log,
        resumes_without_progress: turn.resume.count,
        unknown_calls,
        unstarted_calls,
        message_seq: Some(turn.message_seq),
    }));
}

fn outcome_unknown() -> ToolError {
    ToolError::new(
        ToolErrorKind::OutcomeUnknown,
        "the runtime restarted while this call ran; what it started may still be running, whether it took effect is \
         not known, and it was not run again",
    )
    .hint("see whether it still runs and what it has done; repeat the call only if it has ended without effect")
}

fn end_not_read() -> ToolError {
    ToolError::new(
        ToolErrorKind::OutcomeUnknown,
        "the command is over, but the runtime died each time it read how it ended; its output was not read again",
    )
    .hint("look at what it has done before repeating it, and let it print less")
}

fn not_started() -> ToolError {
    ToolError::new(
        ToolErrorKind::NotStarted,
        "the runtime restarted before this call began; it had no effect",
    )
    .hint("make the call again if it is still wanted")
    .retryable()
}
