//! The one assessment: from an agent's facts, what happens next, and how that is shown.
//!
//! Next action, posture, status and closure are four projections of the same reading, so they cannot disagree.
//! Order of the reading, first match wins: removed or stopped; booting; a turn runs; a message is queued (at once, or
//! after a pause when only the agent itself keeps itself busy); a rest with an end; a rest without one; nothing to do.

mod work;

use crate::tick::{self, TickCause};
use holon_domain::agent::{
    AgentRecord, AgentStatus, HomeState, LastFailure, Lifecycle, StateSignal,
};
use holon_domain::closure::{ClosureDecision, ClosureOutcome, RuntimePosture, WaitingReason};
use holon_domain::failure::FailureCause;
use holon_domain::message::{Cause, MessageEnvelope};
use holon_domain::queue::QueueView;
use holon_domain::summary::{Posture, SchedulingPosture};
use holon_domain::turn::{
    OpenTurn, PauseCause, Phase, SuspensionPause, SuspensionReason, TerminalKind, TerminalReason,
    TerminalRecord,
};
use holon_domain::{Timestamp, limits, text};
use work::{resting_posture, waiting_evidence, waiting_reason, work_reason, work_signal};

/// What happens next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it may not run.
    Stay,
    /// Its home comes first.
    Boot,
    /// Its turn goes on.
    Turn,
    /// The queue's head is taken up.
    Take,
    /// The queue's head is taken up, but not before this time.
    Pace {
        /// When.
        until: Timestamp,
    },
    /// The runtime makes it go on with its work, or tells it of a wake.
    Tick(TickCause),
    /// It rests until this time or until something arrives.
    RestUntil {
        /// When.
        until: Timestamp,
    },
    /// It rests until something arrives.
    Rest,
}

/// Where an agent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// What happens next.
    pub next: Next,
    /// Shown status.
    pub status: AgentStatus,
    /// Shown posture, with the reason and what will wake it.
    pub posture: SchedulingPosture,
    /// Shown closure; none while a turn runs.
    pub closure: Option<ClosureDecision>,
}

/// The facts an assessment reads. Everything that may decide what an agent does next is a field here.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The agent's row.
    pub agent: &'a AgentRecord,
    /// The head of its queue and how much stands behind it.
    pub queue: &'a QueueView,
}

impl<'a> Standing<'a> {
    /// The standing of an agent with nothing beside its row and its queue.
    #[must_use]
    pub const fn new(agent: &'a AgentRecord, queue: &'a QueueView) -> Self {
        Self { agent, queue }
    }
}

