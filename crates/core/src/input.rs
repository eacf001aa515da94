//! The inputs of a decision: the closed set of events that can happen to an agent, and the bounded view it is decided
//! on.

mod command;
mod host;
mod round;

pub use command::{
    AfterAbort, ContextCommand, LaneCommand, MeasuredTurn, OperatorCommand, SkillCommand,
    TaskCommand, TriggerCommand, WorkCommand, WorkspaceCommand,
};
pub use host::HostConditions;
pub(crate) use round::{CallIntent, CurrentRound};
pub use round::{ContextSize, FailedAttempt, RoundAnswer, RoundTiming, blocks};

use crate::ingress::Ingress;
use holon_domain::agent::{AgentIdentity, AgentRecord, RunTerms};
use holon_domain::consequence::Consequence;
use holon_domain::delegation::WorktreeEnd;
use holon_domain::delivery::{DeliveryRoute, SubmitResult};
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::event::BatchItemEnd;
use holon_domain::model::{ModelChoice, ModelRef};
use holon_domain::needs::LoadedRows;
use holon_domain::operator_transport::{OperatorTransportBinding, TransportClaim};
use holon_domain::previous_exit::PreviousExit;
use holon_domain::queue::MessageSeq;
use holon_domain::send::AgentSend;
use holon_domain::task::{StartedCommand, TaskReport, TaskStatusSnapshot};
use holon_domain::timer::{DueAction, DueId, Pause, TimerRecord};
use holon_domain::tool::ToolEnvelope;
use holon_domain::trigger::{CallbackDelivery, CallbackReceipt, TriggerRecord, WakeHint};
use holon_domain::turn::LogSeq;
use holon_domain::usage::CallEstimate;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemRecord;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, MessageId, RunId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

/// The view of one agent that a decision is made on: its row, and the rows that were loaded for the input.
#[derive(Debug, Clone)]
pub struct AgentView {
    pub agent: AgentRecord,
    /// Rows loaded beside the agent's own. If a decision reads a part that is missing, it is made again with it.
    pub loaded: LoadedRows,
}

/// A pause of an agent as stored in the due queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningPause {
    pub id: DueId,
    pub pause: Pause,
    /// The action that follows when the pause ends.
    pub due: DueAction,
}

/// An entry of the due queue for a time on the wall clock that was planned by a clock that was ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotAhead {
    pub id: DueId,
    pub at: Timestamp,
    pub due: DueAction,
}

/// Identifies the effect that an outcome belongs to. An outcome with a stale stamp is recorded and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub effect: EffectId,
    /// Generation of the agent when the effect was opened.
    pub generation: u64,
}

impl Stamp {
    /// Builds the stamp for the outcome of an open effect.
    #[must_use]
    pub const fn of(record: &EffectRecord) -> Self {
        Self {
            effect: record.id,
            generation: record.generation,
        }
    }
}

/// The result of a call that was running when a process died, as far as its executor can prove it.
#[derive(Debug, Clone)]
pub struct ProvenResult {
    /// Effect that ran the call.
    pub effect: EffectId,
    pub envelope: ToolEnvelope,
}

/// Result of probing the commands behind an open effect, before a new process performs the effect again.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeResult {
    /// A command is proven to run.
    Alive {
        /// Consequence for the call if its command continues as a task. `None` for a batch, which has no task: each of
        /// its commands is bounded by its own timeout.
        as_task: Option<Box<Consequence>>,
    },
    /// All commands that were started have ended.
    Ended,
    /// No command was started, or none can be accounted for.
    Nothing,
}

/// The probe of one open effect. Effects of calls and tasks have one; other effects run no command.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The open effect, identified by its content, because its number changes if the recovery is sent again.
    pub effect: Effect,
    pub found: ProbeResult,
}

