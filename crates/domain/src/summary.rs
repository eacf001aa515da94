//! Status of an agent as clients see it. Computed from its row, never stored.

mod execution;
mod resolved_policy;

pub use execution::{
    Enforcement, ExecutionPolicy, ExecutionProfile, ExecutionSnapshot, ProcessExecution,
    ResourceAuthority,
};
pub use resolved_policy::ResolvedPolicy;

use crate::agent::{AgentStatus, IdentityView, ItemCounts, LastFailure, Lifecycle, RestRecord};
use crate::attempt::TokenUsage;
use crate::closure::{ClosureDecision, WaitingReason};
use crate::continuation::ContinuationResolution;
use crate::delegation::ActiveChild;
use crate::guidance::{ActiveSkillView, LoadedAgentsMd, SkillCatalog};
use crate::id::{MessageId, NotificationId, RunId, TaskId, WaitId, WorkItemId, WorkspaceId};
use crate::memory::WorkingMemoryView;
use crate::provider::ReasoningEffort;
use crate::task::TaskListEntry;
use crate::time::Timestamp;
use crate::timer::TimerView;
use crate::trigger::{TriggerView, WakeHint};
use crate::turn::TerminalRecord;
use crate::usage::SpendingView;
use crate::wait::WaitRecord;
use crate::work_item::WorkItemListEntry;
use crate::workspace::{Occupancy, WorkspaceEntryView, WorktreeSession};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduling state of an agent in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Posture {
    /// A word that this build does not know.
    Unknown,
    /// Being removed, or archived. Nothing runs any more. An archived agent keeps its history.
    Archived,
    /// A turn is open.
    ActiveTurn,
    /// A message waits in the queue.
    HasQueuedInput,
    /// A work item can continue.
    HasRunnableWork,
    /// Waits for a background command or a child agent.
    WaitingForTask,
    /// Waits for a change outside.
    WaitingForExternal,
    /// Waits for an operator.
    WaitingForOperator,
    /// The agent named a blocker for its work.
    Blocked,
    /// There is nothing to do.
    Idle,
}

/// Posture of an agent with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulingPosture {
    pub posture: Posture,
    /// One sentence for people.
    pub reason: String,
    /// Absent if no run is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Work item that the open turn is about, or else the one with the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Wait that the agent itself has declared. Waits of items are listed in `waiting_intents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitId>,
    /// Time at which the agent wakes by itself. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes_at: Option<Timestamp>,
}

/// Steps that an operator can take with a stopped agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LifecycleHint {
    /// True if the agent must be started before it accepts prompts.
    pub resume_required: bool,
    /// True if messages are admitted.
    pub accepts_external_messages: bool,
    /// True if the agent must be started before a wake hint has an effect.
    pub wake_requires_resume: bool,
    /// Explanation for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_hint: Option<String>,
    /// Command line that starts the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_cli_hint: Option<String>,
    /// Path of the HTTP request that starts the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_control_path: Option<String>,
}

/// Model of an agent and the source of the choice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentModelState {
    pub source: ModelSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_default_model: Option<String>,
    /// Model that the next turn asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_model: Option<String>,
    /// Models that are asked in this order if it fails.
    #[serde(default)]
    pub effective_fallback_models: Vec<String>,
    /// Model that the agent was given. Absent if it uses the host's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_model: Option<String>,
    /// Reasoning effort for that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_reasoning_effort: Option<ReasoningEffort>,
    /// Most tokens that this model may think in one answer; 0 if thinking is turned off. Absent if the setting of the
    /// model is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_thinking_tokens: Option<u32>,
    /// Fallbacks of the agent itself, in order. Absent if those of the host are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_fallback_models: Option<Vec<String>>,
    /// Model that the open turn asked first. Absent if no turn is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    /// Model that the open turn asks now. Absent if no turn is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model: Option<String>,
    /// True if the open turn has fallen back to another model.
    #[serde(default)]
    pub fallback_active: bool,
    /// Limits of the effective model. Present only when one agent is shown alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_policy: Option<ResolvedPolicy>,
}

/// Source of a model choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    #[default]
    RuntimeDefault,
    AgentOverride,
}

/// Tokens and rounds over an agent's life.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentTokenUsage {
    pub total: TokenUsage,
    pub total_model_rounds: u64,
    /// Last turn that reported tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TokenUsage>,
    /// Share of all input that was read from a cache, in whole percent. Absent if no provider reported
    /// cached tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_percent: Option<u64>,
    /// Everything that was charged, estimated calls included. Earlier builds counted nothing.
    #[serde(default)]
    pub usage: SpendingView,
}

