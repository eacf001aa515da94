//! What is shown of an agent: status, posture, lifecycle hints, model, usage. All computed, none stored.

mod execution;

pub use execution::{
    Enforcement, ExecutionPolicy, ExecutionProfile, ExecutionSnapshot, ProcessExecution,
    ResourceAuthority,
};

use crate::agent::{AgentStatus, IdentityView, ItemCounts, LastFailure, Lifecycle, RestRecord};
use crate::attempt::TokenUsage;
use crate::closure::{ClosureDecision, WaitingReason};
use crate::continuation::ContinuationResolution;
use crate::id::{MessageId, RunId, TaskId, WaitId, WorkItemId, WorkspaceId};
use crate::provider::{ModelPolicy, ReasoningEffort};
use crate::task::TaskListEntry;
use crate::time::Timestamp;
use crate::timer::TimerView;
use crate::trigger::WakeHint;
use crate::turn::TerminalRecord;
use crate::wait::WaitRecord;
use crate::work_item::WorkItemListEntry;
use crate::workspace::WorkspaceEntry;
use serde::{Deserialize, Serialize};

/// Why an agent is where it is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Posture {
    /// Not known to this build.
    Unknown,
    /// Being removed: nothing runs any more, and its history goes with it.
    Archived,
    /// A turn runs.
    ActiveTurn,
    /// Something is queued.
    HasQueuedInput,
    /// Work could go on.
    HasRunnableWork,
    /// A managed execution is awaited.
    WaitingForTask,
    /// A change outside is awaited.
    WaitingForExternal,
    /// An operator is awaited.
    WaitingForOperator,
    /// The agent said it is blocked.
    Blocked,
    /// Nothing to do.
    Idle,
}

/// The posture with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingPosture {
    /// The word.
    pub posture: Posture,
    /// The sentence.
    pub reason: String,
    /// The run, if one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The work item that the open turn is about, or that has the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The wait that the agent itself has declared. Waits of items are listed in `waiting_intents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitId>,
    /// When it will wake by itself, if it will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes_at: Option<Timestamp>,
}

/// What an operator can do about a stopped agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleHint {
    /// Whether a start is needed before new prompts.
    pub resume_required: bool,
    /// Whether messages are admitted.
    pub accepts_external_messages: bool,
    /// Whether a wake needs a start first.
    pub wake_requires_resume: bool,
    /// What to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_hint: Option<String>,
    /// What to type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_cli_hint: Option<String>,
    /// What to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_control_path: Option<String>,
}

/// Which model an agent asks, and why that one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentModelState {
    /// `runtime_default` or `agent_override`.
    pub source: ModelSource,
    /// The host's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_default_model: Option<String>,
    /// The one that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_model: Option<String>,
    /// Then these.
    #[serde(default)]
    pub effective_fallback_models: Vec<String>,
    /// The agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_model: Option<String>,
    /// How hard that one should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_reasoning_effort: Option<ReasoningEffort>,
    /// The model the open turn asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    /// The model the open turn asks now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model: Option<String>,
    /// Whether the open turn has had to turn to another model.
    #[serde(default)]
    pub fallback_active: bool,
    /// The figures the effective model is asked by; only where one agent is shown alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_policy: Option<ModelPolicy>,
}

/// Where a model choice comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The host.
    #[default]
    RuntimeDefault,
    /// The agent.
    AgentOverride,
}

/// Tokens over an agent's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentTokenUsage {
    /// Over its life.
    pub total: TokenUsage,
    /// Rounds over its life.
    pub total_model_rounds: u64,
    /// The last turn that reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TokenUsage>,
}

