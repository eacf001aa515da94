//! The posture of an agent: the word that clients filter by, and the reason that people read.

use super::wake::{describe, expected_wake};
use super::work::{resting_posture, work_reason};
use super::{NextAction, home_is_missing, suspension};
use crate::tick::TickCause;
use holon_domain::agent::{AgentRecord, HomeState, Lifecycle};
use holon_domain::queue::QueueView;
use holon_domain::summary::{Posture, SchedulingPosture};
use holon_domain::turn::{OpenTurn, PauseCause, Phase, SuspensionReason};

/// Computes the posture without its reason. A stopped agent has the posture of its queue; its status says that it is
/// stopped.
pub(super) fn posture_word(agent: &AgentRecord, queue: &QueueView, next: &NextAction) -> Posture {
    match next {
        NextAction::Stay
            if agent.lifecycle == Lifecycle::Deleting || agent.archived_at.is_some() =>
        {
            Posture::Archived
        }
        NextAction::Stay | NextAction::Boot if queue.pending > 0 => Posture::HasQueuedInput,
        NextAction::Stay | NextAction::Boot => Posture::Idle,
        NextAction::Turn => match (&agent.open_turn, suspension(agent)) {
            (None, _) => Posture::Unknown,
            (Some(_), None) => Posture::ActiveTurn,
            (Some(_), Some(Some(_))) => Posture::WaitingForExternal,
            (Some(_), Some(None)) => Posture::WaitingForOperator,
        },
        NextAction::Take | NextAction::Pace { .. } => Posture::HasQueuedInput,
        NextAction::Tick(TickCause::Hints | TickCause::Rechecks) => Posture::HasQueuedInput,
        NextAction::Tick(TickCause::Work) => Posture::HasRunnableWork,
        NextAction::RestUntil { .. } | NextAction::Rest => resting_posture(agent),
    }
}

/// Explains the posture: its reason and the open run. [`posture_word`] decides the posture itself, and [`super::wake`]
/// the time of the next wake.
pub(super) fn explain(
    agent: &AgentRecord,
    queue: &QueueView,
    next: &NextAction,
) -> SchedulingPosture {
    let because = |reason: String| SchedulingPosture {
        posture: Posture::Unknown,
        reason,
        run_id: None,
        work_item_id: agent
            .work
            .current
            .as_ref()
            .map(|current| current.id.clone()),
        waiting_intent_id: agent
            .work
            .agent_wait
            .as_ref()
            .map(|wait| wait.wait_id.clone()),
        wakes_at: None,
    };
    match next {
        NextAction::Stay => match agent.lifecycle {
            Lifecycle::Deleting => because(removal_reason(agent)),
            Lifecycle::Stopped if agent.archived_at.is_some() => {
                because("archived by an operator; it takes nothing more".into())
            }
            Lifecycle::Stopped if home_is_missing(agent) => {
                because("stopped because its home could not be made; a start tries again".into())
            }
            Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {
                because("stopped by an operator; only a start lets it run again".into())
            }
        },
        NextAction::Boot => because("its home is being made".into()),
        NextAction::Turn => match &agent.open_turn {
            Some(turn) => turn_reason(turn),
            None => because("a turn without a record".into()),
        },
        NextAction::Take => because(format!("{} queued", count_messages(queue.pending))),
        NextAction::Pace { .. } => because(paced_reason(agent)),
        NextAction::Tick(_) => because("is about to go on with its work".into()),
        NextAction::RestUntil { .. } | NextAction::Rest => because(rest_reason(agent, queue)),
    }
}

fn removal_reason(agent: &AgentRecord) -> String {
    let why = agent
        .last_failure
        .as_ref()
        .map_or("", |failure| failure.failure_artifact.summary.as_str());
    match agent.home {
        HomeState::NotRemoved { .. } => {
            format!("is being removed; its home could not be removed and is tried again: {why}")
        }
        HomeState::Removing { failed, .. } if failed > 0 => {
            format!("is being removed; its home is tried again after: {why}")
        }
        HomeState::Unmade
        | HomeState::Preparing { .. }
        | HomeState::Ready
        | HomeState::Removing { .. }
        | HomeState::Removed => "is being removed".to_owned(),
    }
}