/// State of an agent as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStateView {
    pub id: crate::AgentId,
    pub status: AgentStatus,
    pub lifecycle: Lifecycle,
    pub created_at: Timestamp,
    /// End of the rest. Absent if the agent does not rest, or rests until something arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleeping_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// Message that the open run answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_message_id: Option<MessageId>,
    /// Work item that has the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_work_item_id: Option<WorkItemId>,
    /// Work item that the open turn is about. A change of focus does not change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_turn_work_item_id: Option<WorkItemId>,
    /// Newest wake hint that no tick has delivered yet. Present only when one agent is shown alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_wake_hint: Option<WakeHint>,
    /// Number of queued messages.
    pub pending: u64,
    /// Number of messages over the agent's life.
    pub total_message_count: u64,
    /// Messages before the history that the next prompt shows. Working memory and episodes stand for them.
    #[serde(default)]
    pub compacted_message_count: u64,
    /// Beginning of the working memory in a few lines: what the agent works on, how it stands and what it waits for. Absent
    /// if it knows nothing about its work. Present only when one agent is shown alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_summary: Option<String>,
    /// What the agent knows about its work without its history. Present only when one agent is shown alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_memory: Option<WorkingMemoryView>,
    #[serde(default)]
    pub total_input_tokens: u64,
    #[serde(default)]
    pub total_output_tokens: u64,
    #[serde(default)]
    pub total_model_rounds: u64,
    /// Last turn that reported tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_token_usage: Option<TokenUsage>,
    /// Tasks that have not ended.
    #[serde(default)]
    pub active_task_ids: Vec<TaskId>,
    /// Durations of the tool calls over the agent's life, by name.
    #[serde(default)]
    pub tool_latency: Vec<ToolLatency>,
    #[serde(default)]
    pub execution_profile: ExecutionProfile,
    /// Workspaces that the agent may use.
    #[serde(default)]
    pub attached_workspaces: Vec<WorkspaceId>,
    /// Workspace in which the agent works. Absent only in responses of older hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_workspace_id: Option<WorkspaceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_workspace_entry: Option<WorkspaceEntryView>,
    /// Worktree in which the agent works, if the runtime made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_session: Option<WorktreeSession>,
    /// Directory in which commands start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Model that the agent was given. Absent if it uses the host's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override: Option<String>,
    /// Reasoning effort for that model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override_reasoning_effort: Option<ReasoningEffort>,
    /// Skills that the agent has opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_skills: Vec<ActiveSkillView>,
    /// Number of the last turn.
    pub turn_index: u64,
    /// Trigger that last woke the agent, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_wake_reason: Option<String>,
    /// Time of the last brief.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_brief_at: Option<Timestamp>,
    /// Newest notification of the agent. Absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_notification: Option<NotificationView>,
    /// Deliveries to operators that have not ended, over all routes.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub pending_deliveries: u64,
    /// Classification of the last message taken from the queue. Absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_continuation: Option<ContinuationResolution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_terminal: Option<TerminalRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_runtime_failure: Option<LastFailure>,
}

/// Durations of the calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolLatency {
    pub tool_name: String,
    /// Number of calls that have ended, well or not.
    pub total_calls: u64,
    /// Calls of these that failed.
    pub failed: u64,
    pub total_duration_ms: u64,
    pub max_duration_ms: u64,
    /// Duration of the newest call.
    pub last_duration_ms: u64,
}

/// A notification of an agent in its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationView {
    pub notification_id: NotificationId,
    pub created_at: Timestamp,
    /// Beginning of the message; the event has the whole.
    pub summary: String,
}

/// One agent in short form, as `/status` and `AgentGet` return it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSummary {
    pub identity: IdentityView,
    pub agent: AgentStateView,
    pub scheduling_posture: SchedulingPosture,
    pub lifecycle: LifecycleHint,
    pub model: AgentModelState,
    pub token_usage: AgentTokenUsage,
    /// Absent while a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closure: Option<ClosureDecision>,
    pub execution: ExecutionSnapshot,
    /// Execution root that the agent occupies. Absent if it works in its own home, or is stopped and nothing of it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_workspace_occupancy: Option<Occupancy>,
    /// Tasks that have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_tasks: Vec<TaskListEntry>,
    #[serde(default)]
    pub active_task_count: u64,
    /// Number of briefs that a reader gets by default.
    #[serde(default)]
    pub recent_brief_count: u64,
    /// Number of events that a reader gets by default, as far as they are still stored.
    #[serde(default)]
    pub recent_event_count: u64,
    /// Open work items by scheduling state.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub work_item_counts: ItemCounts,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub active_timer_count: u32,
    #[serde(flatten)]
    pub work: WorkSummary,
    /// Children that have not ended. The status of an agent shows them; they are no part of the stored form.
    #[serde(skip)]
    pub active_children: Vec<ActiveChild>,
    /// Instruction files that the next prompt loads. Present only when one agent is shown alone.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub loaded_agents_md: LoadedAgentsMd,
    /// Skills that the next prompt lists. Present only when one agent is shown alone.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub skills: SkillCatalog,
    /// Position of the newest event, from the same read. A client can stream from there without a gap.
    pub newest_seq: u64,
}

/// Rows about an agent's work that are shown with its status, a bounded number of each. Empty if the summary was made
/// from the agent's row alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Active external triggers. A status shows them under their own name.
    #[serde(skip)]
    pub external_triggers: Vec<TriggerView>,
    /// Items that were completed last, newest change first. Only a snapshot shows them.
    #[serde(skip)]
    pub completed_items: Vec<WorkItemListEntry>,
    /// Notifications among the newest events, newest first. A status shows them under their own name.
    #[serde(skip)]
    pub notifications: Vec<NotificationView>,
}

/// One agent in a list of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentListEntry {
    pub identity: IdentityView,
    pub status: AgentStatus,
    pub scheduling_posture: SchedulingPosture,
    pub lifecycle: LifecycleHint,
    /// Number of queued messages.
    pub pending: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_run_id: Option<RunId>,
    /// Present if the agent waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    pub model: AgentModelState,
    pub active_workspace_entry: WorkspaceEntryView,
}
