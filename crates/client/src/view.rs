//! The parts of responses that this build decodes. Words of closed sets (a status, a kind, a reason) are text, as the
//! host spells them. Fields that older hosts lack have a default.

mod activity;
mod asked;
mod context;
mod prompt;
mod task;
mod trigger;
mod work;
mod workspace;

pub use activity::{HostActivity, HostFailure, HostReport};
pub use context::{ColdThread, Context, ContextChange, ContextFold, ContextTurn};
pub use prompt::{
    CacheMark, ExecutionRules, Prompt, PromptBlock, PromptPolicy, ReducedContext, RoundCache,
    ShownPrompt, ThreadPart, TurnPart,
};
pub use task::{ListedTask, TaskCommand, TaskOutput, TaskPrinted, TaskStop, TaskView, TaskWrite};
pub use trigger::{Delivered, RevealedTrigger, Trigger, Webhook};
pub use work::{
    Closure, DeliverySummary, ExplainedDecision, Explanation, PlanFile, PlannedWake, Report, Todo,
    UnservedInput, Wake, WorkItem, WorkItemsPage,
};
pub use workspace::{
    AttachedWorkspace, SelectedEntry, SelectedWorkspace, WorkspaceChange, Worktree, Worktrees,
};

use holon_domain::agent::ItemCounts;
use holon_domain::attempt::{TokenUsage, TransportDiagnostics};
use holon_domain::zone::UTC;
use holon_domain::{TimerId, WaitId};
use serde::Deserialize;
use serde_json::Value;

/// Identity of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Identity {
    pub agent_id: String,
    /// Agent that made this one; absent for agents of operators.
    pub lineage_parent_agent_id: Option<String>,
    /// In the response to a creation, false if the agent existed already. Absent in all others.
    pub created: Option<bool>,
}

/// A private child of an agent that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Child {
    pub identity: Identity,
    pub status: String,
    /// Task of the parent that stands for the child.
    pub supervision_task_id: String,
    pub summary: Option<String>,
    pub phase: String,
    pub blocked_reason: Option<String>,
    pub waiting_reason: Option<String>,
    pub work_summary: Option<String>,
}

impl Child {
    /// Returns what blocks the child, or else what it waits for.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        let reason = self.blocked_reason.as_ref();
        reason.or(self.waiting_reason.as_ref()).map(String::as_str)
    }
}

/// Scheduling state of an agent, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Posture {
    pub posture: String,
    /// Explanation for people in one sentence.
    pub reason: String,
    /// Time at which the agent wakes without a message; absent if nothing is planned.
    pub wakes_at: Option<String>,
}

/// Help for the operator of a stopped agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Lifecycle {
    pub operator_hint: Option<String>,
    /// Command line that resumes the agent.
    pub resume_cli_hint: Option<String>,
}

/// Model in use by an agent, with the source of that choice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Model {
    pub source: String,
    pub runtime_default_model: Option<String>,
    pub effective_model: Option<String>,
    /// Models tried in this order after `effective_model`.
    pub effective_fallback_models: Vec<String>,
    pub override_reasoning_effort: Option<String>,
    /// Most tokens that the agent's own model may think in one answer; 0 if thinking is turned off.
    pub override_thinking_tokens: Option<u32>,
    /// Fallbacks of the agent itself; absent if those of the host apply.
    pub override_fallback_models: Option<Vec<String>>,
    /// First model that the open turn requested.
    pub requested_model: Option<String>,
    /// Model that the open turn uses now.
    pub active_model: Option<String>,
    /// True if the open turn uses a fallback model.
    pub fallback_active: bool,
    pub resolved_policy: Option<ModelLimits>,
}

/// Token limits in use for a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ModelLimits {
    /// Size in tokens of request and response together.
    pub context_window_tokens: u32,
    /// Share of the context window that a prompt may fill.
    pub effective_context_window_percent: u8,
    /// Output limit in tokens for one response.
    pub max_output_tokens: u32,
    /// Origin of the context window's size.
    pub source: String,
    /// Origin of the output limit. Empty if the host does not say.
    #[serde(default)]
    pub output_source: String,
}

