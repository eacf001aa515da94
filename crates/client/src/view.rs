//! What this build reads of answers. Words of closed sets (a status, a kind, a reason) are text, spelled as the host
//! spells them; what only some hosts say has a default.

use holon_domain::agent::ItemCounts;
use holon_domain::attempt::{TokenUsage, TransportDiagnostics};
use serde::Deserialize;
use serde_json::Value;

/// Who an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Identity {
    /// Its name.
    pub agent_id: String,
}

/// Why an agent is where it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Posture {
    /// The word.
    pub posture: String,
    /// The sentence.
    pub reason: String,
    /// When it wakes by itself, if it does.
    pub wakes_at: Option<String>,
}

/// What an operator can do about a stopped agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Lifecycle {
    /// What to know.
    pub operator_hint: Option<String>,
    /// What to type.
    pub resume_cli_hint: Option<String>,
}

/// Which model an agent asks, and why that one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Model {
    /// Who chose it.
    pub source: String,
    /// The host's default.
    pub runtime_default_model: Option<String>,
    /// The one that is asked.
    pub effective_model: Option<String>,
    /// Then these.
    pub effective_fallback_models: Vec<String>,
    /// How hard it should think.
    pub override_reasoning_effort: Option<String>,
    /// The model the open turn asked first.
    pub requested_model: Option<String>,
    /// The model the open turn asks now.
    pub active_model: Option<String>,
    /// Whether the open turn had to turn to another model.
    pub fallback_active: bool,
    /// The figures it is asked by.
    pub resolved_policy: Option<Figures>,
}

/// The figures a model is asked by.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Figures {
    /// Tokens of request and answer together.
    pub context_window_tokens: u32,
    /// How much of it a prompt may take.
    pub effective_context_window_percent: u8,
    /// Tokens one answer may take.
    pub max_output_tokens: u32,
    /// Where the window comes from.
    pub source: String,
}

/// An agent whose model was changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Chosen {
    /// Whose.
    pub agent_id: String,
    /// What it asks from now on.
    pub model: Model,
}

/// A task that is not over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Task {
    /// Which.
    pub id: String,
    /// Where it stands.
    pub status: String,
    /// What it is for.
    pub summary: Option<String>,
    /// Since when it runs.
    pub created_at: String,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Terminal {
    /// In which of two ways.
    pub kind: String,
    /// Why.
    pub reason: String,
    /// When.
    pub completed_at: String,
    /// After how many model rounds.
    pub rounds: u64,
}

/// The agent's state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct State {
    /// How it is.
    pub status: String,
    /// Messages that are queued.
    pub pending: u64,
    /// Messages there ever were.
    pub total_message_count: u64,
    /// Turns so far.
    pub turn_index: u64,
    /// The open run.
    pub current_run_id: Option<String>,
    /// How the last turn ended.
    pub last_turn_terminal: Option<Terminal>,
    /// The work item that has the focus.
    pub current_work_item_id: Option<String>,
    /// The newest wake hint that no tick has told the agent of.
    pub pending_wake_hint: Option<Hint>,
}

/// A wake hint that is still to be told.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hint {
    /// The capability or source it came through.
    pub key: String,
    /// The words of the operator who woke the agent by hand.
    pub reason: Option<String>,
}

/// The work of an agent, as far as its status tells it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Open items by what the scheduler may do with them.
    pub work_item_counts: ItemCounts,
    /// Timers that will still fire.
    pub active_timer_count: u32,
    /// Open items, newest change first.
    pub work_items: Vec<Item>,
    /// Active waits, oldest first.
    pub waiting_intents: Vec<Wait>,
    /// Active timers, oldest first.
    pub timers: Vec<Timer>,
}

/// An open work item.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Item {
    pub id: String,
    pub objective: String,
    pub scheduling_state: String,
    pub blocked_by: Option<String>,
}

/// An active wait.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Wait {
    pub id: String,
    pub kind: String,
    pub waiting_for: String,
    /// When it ends at the latest, if a time ends it.
    pub due_at: Option<String>,
}

