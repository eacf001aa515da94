//! The inputs of a decision: the closed set of events that can happen to an agent, and the bounded view it is decided
//! on.

mod round;

pub(crate) use round::{CallIntent, CurrentRound};
pub use round::{ContextSize, FailedAttempt, RoundAnswer, RoundTiming, blocks};

use crate::ingress::Ingress;
use holon_domain::agent::{AgentIdentity, AgentKind, AgentRecord, RunTerms};
use holon_domain::budget::{Budget, BudgetDefaults, BudgetKey, BudgetPeriod, BudgetScope};
use holon_domain::consequence::Consequence;
use holon_domain::delegation::WorktreeEnd;
use holon_domain::delivery::{DeliveryRoute, DeliveryTarget, SubmitResult};
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::guidance::{SkillInstallation, SkillSourceKind};
use holon_domain::intent::{NewTimer, NewWorkItem, WorkItemChange};
use holon_domain::model::{ModelChain, ModelChoice, ModelRef};
use holon_domain::needs::LoadedRows;
use holon_domain::operator_transport::{OperatorTransportBinding, TransportClaim};
use holon_domain::previous_exit::PreviousExit;
use holon_domain::queue::MessageSeq;
use holon_domain::send::AgentSend;
use holon_domain::summary::ExecutionProfile;
use holon_domain::task::{NewCommandTask, StartedCommand, TaskReport, TaskStatusSnapshot};
use holon_domain::timer::{DueAction, DueId, MissedSlotPolicy, Pause, TimerRecord};
use holon_domain::tool::ToolEnvelope;
use holon_domain::trigger::{
    CallbackDelivery, CallbackReceipt, DeliveryMode, TriggerRecord, WakeHint,
};
use holon_domain::usage::CallEstimate;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemRecord;
use holon_domain::workspace::{AttachedWorkspace, ReservedDirs, SelectedWorkspace, WorkspaceEntry};
use holon_domain::{
    AgentId, BindingId, MessageId, RunId, TaskId, TimerId, Timestamp, TriggerId, WaitId,
    WorkItemId, WorkspaceId, limits,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Facts about the host that no agent row holds.
#[derive(Debug, Clone)]
pub struct HostConditions {
    /// Default chain of models for agents without a choice of their own.
    pub models: ModelChain,
    /// Total time for which a suspended turn retries by itself while its provider names no end of the outage.
    pub provider_patience_ms: u64,
    /// Start of the host process. No caller waits any more for messages that were admitted before.
    pub started_at: Timestamp,
    /// Directories that a workspace of a new agent may neither contain nor be inside of.
    pub reserved: ReservedDirs,
    /// Abilities of the backend that runs commands. The execution policy reads them.
    pub execution: ExecutionProfile,
    /// Agent for requests without an agent name, by the host's settings. Absent if the stored kind of agents counts.
    pub default_agent: Option<AgentId>,
    /// Delivery targets of the host, by name.
    pub delivery_targets: Arc<[DeliveryTarget]>,
    /// Address under which external systems reach the host, without a slash at its end. Capability URLs begin with it.
    pub callback_base: String,
    /// Budgets of the host.
    pub budgets: Arc<[Budget]>,
    pub budget_defaults: BudgetDefaults,
    /// Time zone in which the days of the host begin, such as `Europe/Berlin`.
    pub zone: String,
    /// Most agents that may stand above a new one.
    pub spawn_depth: u32,
}

impl HostConditions {
    /// Returns the kind of an agent under the settings of this host. The stored one is of the settings under which the
    /// agent was created.
    #[must_use]
    pub fn kind_of(&self, agent_id: &AgentId, stored: AgentKind) -> AgentKind {
        match (&self.default_agent, stored) {
            (None, _) | (Some(_), AgentKind::Child) => stored,
            (Some(default), AgentKind::Default | AgentKind::Named) if default == agent_id => {
                AgentKind::Default
            }
            (Some(_), AgentKind::Default | AgentKind::Named) => AgentKind::Named,
        }
    }

    /// Returns the budgets that cover the calls of an agent for a work item: those that were set, and those of the settings
    /// that no other replaces.
    #[must_use]
    pub fn budgets_of(
        &self,
        agent: &AgentId,
        root: &AgentId,
        item: Option<&WorkItemId>,
    ) -> Vec<Budget> {
        let set = self.budgets.iter();
        let mut found: Vec<Budget> = set
            .filter(|budget| budget.key.scope.covers(agent, root, item))
            .cloned()
            .collect();
        let by_settings = [
            (
                BudgetScope::Agent(agent.clone()),
                self.budget_defaults.agent_day_tokens,
            ),
            (BudgetScope::Host, self.budget_defaults.host_day_tokens),
        ];
        for (scope, limit) in by_settings {
            let period = BudgetPeriod::Day;
            let key = BudgetKey { scope, period };
            let is_set = found.iter().any(|budget| budget.key == key);
            if limit.is_some() && !is_set {
                found.push(Budget {
                    key,
                    limit_tokens: limit,
                    limit_micro_usd: None,
                    set_at: self.started_at,
                });
            }
        }
        found
    }

    /// Builds the facts of a host with these models and defaults for everything else.
    #[must_use]
    pub fn new(models: ModelChain) -> Self {
        Self {
            models,
            execution: ExecutionProfile::default(),
            provider_patience_ms: limits::PROVIDER_PATIENCE_MS,
            started_at: Timestamp::from_millis(0),
            reserved: ReservedDirs::none(),
            default_agent: None,
            delivery_targets: Arc::new([]),
            callback_base: "http://127.0.0.1:7878".to_owned(),
            budgets: Arc::new([]),
            budget_defaults: BudgetDefaults::default(),
            zone: "UTC".to_owned(),
            spawn_depth: limits::SPAWN_DEPTH,
        }
    }
}

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
    /// The worktree of an ended child was looked at.
    WorktreeCleaned { stamp: Stamp, end: WorktreeEnd },
    /// An entry of the due queue has come due.
    DueCame {
        id: DueId,
        /// Time for which the entry was planned.
        planned_at: Timestamp,
        due: DueAction,
    },
    /// The wall clock was set back while pauses of the agent ran. No pause may take longer because of it.
    ClockSetBack {
        /// Size of the step in milliseconds; 0 after a restart, when no process observed the step.
        by_ms: u64,
        /// Pauses that ran when the step was noticed.
        pauses: Vec<RunningPause>,
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
    /// An operator starts a task, stops one or writes to it.
    Task(TaskCommand),
    /// Continues the decision with a fresh view, because the queue may hold more.
    Continue,
}

/// A command of an operator about the deliveries of an agent that wait on one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneCommand {
    /// Gives all of them up, because the route is gone.
    End { reason: String },
    /// Ends the pause before the next attempt.
    RetryNow,
}