/// Response to a change of an agent's model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ModelChange {
    pub agent_id: String,
    /// Model in use from the next turn on.
    pub model: Model,
}

/// A task that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Task {
    pub id: String,
    pub status: String,
    pub summary: Option<String>,
    pub created_at: String,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Terminal {
    pub kind: String,
    pub reason: String,
    pub completed_at: String,
    /// Number of model rounds in the turn.
    pub rounds: u64,
}

/// Queue, turn and focus of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct State {
    pub status: String,
    /// Number of queued messages.
    pub pending: u64,
    /// Number of messages ever admitted.
    pub total_message_count: u64,
    /// Number of turns so far.
    pub turn_index: u64,
    /// Absent while no run is open.
    pub current_run_id: Option<String>,
    pub last_turn_terminal: Option<Terminal>,
    /// Newest notification of the agent.
    pub last_notification: Option<Notification>,
    /// Deliveries to operators that have not ended.
    #[serde(default)]
    pub pending_deliveries: u64,
    /// Work item in focus.
    pub current_work_item_id: Option<String>,
    /// Newest wake hint that no tick has delivered yet.
    pub pending_wake_hint: Option<WakeHint>,
}

/// A notification of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Notification {
    pub created_at: String,
    /// Beginning of its message.
    pub summary: String,
}

/// A wake hint that is not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WakeHint {
    /// Capability or source that sent the hint.
    pub key: String,
    /// Text of the operator who woke the agent by hand.
    pub reason: Option<String>,
    /// Number of hints from this source that were joined.
    #[serde(default)]
    pub count: u64,
}

/// Work items, waits and timers in an agent's status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Number of open items per scheduling class.
    pub work_item_counts: ItemCounts,
    /// Number of timers that will still fire.
    pub active_timer_count: u32,
    /// Most recently changed first.
    pub work_items: Vec<Item>,
    /// Active waits, oldest first.
    pub waiting_intents: Vec<Wait>,
    /// Active timers, oldest first.
    pub timers: Vec<Timer>,
}

/// A work item that is not completed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Item {
    pub id: String,
    pub objective: String,
    pub scheduling_state: String,
    /// Relation of the item to the agent's focus.
    #[serde(default)]
    pub focus: String,
    pub blocked_by: Option<String>,
}

/// A wait of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Wait {
    pub id: WaitId,
    pub kind: String,
    #[serde(default)]
    pub status: String,
    /// Item that waits; absent if the agent itself waits.
    pub work_item_id: Option<String>,
    pub waiting_for: String,
    /// Question to the operator; absent if the wait asks none.
    pub question: Option<WaitQuestion>,
    /// Deadline at which the wait ends; absent if it has none.
    pub due_at: Option<String>,
    /// Time at which it was declared, in the spelling of the host.
    #[serde(default)]
    pub created_at: String,
}

/// Question that a wait asks the operator.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WaitQuestion {
    pub text: String,
    #[serde(default)]
    pub choices: Vec<String>,
    /// True if every message counts as one that may answer.
    #[serde(default)]
    pub any_message: bool,
}

/// A timer of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Timer {
    pub id: TimerId,
    #[serde(default)]
    pub status: String,
    /// Milliseconds between two slots; absent for a timer that fires once and for a cron expression.
    pub interval_ms: Option<u64>,
    pub cron: Option<String>,
    /// Zone in which the cron expression is evaluated.
    pub time_zone: Option<String>,
    /// Text of the tick that the agent reads.
    pub summary: Option<String>,
    #[serde(default)]
    pub fire_count: u64,
    /// Time of the next slot.
    pub next_fire_at: Option<String>,
    /// Slots that passed without a tick of their own.
    #[serde(default)]
    pub missed_count: u64,
    /// Ticks a day of an active repeating timer.
    pub ticks_a_day: Option<u64>,
    /// Tokens a day that these ticks will use, from the agent's last ticks.
    pub tokens_a_day: Option<u64>,
}

