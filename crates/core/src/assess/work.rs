//! The part of an assessment that follows from work items and waits.

use holon_domain::agent::{AgentRecord, CurrentItem};
use holon_domain::closure::{ReactivationMode, WaitingReason, WorkSignal, WorkSignalStatus};
use holon_domain::summary::Posture;
use holon_domain::text;
use holon_domain::wait::WaitKind;
use holon_domain::work_item::WorkItemSchedulingState;

/// Derives the posture of a resting agent from its work, most urgent kind first. Runnable work of a resting agent is
/// paused, or belongs to an agent that gets no ticks.
pub(super) fn resting_posture(agent: &AgentRecord) -> Posture {
    if agent.work.can_go_on() {
        return Posture::HasRunnableWork;
    }
    match waiting_reason(agent) {
        Some(WaitingReason::AwaitingOperatorInput) => Posture::WaitingForOperator,
        Some(WaitingReason::AwaitingTaskResult) => Posture::WaitingForTask,
        Some(WaitingReason::AwaitingExternalChange) => Posture::WaitingForExternal,
        Some(WaitingReason::AwaitingTimer) => Posture::Idle,
        None if agent.work.items.blocked > 0 || agent.work.items.stalled > 0 => Posture::Blocked,
        None => Posture::Idle,
    }
}

/// Returns the most urgent waiting reason among the agent's items, its own wait and its rest.
pub(super) fn waiting_reason(agent: &AgentRecord) -> Option<WaitingReason> {
    let items = &agent.work.items;
    let own = agent.work.agent_wait.as_ref().map(|wait| wait.kind);
    let rests = agent.rest.as_ref().is_some_and(|rest| rest.wake.is_some());
    let kinds = [
        (
            items.waiting_operator > 0 || own == Some(WaitKind::Operator),
            WaitingReason::AwaitingOperatorInput,
        ),
        (
            items.waiting_task > 0 || own == Some(WaitKind::Task),
            WaitingReason::AwaitingTaskResult,
        ),
        (
            items.waiting_external > 0 || own == Some(WaitKind::External),
            WaitingReason::AwaitingExternalChange,
        ),
        (
            items.waiting_timer > 0 || own == Some(WaitKind::Timer) || rests,
            WaitingReason::AwaitingTimer,
        ),
    ];
    kinds
        .into_iter()
        .find_map(|(waits, reason)| waits.then_some(reason))
}

/// Describes the open work of a resting agent, to be appended to the reason of its posture.
pub(super) fn work_reason(agent: &AgentRecord) -> String {
    let work = &agent.work;
    let items = &work.items;
    let mut parts = Vec::new();
    if let Some(wait) = &work.agent_wait {
        parts.push(format!("waits for: {}", wait.waiting_for));
    }
    if work.asks_operator() && items.runnable > 0 {
        let held = text::pluralize(u64::from(items.runnable), "work item");
        parts.push(format!("{held}: held back until its question is answered"));
    }
    let pause = work.tick_pause.filter(|pause| pause.due.is_some());
    if let Some(pause) = pause.filter(|_| !work.asks_operator()) {
        parts.push(format!(
            "its work made no progress and is tried again at {}",
            pause.at
        ));
    }
    if let Some(pause) = work.hint_pause.filter(|pause| pause.due.is_some()) {
        parts.push(format!(
            "was woken again from outside and looks at {}",
            pause.at
        ));
    }
    let stalled = format!(
        "stalled; a message or `holon work resume --agent {} ITEM` makes it go on",
        agent.identity.agent_id
    );
    let states = [
        (items.stalled, stalled.as_str()),
        (items.waiting_operator, "waiting for an operator"),
        (items.waiting_task, "waiting for a task"),
        (items.waiting_external, "waiting for something outside"),
        (items.waiting_timer, "waiting for a time"),
        (items.blocked, "blocked"),
    ];
    for (count, state) in states {
        if count > 0 {
            parts.push(format!(
                "{}: {state}",
                text::pluralize(u64::from(count), "work item")
            ));
        }
    }
    if work.active_timers > 0 {
        parts.push(text::pluralize(u64::from(work.active_timers), "timer") + " set");
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!("; {}", parts.join("; "))
    }
}

/// Returns the work item that makes a closure continuable: the current item, or else the one that the next tick offers.
/// `None` only inside a decision, before the scheduler has chosen the item.
pub(super) fn work_signal(agent: &AgentRecord) -> Option<WorkSignal> {
    let runs = |current: &&CurrentItem| current.state == WorkItemSchedulingState::Runnable;
    if let Some(current) = agent.work.current.as_ref().filter(runs) {
        return Some(WorkSignal {
            work_item_id: current.id.clone(),
            status: WorkSignalStatus::Active,
            reactivation_mode: ReactivationMode::ContinueActive,
        });
    }
    agent.work.queued.clone().map(|work_item_id| WorkSignal {
        work_item_id,
        status: WorkSignalStatus::Queued,
        reactivation_mode: ReactivationMode::ActivateQueued,
    })
}

pub(super) fn waiting_evidence(agent: &AgentRecord, reason: WaitingReason) -> String {
    let rest = agent.rest.as_ref().and_then(|rest| rest.wake);
    match (reason, rest, &agent.work.agent_wait) {
        (WaitingReason::AwaitingTimer, Some(wake), _) => format!("rests until {}", wake.at),
        (_, _, Some(wait)) => format!("waits for: {}", wait.waiting_for),
        (_, _, None) => "a work item waits".to_owned(),
    }
}