/// A command of an operator about the bindings of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorCommand {
    /// Makes a binding, or replaces the one with the same id.
    Bind(OperatorTransportBinding),
    Revoke {
        binding_id: BindingId,
    },
}

/// What the agent does after its run was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAbort {
    /// It goes on with its queue, and its tasks run on.
    GoOn,
    /// Its tasks are stopped, and it takes no queued message until it is started.
    Stop,
}

/// A command of an operator about one task of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCommand {
    /// Starts a command as a task, without a turn.
    Start(Box<NewCommandTask>),
    /// Asks the task to end; the second time it is killed.
    Stop { task_id: TaskId },
    /// Numbers an input, which the shell writes after the commit.
    Input { task_id: TaskId },
}

/// A command of an operator about the ways into an agent from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerCommand {
    /// Makes a capability of this mode, unless there is one.
    Create {
        delivery_mode: DeliveryMode,
    },
    /// Gives a capability another URL.
    Rotate {
        trigger_id: TriggerId,
    },
    Revoke {
        trigger_id: TriggerId,
    },
    /// Says whether webhooks without a signature are accepted.
    ConfigureWebhook {
        allow_unsigned: bool,
    },
}

/// A change of an agent's skills. They are files of its home, and the shell has changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillCommand {
    Installed(SkillInstallation),
    Uninstalled {
        name: String,
        /// Absent if the runtime did not install it.
        kind: Option<SkillSourceKind>,
    },
}

/// A command of an operator about an agent's workspaces. The shell has looked at the directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceCommand {
    Attach(AttachedWorkspace),
    /// Makes a workspace active from the next turn on.
    Use(SelectedWorkspace),
    /// Leaves the active workspace for the agent's home.
    Exit,
    Detach(WorkspaceId),
}

/// A command of an operator about an agent's work, outside of the agent's own calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkCommand {
    /// Creates an item. Only the agent itself picks it.
    Create(NewWorkItem),
    Update {
        work_item_id: WorkItemId,
        change: WorkItemChange,
    },
    Complete {
        work_item_id: WorkItemId,
    },
    /// Makes a stalled item runnable again.
    Resume {
        work_item_id: WorkItemId,
    },
    CancelWait {
        wait_id: WaitId,
    },
    CreateTimer(NewTimer),
    /// Creates a timer whose first slot is counted from the commit.
    CreateTimerAfter {
        delay_ms: u64,
        /// `None` for a timer that fires once.
        interval_ms: Option<u64>,
        missed: MissedSlotPolicy,
        summary: Option<String>,
    },
    CancelTimer {
        timer_id: TimerId,
    },
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