/// Token usage over an agent's life.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub total: TokenUsage,
    /// Everything that was charged, and its cost.
    #[serde(default)]
    pub usage: Spent,
}

/// Execution environment of an agent's tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Execution {
    /// Directory in which commands start.
    pub cwd: String,
    /// Id of the active workspace. Empty in responses of older hosts.
    #[serde(default)]
    pub workspace_id: String,
    /// Workspaces that the agent may use, each with its directory.
    #[serde(default)]
    pub attached_workspaces: Vec<(String, String)>,
    #[serde(default)]
    pub policy: Policy,
    /// Advice to the operator about the workspace; absent when there is none.
    #[serde(default)]
    pub workspace_warning: Option<String>,
}

/// Restrictions that the execution backend enforces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Policy {
    pub process_execution: Confinement,
}

/// Restrictions that apply to commands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Confinement {
    /// Word for the enforced path confinement.
    pub path_confinement: String,
}

/// Status of one agent, reduced to what the client shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Agent {
    pub identity: Identity,
    pub agent: State,
    pub scheduling_posture: Posture,
    #[serde(default)]
    pub lifecycle: Lifecycle,
    #[serde(default)]
    pub model: Model,
    #[serde(default)]
    pub token_usage: Usage,
    pub execution: Execution,
    #[serde(default)]
    pub active_tasks: Vec<Task>,
    #[serde(default)]
    pub active_children: Vec<Child>,
    /// Sequence number of the newest event, from the same read.
    pub newest_seq: u64,
    #[serde(flatten)]
    pub work: Work,
    #[serde(default)]
    pub loaded_agents_md: LoadedInstructions,
    /// Zone of the operator's clock. Hosts of earlier builds do not say; times are then shown in UTC.
    #[serde(default = "utc")]
    pub operator_time_zone: String,
}

fn utc() -> String {
    UTC.to_owned()
}

/// Sources of the instruction files that an agent loads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct LoadedInstructions {
    pub user_global_source: Option<InstructionSource>,
    pub agent_source: Option<InstructionSource>,
    pub workspace_source: Option<InstructionSource>,
    /// Files that exist and are not loaded.
    pub notes: Vec<InstructionNote>,
}

/// An instruction file that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InstructionSource {
    pub path: String,
    /// `user_global`, `agent` or `workspace`.
    #[serde(default)]
    pub scope: String,
    /// The kind of file as the host names it: `agents_md` or `claude_md`.
    #[serde(default)]
    pub kind: String,
}

impl LoadedInstructions {
    /// Returns the loaded files in the order of their scopes.
    pub fn sources(&self) -> impl Iterator<Item = &InstructionSource> {
        let sources = [
            &self.user_global_source,
            &self.agent_source,
            &self.workspace_source,
        ];
        sources.into_iter().flatten()
    }
}

/// An instruction file that is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InstructionNote {
    pub path: String,
    /// The reason in words.
    pub note: String,
}

/// Workspace of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Workspace {
    /// Directory in which commands start.
    pub cwd: String,
}

/// One agent in the list of agents.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AgentListEntry {
    pub identity: Identity,
    pub status: String,
    pub scheduling_posture: Posture,
    /// Number of queued messages.
    pub pending: u64,
    #[serde(default)]
    pub active_workspace_entry: Workspace,
}