/// An event that happens to an agent: the only argument of a decision that is not stored state.
#[derive(Debug, Clone)]
pub enum Input {
    /// A message is submitted for admission.
    Admit(Box<Ingress>),
    /// An operator changes the workspace or the model, from the next turn on. A suspended turn asks the new model at
    /// once.
    Configure {
        /// New workspace; `None` leaves the current one unchanged.
        workspace: Option<WorkspaceEntry>,
        /// Model override to apply; `None` leaves the current one unchanged.
        model: Option<ModelChoice>,
    },
    /// The check of the home has ended.
    HomePrepared {
        stamp: Stamp,
        result: Result<(), String>,
    },
    /// The removal of the home has ended.
    HomeRemoved {
        stamp: Stamp,
        result: Result<(), String>,
    },
    /// The model of the open round answered.
    RoundAnswered {
        /// The effect this outcome belongs to. A stale stamp is recorded and dropped; the same holds for every stamp
        /// below.
        stamp: Stamp,
        answer: Box<RoundAnswer>,
    },
    /// One attempt of the open round failed. The round goes on if a retry or another model may help.
    AttemptFailed {
        stamp: Stamp,
        attempt: Box<FailedAttempt>,
    },
    /// The request of the open round was built and measured, and not sent, because a budget wants to know its size.
    CallMeasured {
        stamp: Stamp,
        estimate: CallEstimate,
    },
    /// The running tool call ended.
    ToolFinished {
        stamp: Stamp,
        consequence: Consequence,
        duration_ms: u64,
    },
    /// The decision of another agent sent something to this one.
    Received(AgentSend),
    /// A deferred delivery is made now.
    Deliver {
        stamp: Stamp,
        /// Sends of the effect, in order, each with its receiver.
        sends: Vec<(AgentId, AgentSend)>,
    },
    /// The commit has no room for these sends of the agent's decision, so they are kept as effects.
    Defer {
        /// Deferred sends in order, each with its receiver.
        sends: Vec<(AgentId, AgentSend)>,
    },
    /// The command of a queued task runs.
    TaskStarted {
        stamp: Stamp,
        task_id: TaskId,
        started: Box<StartedCommand>,
    },
    /// The command of a task ended, is lost or could not be started.
    TaskEnded {
        stamp: Stamp,
        task_id: TaskId,
        report: Box<TaskReport>,
    },
    /// An attempt of a delivery ended.
    DeliverySubmitted {
        stamp: Stamp,
        route: DeliveryRoute,
        /// Time at which the delivery was written.
        created_at: Timestamp,
        result: SubmitResult,
    },
    /// An operator ends or hastens what waits on a route.
    Lane {
        route: DeliveryRoute,
        command: LaneCommand,
    },
    /// An operator makes or revokes a binding to a remote operator.
    Operator(Box<OperatorCommand>),
    /// A bound transport brings a message of its operator.
    OperatorMessage {
        /// What the transport says about the message; checked against the binding.
        claim: Box<TransportClaim>,
        ingress: Box<Ingress>,
    },
    /// A patch whose turn was cancelled is complete or rolled back, and its journal is removed.
    PatchFinished { stamp: Stamp },
    /// The commands of a batch whose turn was cancelled have ended.
    BatchStopped {
        stamp: Stamp,
        items: Vec<BatchItemEnd>,
    },
    /// The worktree of an ended child was looked at.
    WorktreeCleaned { stamp: Stamp, end: WorktreeEnd },
    /// The host goes down while an effect of the agent runs.
    HostStops,
    /// An entry of the due queue has come due.
    DueCame {
        id: DueId,
        /// Time for which the entry was planned.
        planned_at: Timestamp,
        due: DueAction,
    },
    /// Retention needs space and is about to remove the oldest turns of the agent.
    HistoryRemoval {
        /// Last entry of the log that goes.
        through: LogSeq,
    },
    /// The wall clock was set back while pauses of the agent ran. No pause may take longer because of it.
    ClockSetBack {
        /// Size of the step in milliseconds; 0 after a restart, when no process observed the step.
        by_ms: u64,
        /// The last moment before the step at which the host read its clocks, by the clock after the step. Slots since
        /// then may have come before the host noticed the step. The current time if no process observed it.
        since: Timestamp,
        /// Pauses that ran when the step was noticed.
        pauses: Vec<RunningPause>,
        /// Slots that were planned by the clock before the step.
        slots: Vec<SlotAhead>,
    },
    /// A command of the agent enqueues a message to its own agent through the host.
    FromCommand {
        /// Task that the command is or would become.
        task_id: TaskId,
        ingress: Box<Ingress>,
    },
    /// An operator starts the agent.
    Start,
    /// An operator stops the agent.
    Stop,
    /// An operator aborts the current run.
    Abort {
        /// Run that the operator means; the current one if absent.
        run_id: Option<RunId>,
        then: AfterAbort,
    },
    /// An operator archives the agent.
    Archive,
    /// An operator or the runtime deletes the agent.
    Delete,
    /// A new process took over. Sent only at boot.
    Recover {
        exit: PreviousExit,
        /// Result of the running tool call, if its executor can prove it.
        proven: Option<Box<ProvenResult>>,
        /// Probes of the open effects. An effect without a probe counts as one for which nothing was found.
        found: Vec<Finding>,
    },
    /// A commit about the agent could not be confirmed, so its effects may not have been started. The process lives.
    TakeUp,
    /// A decision panicked or broke an invariant; the turn is given up.
    GiveUp { message: String },
    /// The caller of a run stopped waiting for the answer to this message.
    CallerLeft { message_seq: MessageSeq },
    /// The host's models or credentials have changed, so a suspended turn asks again.
    ModelsChanged,
    /// The budgets of the host have changed, so a turn that one of them suspended asks again.
    BudgetChanged,
    /// The host found another credential of a provider that had refused the last one.
    CredentialRenewed {
        /// Id of the provider.
        provider: String,
    },
    /// An external source or an operator asks the agent to look.
    WakeHint(Box<WakeHint>),
    /// An operator changes external triggers or webhooks of the agent.
    Trigger(TriggerCommand),
    /// An external system used a capability of the agent, and proved it with its token.
    Callback(Box<CallbackDelivery>),
    /// An operator changes work items, waits or timers of the agent.
    Work(Box<WorkCommand>),
    /// An operator changes the workspaces of the agent.
    Workspace(Box<WorkspaceCommand>),
    /// An operator changed the skills in the agent's home.
    Skill(Box<SkillCommand>),
    /// An operator changes what the agent's thread shows.
    Context(ContextCommand),
    /// An operator starts a task, stops one or writes to it.
    Task(TaskCommand),
    /// Continues the decision with a fresh view, because the queue may hold more.
    Continue,
}