/// The agent's state as shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStateView {
    /// Its name.
    pub id: crate::AgentId,
    /// Its status.
    pub status: AgentStatus,
    /// Whether it may run.
    pub lifecycle: Lifecycle,
    /// When it was made.
    pub created_at: Timestamp,
    /// The end of its rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleeping_until: Option<Timestamp>,
    /// The rest itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestRecord>,
    /// The open run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// The message the open run answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_message_id: Option<MessageId>,
    /// The work item that has the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_work_item_id: Option<WorkItemId>,
    /// The work item that the open turn is about, whatever the focus does meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_turn_work_item_id: Option<WorkItemId>,
    /// The newest wake hint that no tick has told yet. Shown where one agent is read alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_wake_hint: Option<WakeHint>,
    /// How many messages are queued.
    pub pending: u64,
    /// How many messages there ever were.
    pub total_message_count: u64,
    /// How many of them history shows in a shorter form; none, since history is not shortened yet.
    #[serde(default)]
    pub compacted_message_count: u64,
    /// Tokens read over its life.
    #[serde(default)]
    pub total_input_tokens: u64,
    /// Tokens written over its life.
    #[serde(default)]
    pub total_output_tokens: u64,
    /// Model rounds over its life.
    #[serde(default)]
    pub total_model_rounds: u64,
    /// Tokens of the last turn that reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_token_usage: Option<TokenUsage>,
    /// Its tasks that are not over.
    #[serde(default)]
    pub active_task_ids: Vec<TaskId>,
    /// What its tools may do here.
    #[serde(default)]
    pub execution_profile: ExecutionProfile,
    /// The workspaces it may use.
    #[serde(default)]
    pub attached_workspaces: Vec<WorkspaceId>,
    /// The one it works in; absent only in what an older host says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_workspace_id: Option<WorkspaceId>,
    /// Where exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_workspace_entry: Option<WorkspaceEntry>,
    /// The directory its commands start in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its own choice of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override: Option<String>,
    /// How hard that one should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override_reasoning_effort: Option<ReasoningEffort>,
    /// Turns so far.
    pub turn_index: u64,
    /// What woke it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_wake_reason: Option<String>,
    /// When it last had something to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_brief_at: Option<Timestamp>,
    /// What the last message that was taken from the queue meant for the agent, with the facts that follows from. Absent
    /// before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_continuation: Option<ContinuationResolution>,
    /// How its last turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_terminal: Option<TerminalRecord>,
    /// Its last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_runtime_failure: Option<LastFailure>,
}

/// One agent, concisely: what `/status` and `AgentGet` answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSummary {
    /// Who it is.
    pub identity: IdentityView,
    /// How it is.
    pub agent: AgentStateView,
    /// Why, and what wakes it.
    pub scheduling_posture: SchedulingPosture,
    /// What an operator can do.
    pub lifecycle: LifecycleHint,
    /// Which model it asks.
    pub model: AgentModelState,
    /// What it has used.
    pub token_usage: AgentTokenUsage,
    /// Where it stands; none while a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closure: Option<ClosureDecision>,
    /// Where its tools run.
    pub execution: ExecutionSnapshot,
    /// Its tasks that are not over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_tasks: Vec<TaskListEntry>,
    /// How many these are.
    #[serde(default)]
    pub active_task_count: u64,
    /// How many of its briefs a reader gets that does not say how many it wants.
    #[serde(default)]
    pub recent_brief_count: u64,
    /// How many of its events such a reader gets, as far as they are still kept.
    #[serde(default)]
    pub recent_event_count: u64,
    /// How many of its work items are open, by what the scheduler may do with them.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub work_item_counts: ItemCounts,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub active_timer_count: u32,
    #[serde(flatten)]
    pub work: WorkSummary,
    /// Its newest event, from the same read.
    pub newest_seq: u64,
}

/// The rows about an agent's work that are shown with its status, a bounded number of each. Empty where the summary was
/// made from the agent's row alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkSummary {
    /// Open items, newest change first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub work_items: Vec<WorkItemListEntry>,
    /// Active waits, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_intents: Vec<WaitRecord>,
    /// Active timers, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerView>,
}

/// One agent in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentListEntry {
    /// Who it is.
    pub identity: IdentityView,
    /// How it is.
    pub status: AgentStatus,
    /// Why.
    pub scheduling_posture: SchedulingPosture,
    /// What an operator can do.
    pub lifecycle: LifecycleHint,
    /// How much is queued.
    pub pending: u64,
    /// The open run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// Which model it asks.
    pub model: AgentModelState,
    /// Where it works.
    pub active_workspace_entry: WorkspaceEntry,
}