/// Message from an agent to its operator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Brief {
    pub id: String,
    /// Position among the agent's briefs. 0 if the host is too old to say it.
    #[serde(default)]
    pub seq: u64,
    #[serde(default)]
    pub agent_id: String,
    pub kind: String,
    pub created_at: String,
    pub text: String,
    /// Turn in which the brief was written.
    #[serde(default)]
    pub turn_index: u64,
    /// Remark of the runtime about the text; absent if there is none.
    pub note: Option<String>,
    /// Action required of the operator; absent when there is none.
    pub action_required: Option<Value>,
    /// Files that belong to the brief.
    #[serde(default)]
    pub attachments: Vec<Attached>,
}

/// A file that an agent attached to a brief.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Attached {
    pub name: String,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TranscriptEntry {
    /// Position in the agent's log. 0 if the host is too old to say it.
    #[serde(default)]
    pub seq: u64,
    pub created_at: String,
    pub turn_index: u64,
    pub kind: String,
    /// Model round within the turn; absent for entries outside a round.
    pub round: Option<u64>,
    /// Remaining fields, which depend on the kind.
    #[serde(default)]
    pub data: Value,
}

/// Reason for a failed run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RunFailure {
    pub kind: String,
}

/// Response of a one-shot run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Run {
    pub agent_id: String,
    /// Id of the message that carried the request.
    pub message_id: String,
    pub final_status: String,
    /// Present only while the run waits.
    pub waiting_reason: Option<String>,
    /// Present if the run waits for a suspended turn.
    pub suspension: Option<RunSuspension>,
    pub final_text: String,
    /// What the agent asks of its operator; absent if it asks nothing, and in responses of earlier hosts.
    pub action_required: Option<Value>,
    /// Author of the text, `model` or `runtime`; absent in responses of earlier hosts.
    pub final_text_source: Option<String>,
    /// Text of the model's last round as it was written. Absent if no model answered.
    pub raw_final_text: Option<String>,
    /// Remark of the runtime about the text; absent if there is none.
    pub note: Option<String>,
    /// Present only if the run failed.
    pub failure_artifact: Option<RunFailure>,
    /// Tasks that the run started.
    #[serde(default)]
    pub tasks: Vec<Value>,
    /// Open work items of the agent at the end of the run, most recently changed first.
    #[serde(default)]
    pub open_work_items: Vec<Item>,
    /// Number of all open work items, including those that are not listed.
    #[serde(default)]
    pub open_work_item_count: u64,
    #[serde(default)]
    pub token_usage: TokenUsage,
    /// What the run was charged for, and its cost.
    #[serde(default)]
    pub usage: Spent,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub model_rounds: u64,
    #[serde(default)]
    pub tool_calls: u64,
    /// Parts of the request that were not done.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Every attempt of every round.
    #[serde(default)]
    pub provider_attempt_timeline: Timeline,
}

/// Suspended turn that a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RunSuspension {
    pub reason: String,
    /// What happened. For a budget also what raises it.
    pub error: String,
    /// Time at which the turn goes on by itself. Absent if an operator has to act.
    pub until: Option<String>,
}

/// Provider attempts of a run or a round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// In the order they were made.
    pub attempts: Vec<Attempt>,
    /// Model that was requested first.
    pub requested_model_ref: String,
    /// Model that answered; absent if none did.
    pub winning_model_ref: Option<String>,
}

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Attempt {
    #[serde(default)]
    pub provider: String,
    pub model_ref: String,
    /// Absent if the attempt succeeded.
    pub failure_kind: Option<String>,
    /// Facts about a transport failure, such as the HTTP status.
    pub transport_diagnostics: Option<TransportDiagnostics>,
}

/// Availability of a model on this host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Availability {
    /// Reference in the form `provider/model`.
    pub model: String,
    pub available: bool,
    /// Present only for an unavailable model.
    pub unavailable_reason: Option<String>,
}

/// Availability of all models of a host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Models {
    pub model_availability: Vec<Availability>,
}

/// What a run or an agent was charged for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Spent {
    #[serde(default)]
    pub tokens: u64,
    /// Cost in dollars, or `unknown`. Absent if the host is an earlier build.
    #[serde(default)]
    pub cost: Option<String>,
}