/// The reply to the sender of an input, delivered after the commit. It is stored for requests that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The message was queued.
    Admitted {
        message_id: MessageId,
        message_seq: MessageSeq,
        /// Length of the agent's log before the message. What the message leads to comes after it.
        log_end: u64,
    },
    Done,
    /// The hint was stored. `coalesced` is true if it joined a pending one.
    Woken {
        coalesced: bool,
    },
    /// The delivery was accepted.
    Delivered(Box<CallbackReceipt>),
    /// The capability after the command.
    Trigger(Box<TriggerRecord>),
    /// The binding as it is stored.
    Binding(Box<OperatorTransportBinding>),
    /// The work item after the command.
    WorkItem(Box<WorkItemRecord>),
    /// The wait after the command.
    Wait(Box<WaitRecord>),
    /// The timer after the command.
    Timer(Box<TimerRecord>),
    /// The task that was created.
    Task(Box<TaskStatusSnapshot>),
    /// The task after the request to stop it.
    TaskStop {
        task: Box<TaskStatusSnapshot>,
        /// False if the task was over before.
        stop_requested: bool,
        /// True if the task is killed.
        force_stop_requested: bool,
    },
    /// The run that was aborted.
    Aborted {
        run_id: RunId,
    },
    /// The number of an operator's input, which is not written yet.
    TaskInput {
        number: u64,
    },
    /// The input changed nothing, such as a stale outcome or a start of a running agent.
    Unchanged,
    /// The agent is deleted and the store may remove its rows.
    RowsMayGo,
}

/// Settings of a new agent, before it has a row.
#[derive(Debug, Clone)]
pub struct NewAgent {
    pub identity: AgentIdentity,
    /// Path at which the home will be created.
    pub agent_home: String,
    pub workspace: WorkspaceEntry,
    /// Model of its own; `None` uses the host's chain.
    pub model: Option<ModelRef>,
    /// Terms of the run for which a one-run agent is created; `None` for any other agent.
    pub run: Option<RunTerms>,
}