/// An active timer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Timer {
    /// Its next slot.
    pub next_fire_at: Option<String>,
}

/// Tokens over an agent's life.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All of them.
    pub total: TokenUsage,
}

/// Where an agent's tools run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Execution {
    /// The directory its commands start in.
    pub cwd: String,
    /// What is enforced.
    #[serde(default)]
    pub policy: Policy,
    /// What an operator should change about the workspace. Absent when it is as it should be.
    #[serde(default)]
    pub workspace_warning: Option<String>,
}

/// What a backend confines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// What commands are kept to.
    pub process_execution: Confinement,
}

/// What commands are kept to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Confinement {
    /// Whether they are kept to some paths.
    pub path_confinement: String,
}

/// One agent, concisely.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Agent {
    /// Who it is.
    pub identity: Identity,
    /// How it is.
    pub agent: State,
    /// Why, and what wakes it.
    pub scheduling_posture: Posture,
    /// What an operator can do.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// Which model it asks.
    #[serde(default)]
    pub model: Model,
    /// What it has used.
    #[serde(default)]
    pub token_usage: Usage,
    /// Where its tools run.
    pub execution: Execution,
    /// Its tasks that are not over.
    #[serde(default)]
    pub active_tasks: Vec<Task>,
    /// Its newest event, from the same read.
    pub newest_seq: u64,
    /// Its work items, waits and timers.
    #[serde(flatten)]
    pub work: Work,
}

/// Where an agent works.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Workspace {
    /// The directory its commands start in.
    pub cwd: String,
}

/// One agent in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Listed {
    /// Who it is.
    pub identity: Identity,
    /// How it is.
    pub status: String,
    /// Why.
    pub scheduling_posture: Posture,
    /// Messages that are queued.
    pub pending: u64,
    /// Where it works.
    #[serde(default)]
    pub active_workspace_entry: Workspace,
}

/// What an agent told its operator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Brief {
    /// Which.
    pub id: String,
    /// Its form.
    pub kind: String,
    /// When it was written.
    pub created_at: String,
    /// Its words.
    pub text: String,
    /// What the operator has to do.
    pub action_required: Option<Value>,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entry {
    /// When.
    pub created_at: String,
    /// In which turn.
    pub turn_index: u64,
    /// What it is.
    pub kind: String,
    /// Which round.
    pub round: Option<u64>,
    /// The rest.
    #[serde(default)]
    pub data: Value,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RunFailure {
    /// In one word.
    pub kind: String,
}

/// The answer of a one-shot run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Run {
    /// Who answered.
    pub agent_id: String,
    /// The request.
    pub message_id: String,
    /// How it stands.
    pub final_status: String,
    /// What it waits for.
    pub waiting_reason: Option<String>,
    /// The answer.
    pub final_text: String,
    /// Why it failed.
    pub failure_artifact: Option<RunFailure>,
    /// Managed executions of the run.
    #[serde(default)]
    pub tasks: Vec<Value>,
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// Model rounds.
    #[serde(default)]
    pub model_rounds: u64,
    /// Tool calls.
    #[serde(default)]
    pub tool_calls: u64,
    /// Every try of every round.
    #[serde(default)]
    pub provider_attempt_timeline: Timeline,
}

/// The tries of a run or a round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// In order.
    pub attempts: Vec<Attempt>,
    /// The model that was asked for.
    pub requested_model_ref: String,
    /// The model that answered.
    pub winning_model_ref: Option<String>,
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Attempt {
    /// The provider.
    #[serde(default)]
    pub provider: String,
    /// The model.
    pub model_ref: String,
    /// Why it failed.
    pub failure_kind: Option<String>,
    /// Facts about a transport failure.
    pub transport_diagnostics: Option<TransportDiagnostics>,
}

/// Whether a model can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Availability {
    /// The model, as `provider/model`.
    pub model: String,
    /// Whether it can be asked.
    pub available: bool,
    /// Why not.
    pub unavailable_reason: Option<String>,
}

/// The models a host knows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Models {
    /// Which of them can be asked here and now.
    pub model_availability: Vec<Availability>,
}
