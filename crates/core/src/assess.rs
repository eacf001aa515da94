//! The assessment of an agent: its next action, status, posture and closure, computed from its stored facts.
//!
//! All four are derived from the same next action, so they cannot disagree. The first match decides the next action:
//! removed or stopped; booting; an open turn; a queued message (at once, or after a pause if the agent caused it
//! itself); a pending tick; a rest with an end; a rest without one.

mod closure;
mod posture;
mod wake;
mod work;

pub use closure::is_failure;
pub(crate) use wake::describe;

use crate::tick::{self, TickCause};
use closure::closure;
use holon_domain::Timestamp;
use holon_domain::agent::{AgentRecord, AgentStatus, Lifecycle, StateSignal};
use holon_domain::closure::ClosureDecision;
use holon_domain::failure::FailureCause;
use holon_domain::message::{Cause, MessageEnvelope};
use holon_domain::queue::QueueView;
use holon_domain::summary::SchedulingPosture;
use holon_domain::turn::{Phase, SuspensionPause, TerminalReason, TerminalRecord};
use posture::{explain, posture_word};
use wake::expected_wake;

/// The next action of an agent, as the scheduler performs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextAction {
    /// The agent may not run.
    Stay,
    /// The agent waits until its home was checked.
    Boot,
    /// The open turn continues.
    Turn,
    /// The head of the queue is taken up now.
    Take,
    /// The head of the queue is taken up, but not before `until`.
    Pace { until: Timestamp },
    /// The runtime sends a tick, because work can continue or wake hints are pending.
    Tick(TickCause),
    /// The agent rests until `until` or until a message arrives, whichever is first.
    RestUntil { until: Timestamp },
    /// The agent rests until a message arrives.
    Rest,
}

/// The state of an agent as the scheduler, the API and the closure see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    pub next: NextAction,
    pub status: AgentStatus,
    /// Posture shown to clients, with its reason and the time of the next wake.
    pub posture: SchedulingPosture,
    /// Closure shown to clients; `None` while a turn runs.
    pub closure: Option<ClosureDecision>,
}

/// The facts an assessment reads. Everything that may decide what an agent does next is a field here.
#[derive(Debug, Clone, Copy)]
pub struct AssessmentInput<'a> {
    pub agent: &'a AgentRecord,
    /// The head of the queue, if loaded, and the number of queued messages.
    pub queue: &'a QueueView,
}

impl<'a> AssessmentInput<'a> {
    /// Collects the facts of one agent.
    #[must_use]
    pub const fn new(agent: &'a AgentRecord, queue: &'a QueueView) -> Self {
        Self { agent, queue }
    }
}

/// Computes the assessment of an agent from its facts.
#[must_use]
pub fn assess(standing: AssessmentInput<'_>) -> Assessment {
    let AssessmentInput { agent, queue } = standing;
    let next = next(agent, queue);
    let status = status(agent, &next);
    let posture = SchedulingPosture {
        posture: posture_word(agent, queue, &next),
        wakes_at: expected_wake(agent, queue).map(|wake| wake.at),
        ..explain(agent, queue, &next)
    };
    let closure = closure(agent, &next);
    Assessment {
        next,
        status,
        posture,
        closure,
    }
}

fn next(agent: &AgentRecord, queue: &QueueView) -> NextAction {
    if let Some(next) = next_without_wake(agent, queue) {
        return next;
    }
    match expected_wake(agent, queue) {
        Some(wake) => NextAction::RestUntil { until: wake.at },
        None => NextAction::Rest,
    }
}