fn turn_reason(turn: &OpenTurn) -> SchedulingPosture {
    let reason = match &turn.phase {
        Phase::CallingModel { .. } => {
            format!("asks {} for round {}", turn.model_ref(), turn.rounds + 1)
        }
        Phase::BackingOff { cause, .. } => pause_reason(turn, *cause),
        Phase::Suspended {
            reason,
            model_ref,
            error,
            pause,
        } => suspension_reason(*reason, model_ref, error, pause.is_some()),
        Phase::RunningTool { call_index, .. } => {
            format!("runs tool call {} of its round", call_index + 1)
        }
        Phase::Sending { call_index, .. } => {
            let call = call_index + 1;
            format!("waits until what tool call {call} of its round sends is delivered")
        }
    };
    SchedulingPosture {
        posture: Posture::ActiveTurn,
        reason,
        run_id: Some(turn.run_id.clone()),
        work_item_id: turn.work_item_id.clone(),
        waiting_intent_id: None,
        wakes_at: None,
    }
}

fn pause_reason(turn: &OpenTurn, cause: PauseCause) -> String {
    let model = turn.model_ref();
    match cause {
        PauseCause::Retry => format!("waits to ask {model} again after a provider failure"),
        PauseCause::Network => {
            format!("waits for a network to ask {model} again; its provider cannot be reached")
        }
        PauseCause::Quota => {
            format!("parked until the allowance of {model} is renewed, then asks again by itself")
        }
    }
}

fn suspension_reason(
    reason: SuspensionReason,
    model: &str,
    error: &str,
    has_pause: bool,
) -> String {
    let why = match reason {
        SuspensionReason::ProviderTrouble => format!("{model} could not answer"),
        SuspensionReason::Network => format!("there is no network to reach {model}"),
        SuspensionReason::Quota => format!("the allowance of {model} is used up"),
        SuspensionReason::Auth => format!("the credential for {model} is missing or refused"),
        SuspensionReason::ModelUnavailable => format!("{model} cannot be asked"),
        SuspensionReason::BudgetReached => "a budget is reached".to_owned(),
    };
    let then = if reason == SuspensionReason::BudgetReached {
        match has_pause {
            true => {
                "the turn goes on by itself at the set time, and at once when the budget is raised"
            }
            false => "the turn then goes on by itself where it stopped",
        }
    } else if has_pause {
        "it is asked again by itself at the set time, and at once when an operator writes"
    } else {
        "mend that, then send any message, start the agent or change its model: the turn goes on where it stopped"
    };
    format!("suspended because {why} ({error}); {then}")
}

fn count_messages(count: u64) -> String {
    if count == 1 {
        "1 message is".into()
    } else {
        format!("{count} messages are")
    }
}

fn paced_reason(agent: &AgentRecord) -> String {
    format!(
        "paced: the last {} turns were caused by nobody but the agent itself; any message that is not a background one goes first",
        agent.self_caused_turns
    )
}

fn rest_reason(agent: &AgentRecord, queue: &QueueView) -> String {
    let latest = expected_wake(agent, queue).map_or_else(String::new, |wake| {
        format!(", at the latest until {}", describe(&wake.action))
    });
    let until = format!("until any message arrives{latest}");
    let tasks = match agent.active_tasks {
        0 => String::new(),
        1 => "; 1 task runs and its end wakes it, unless it was stopped".to_owned(),
        count => format!("; {count} tasks run and the end of each wakes it, unless it was stopped"),
    };
    let held = match agent.held.len() {
        0 => String::new(),
        1 => "; the end of 1 task is told in its next turn".to_owned(),
        count => format!("; the ends of {count} tasks are told in its next turn"),
    };
    let work = work_reason(agent);
    let wait = agent.work.agent_wait.as_ref();
    let is_told = |reason: &&str| wait.is_some_and(|wait| wait.waiting_for == **reason);
    let reason = agent.rest.as_ref().and_then(|rest| rest.reason.as_deref());
    // The reason of a rest that a wait began is the text of that wait.
    match reason.filter(|reason| !is_told(reason)) {
        Some(reason) => format!("rests {until}{tasks}{held}{work}: {reason}"),
        None => format!("rests {until}{tasks}{held}{work}"),
    }
}
