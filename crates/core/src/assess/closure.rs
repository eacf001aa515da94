//! The closure of an agent: the outcome of its last turn, or what it waits for, with the evidence.

use super::work::{waiting_evidence, waiting_reason, work_signal};
use super::{NextAction, suspension};
use holon_domain::agent::{AgentRecord, LastFailure};
use holon_domain::closure::{ClosureDecision, ClosureOutcome, RuntimePosture, WaitingReason};
use holon_domain::failure::FailureCause;
use holon_domain::turn::{Phase, SuspensionPause, SuspensionReason, TerminalKind, TerminalReason};
use holon_domain::{limits, text};

pub(super) fn closure(agent: &AgentRecord, next: &NextAction) -> Option<ClosureDecision> {
    let decide = |outcome, waiting_reason, runtime_posture, evidence: String| {
        Some(ClosureDecision {
            outcome,
            waiting_reason,
            work_signal: None,
            runtime_posture,
            evidence: vec![evidence],
        })
    };
    if let Some(pause) = suspension(agent) {
        let (waiting, evidence) = suspension_evidence(waits_for_budget(agent), pause);
        let sleeping = RuntimePosture::Sleeping;
        return decide(ClosureOutcome::Waiting, Some(waiting), sleeping, evidence);
    }
    let runtime_posture = runtime_posture(next);
    if matches!(next, NextAction::Turn) {
        return None;
    }
    let failure = agent.last_failure.as_ref();
    if let Some(failure) = failure.filter(|failure| is_home_failure(failure.cause)) {
        let evidence = failure_evidence(failure);
        return decide(ClosureOutcome::Failed, None, runtime_posture, evidence);
    }
    if agent.work.can_go_on() {
        let signal = work_signal(agent);
        let evidence = match &signal {
            Some(signal) => format!("work item {} can go on", signal.work_item_id),
            None => "a work item can go on".to_owned(),
        };
        return decide(ClosureOutcome::Continuable, None, runtime_posture, evidence).map(
            |closure| ClosureDecision {
                work_signal: signal,
                ..closure
            },
        );
    }
    if let Some(reason) = waiting_reason(agent) {
        let evidence = waiting_evidence(agent, reason);
        return decide(
            ClosureOutcome::Waiting,
            Some(reason),
            runtime_posture,
            evidence,
        );
    }
    match &agent.last_turn {
        Some(end) if end.kind == TerminalKind::Aborted && is_failure(end.reason) => {
            let why = failure.map_or_else(String::new, |failure| {
                format!(" ({})", failure_evidence(failure))
            });
            let evidence = format!("turn {} ended: {:?}{why}", end.turn_index, end.reason);
            decide(ClosureOutcome::Failed, None, runtime_posture, evidence)
        }
        Some(end) => decide(
            ClosureOutcome::Completed,
            None,
            runtime_posture,
            format!("turn {} ended", end.turn_index),
        ),
        None => decide(
            ClosureOutcome::Completed,
            None,
            runtime_posture,
            "no turn yet".into(),
        ),
    }
}

/// Returns whether the runtime has something to do for the agent now, or lets it sleep.
const fn runtime_posture(next: &NextAction) -> RuntimePosture {
    match next {
        NextAction::Boot
        | NextAction::Turn
        | NextAction::Take
        | NextAction::Pace { .. }
        | NextAction::Tick(_) => RuntimePosture::Awake,
        NextAction::Stay | NextAction::Rest | NextAction::RestUntil { .. } => {
            RuntimePosture::Sleeping
        }
    }
}

/// Returns true if a budget has no room for the next call of the open turn.
fn waits_for_budget(agent: &AgentRecord) -> bool {
    let turn = agent.open_turn.as_ref();
    turn.is_some_and(|turn| {
        matches!(
            turn.phase,
            Phase::Suspended {
                reason: SuspensionReason::BudgetReached,
                ..
            }
        )
    })
}

/// Returns the waiting reason of a suspended turn and its evidence.
fn suspension_evidence(
    waits_for_budget: bool,
    pause: Option<SuspensionPause>,
) -> (WaitingReason, String) {
    match pause {
        // The day's end or the end of another call gives it room; nothing outside has to change.
        Some(pause) if waits_for_budget => (
            WaitingReason::AwaitingTimer,
            format!("a budget is reached; suspended until {}", pause.until),
        ),
        Some(pause) => (
            WaitingReason::AwaitingExternalChange,
            format!("suspended until {}", pause.until),
        ),
        None => (
            WaitingReason::AwaitingOperatorInput,
            "suspended until an operator acts".to_owned(),
        ),
    }
}

/// Returns true if the failure is about the agent's home and not about a turn. It takes precedence over what the agent
/// waits for.
const fn is_home_failure(cause: FailureCause) -> bool {
    match cause {
        FailureCause::HomeNotMade | FailureCause::HomeNotRemoved => true,
        FailureCause::Provider(_) | FailureCause::Runtime => false,
    }
}

/// Formats a failure as evidence: its kind and the beginning of its message.
fn failure_evidence(failure: &LastFailure) -> String {
    let artifact = &failure.failure_artifact;
    let said = text::preview(&artifact.summary, limits::EVENT_PREVIEW_BYTES);
    format!("{}: {said}", artifact.kind)
}

/// Returns true if a turn that ended for this reason failed; false if it completed or was cancelled.
#[must_use]
pub const fn is_failure(reason: TerminalReason) -> bool {
    match reason {
        TerminalReason::MaxRounds
        | TerminalReason::ProviderFailed
        | TerminalReason::ContextLengthExceeded
        | TerminalReason::OutputLimit
        | TerminalReason::Poisoned
        | TerminalReason::RuntimeFault => true,
        TerminalReason::Finished
        | TerminalReason::Slept
        | TerminalReason::OperatorAborted
        | TerminalReason::AgentStopped => false,
    }
}