/// Reads where an agent stands.
#[must_use]
pub fn assess(standing: Standing<'_>) -> Assessment {
    let Standing { agent, queue } = standing;
    let next = next(agent, queue);
    let status = status(agent, &next);
    let posture = SchedulingPosture {
        posture: posture_word(agent, queue, &next),
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

fn next(agent: &AgentRecord, queue: &QueueView) -> Next {
    match agent.lifecycle {
        Lifecycle::Stopped | Lifecycle::Deleting => return Next::Stay,
        Lifecycle::Booting => return Next::Boot,
        Lifecycle::Runnable => {}
    }
    if agent.open_turn.is_some() {
        return Next::Turn;
    }
    if queue.pending > 0 {
        // A head nobody looked at is the agent's own while a pause is set: anything else would have been taken.
        let head = queue.known_head().map(|entry| &entry.envelope);
        return match (head.is_none_or(is_self_caused), agent.pace) {
            // Who is outside does not wait for the agent's own pause.
            (true, Some(pace)) if pace.due.is_some() => match tick::cause(agent) {
                Some(TickCause::Hints) => Next::Tick(TickCause::Hints),
                Some(TickCause::Work | TickCause::Rechecks) | None => Next::Pace { until: pace.at },
            },
            (true | false, Some(_) | None) => Next::Take,
        };
    }
    if let Some(cause) = tick::cause(agent) {
        return Next::Tick(cause);
    }
    let rest = agent.rest.as_ref().and_then(|rest| rest.wake);
    let pause = agent.work.tick_pause.filter(|pause| pause.due.is_some());
    let own_wait = agent.work.agent_wait.as_ref().and_then(|wait| wait.due_at);
    let ends = [rest, pause].into_iter().flatten().map(|wake| wake.at);
    match ends.chain(own_wait).min() {
        Some(until) => Next::RestUntil { until },
        None => Next::Rest,
    }
}

/// The pause of a suspended turn, where the agent may run and its turn is one. The inner value is absent when only an
/// operator ends the suspension.
pub(crate) fn suspension(agent: &AgentRecord) -> Option<Option<SuspensionPause>> {
    let turn = agent.open_turn.as_ref()?;
    match (agent.lifecycle, &turn.phase) {
        (Lifecycle::Runnable, Phase::Suspended { pause, .. }) => Some(*pause),
        _ => None,
    }
}

/// Whether nothing but the agent itself caused a message: its own follow-up, the end of its own rest or of its own task.
#[must_use]
pub fn is_self_caused(message: &MessageEnvelope) -> bool {
    message.cause() == Cause::Itself
}

fn status(agent: &AgentRecord, next: &Next) -> AgentStatus {
    match next {
        Next::Stay => AgentStatus::Stopped,
        Next::Boot => AgentStatus::Booting,
        Next::Turn if suspension(agent).is_some() => AgentStatus::Asleep,
        Next::Turn => AgentStatus::AwakeRunning,
        Next::Take | Next::Pace { .. } | Next::Tick(_) => AgentStatus::AwakeIdle,
        Next::RestUntil { .. } | Next::Rest => AgentStatus::Asleep,
    }
}

/// The part of an assessment that is told as a signal when it changes. Cheaper than the whole: no sentence is written.
pub(crate) fn signal(standing: Standing<'_>) -> StateSignal {
    let Standing { agent, queue } = standing;
    let next = next(agent, queue);
    StateSignal {
        status: status(agent, &next),
        posture: posture_word(agent, queue, &next),
        run_id: agent.open_turn.as_ref().map(|turn| turn.run_id.clone()),
    }
}

/// The posture without its reason. A stopped agent has the posture of what it holds; its status says that it is stopped.
fn posture_word(agent: &AgentRecord, queue: &QueueView, next: &Next) -> Posture {
    match next {
        Next::Stay if agent.lifecycle == Lifecycle::Deleting => Posture::Archived,
        Next::Stay | Next::Boot if queue.pending > 0 => Posture::HasQueuedInput,
        Next::Stay | Next::Boot => Posture::Idle,
        Next::Turn => match (&agent.open_turn, suspension(agent)) {
            (None, _) => Posture::Unknown,
            (Some(_), None) => Posture::ActiveTurn,
            (Some(_), Some(Some(_))) => Posture::WaitingForExternal,
            (Some(_), Some(None)) => Posture::WaitingForOperator,
        },
        Next::Take | Next::Pace { .. } => Posture::HasQueuedInput,
        Next::Tick(TickCause::Hints | TickCause::Rechecks) => Posture::HasQueuedInput,
        Next::Tick(TickCause::Work) => Posture::HasRunnableWork,
        Next::RestUntil { .. } | Next::Rest => resting_posture(agent),
    }
}

/// Why an agent is where it is, which run is open and when it wakes by itself. The word is [`posture_word`]'s.
fn explain(agent: &AgentRecord, queue: &QueueView, next: &Next) -> SchedulingPosture {
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
        Next::Stay => match agent.lifecycle {
            Lifecycle::Deleting => SchedulingPosture {
                wakes_at: agent.home.removal_retry().map(|retry| retry.at),
                ..because(removal_reason(agent))
            },
            Lifecycle::Stopped if home_is_missing(agent) => {
                because("stopped because its home could not be made; a start tries again".into())
            }
            Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {
                because("stopped by an operator; only a start lets it run again".into())
            }
        },
        Next::Boot => because("its home is being made".into()),
        Next::Turn => match &agent.open_turn {
            Some(turn) => explain_turn(turn),
            None => because("a turn without a record".into()),
        },
        Next::Take => because(format!("{} queued", messages(queue.pending))),
        Next::Pace { until } => SchedulingPosture {
            wakes_at: Some(*until),
            ..because(paced_reason(agent))
        },
        Next::Tick(_) => because("is about to go on with its work".into()),
        Next::RestUntil { until } => SchedulingPosture {
            wakes_at: Some(*until),
            ..because(rest_reason(agent, "until a set time or any message"))
        },
        Next::Rest => because(rest_reason(agent, "until any message arrives")),
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

fn explain_turn(turn: &OpenTurn) -> SchedulingPosture {
    let (reason, wakes_at) = match &turn.phase {
        Phase::CallingModel { .. } => (
            format!("asks {} for round {}", turn.model_ref(), turn.rounds + 1),
            None,
        ),
        Phase::BackingOff { until, cause, .. } => (pause_reason(turn, *cause), Some(*until)),
        Phase::Suspended {
            reason,
            model_ref,
            error,
            pause,
        } => {
            let why = suspension_reason(*reason, (model_ref, error), pause.is_some());
            (why, pause.map(|pause| pause.until))
        }
        Phase::RunningTool { call_index, .. } => (
            format!("runs tool call {} of its round", call_index + 1),
            None,
        ),
        Phase::Sending { call_index, .. } => {
            let call = call_index + 1;
            let reason =
                format!("waits until what tool call {call} of its round sends is delivered");
            (reason, None)
        }
    };
    SchedulingPosture {
        posture: Posture::ActiveTurn,
        reason,
        run_id: Some(turn.run_id.clone()),
        work_item_id: turn.work_item_id.clone(),
        waiting_intent_id: None,
        wakes_at,
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
    (model, error): (&str, &str),
    has_pause: bool,
) -> String {
    let why = match reason {
        SuspensionReason::ProviderTrouble => format!("{model} could not answer"),
        SuspensionReason::Network => format!("there is no network to reach {model}"),
        SuspensionReason::Quota => format!("the allowance of {model} is used up"),
        SuspensionReason::Auth => format!("the credential for {model} is missing or refused"),
        SuspensionReason::ModelUnavailable => format!("{model} cannot be asked"),
    };
    let then = if has_pause {
        "it is asked again by itself at the set time, and at once when an operator writes"
    } else {
        "mend that, then send any message, start the agent or change its model: the turn goes on where it stopped"
    };
    format!("suspended because {why} ({error}); {then}")
}

fn messages(count: u64) -> String {
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

fn rest_reason(agent: &AgentRecord, until: &str) -> String {
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
    match agent.rest.as_ref().and_then(|rest| rest.reason.as_deref()) {
        Some(reason) => format!("rests {until}{tasks}{held}{work}: {reason}"),
        None => format!("rests {until}{tasks}{held}{work}"),
    }
}

fn closure(agent: &AgentRecord, next: &Next) -> Option<ClosureDecision> {
    let decide = |outcome, waiting_reason, runtime_posture, evidence: String| {
        Some(ClosureDecision {
            outcome,
            waiting_reason,
            work_signal: None,
            runtime_posture,
            evidence: vec![evidence],
        })
    };
    if let Some((waiting, evidence)) = suspension(agent).map(suspension_evidence) {
        let sleeping = RuntimePosture::Sleeping;
        return decide(ClosureOutcome::Waiting, Some(waiting), sleeping, evidence);
    }
    let runtime_posture = match next {
        Next::Boot | Next::Turn | Next::Take | Next::Pace { .. } | Next::Tick(_) => {
            RuntimePosture::Awake
        }
        Next::Stay | Next::Rest | Next::RestUntil { .. } => RuntimePosture::Sleeping,
    };
    if matches!(next, Next::Turn) {
        return None;
    }
    let failure = agent.last_failure.as_ref();
    if let Some(failure) = failure.filter(|failure| is_of_home(failure.cause)) {
        let evidence = told_failure(failure);
        return decide(ClosureOutcome::Failed, None, runtime_posture, evidence);
    }
    if agent.work.items.runnable > 0 {
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
                format!(" ({})", told_failure(failure))
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

/// What the closure of a suspended turn waits for, and the evidence.
fn suspension_evidence(pause: Option<SuspensionPause>) -> (WaitingReason, String) {
    match pause {
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

/// Whether a failure is one of the agent's home, which no turn is to blame for. It comes before what the agent waits for.
const fn is_of_home(cause: FailureCause) -> bool {
    match cause {
        FailureCause::HomeNotMade | FailureCause::HomeNotRemoved => true,
        FailureCause::Provider(_) | FailureCause::Runtime => false,
    }
}

/// A failure as evidence: its kind and the beginning of what is said of it.
fn told_failure(failure: &LastFailure) -> String {
    let artifact = &failure.failure_artifact;
    let said = text::preview(&artifact.summary, limits::EVENT_PREVIEW_BYTES);
    format!("{}: {said}", artifact.kind)
}

/// Whether a turn that ended for this reason failed, rather than being called off.
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

/// Whether the agent's last failure is that its home could not be made.
#[must_use]
pub fn home_is_missing(agent: &AgentRecord) -> bool {
    failure_cause(agent) == Some(FailureCause::HomeNotMade)
}

fn failure_cause(agent: &AgentRecord) -> Option<FailureCause> {
    agent.last_failure.as_ref().map(|failure| failure.cause)
}

/// Whether the run of an agent that was made for it has failed since a message of this age was queued, because no model
/// could be asked: a turn for that message would fail for the same reason.
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