/// Returns the next action of an agent that does not rest; `None` if it rests.
fn next_without_wake(agent: &AgentRecord, queue: &QueueView) -> Option<NextAction> {
    match agent.lifecycle {
        Lifecycle::Stopped | Lifecycle::Deleting => return Some(NextAction::Stay),
        Lifecycle::Booting => return Some(NextAction::Boot),
        Lifecycle::Runnable => {}
    }
    if agent.open_turn.is_some() {
        return Some(NextAction::Turn);
    }
    let tick = tick::cause(agent);
    if queue.pending == 0 {
        return tick.map(NextAction::Tick);
    }
    // If the head was not loaded while a pause is set, it is self-caused: any other head would have been taken up.
    let head = queue.known_head().map(|entry| &entry.envelope);
    let pause = agent.pace.filter(|pace| pace.due.is_some());
    Some(match (head.is_none_or(is_self_caused), pause) {
        // A hint from outside does not wait for the agent's own pause.
        (true, Some(pace)) => match tick {
            Some(TickCause::Hints) => NextAction::Tick(TickCause::Hints),
            Some(TickCause::Work | TickCause::Rechecks) | None => {
                NextAction::Pace { until: pace.at }
            }
        },
        (true | false, Some(_) | None) => NextAction::Take,
    })
}

/// Returns the pause of a suspended turn if the agent may run and its turn is suspended. The inner value is `None` if
/// only an operator ends the suspension.
pub(crate) fn suspension(agent: &AgentRecord) -> Option<Option<SuspensionPause>> {
    let turn = agent.open_turn.as_ref()?;
    match (agent.lifecycle, &turn.phase) {
        (Lifecycle::Runnable, Phase::Suspended { pause, .. }) => Some(*pause),
        _ => None,
    }
}

/// Returns true if only the agent itself caused a message: by a follow-up, the end of its own rest or of its own task.
#[must_use]
pub fn is_self_caused(message: &MessageEnvelope) -> bool {
    message.cause() == Cause::Itself
}

fn status(agent: &AgentRecord, next: &NextAction) -> AgentStatus {
    match next {
        NextAction::Stay => AgentStatus::Stopped,
        NextAction::Boot => AgentStatus::Booting,
        NextAction::Turn if suspension(agent).is_some() => AgentStatus::Asleep,
        NextAction::Turn => AgentStatus::AwakeRunning,
        NextAction::Take | NextAction::Pace { .. } | NextAction::Tick(_) => AgentStatus::AwakeIdle,
        NextAction::RestUntil { .. } | NextAction::Rest => AgentStatus::Asleep,
    }
}

/// Computes the part of an assessment that is sent as a signal when it changes. Cheaper than [`assess`], because it
/// writes no sentences.
pub(crate) fn signal(standing: AssessmentInput<'_>) -> StateSignal {
    let AssessmentInput { agent, queue } = standing;
    let next = next(agent, queue);
    StateSignal {
        status: status(agent, &next),
        posture: posture_word(agent, queue, &next),
        run_id: agent.open_turn.as_ref().map(|turn| turn.run_id.clone()),
    }
}

/// Returns true if the agent's last failure is that its home could not be made.
#[must_use]
pub fn home_is_missing(agent: &AgentRecord) -> bool {
    failure_cause(agent) == Some(FailureCause::HomeNotMade)
}

fn failure_cause(agent: &AgentRecord) -> Option<FailureCause> {
    agent.last_failure.as_ref().map(|failure| failure.cause)
}

/// Returns true if a one-run agent failed because no model could be asked, after a message of this age was queued. A
/// turn for that message would fail for the same reason.
pub(crate) fn run_failed_since(agent: &AgentRecord, created_at: Timestamp) -> bool {
    let in_vain = |end: &TerminalRecord| {
        end.reason == TerminalReason::ProviderFailed && created_at <= end.completed_at
    };
    let blameless = match failure_cause(agent) {
        Some(FailureCause::Provider(kind)) => !kind.refuses_request(),
        Some(FailureCause::HomeNotMade | FailureCause::HomeNotRemoved | FailureCause::Runtime)
        | None => false,
    };
    agent.is_one_run() && blameless && agent.last_turn.as_ref().is_some_and(in_vain)
}
