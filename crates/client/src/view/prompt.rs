//! The last prompt of an agent.

use super::LoadedInstructions;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The prompt of an agent's last turn, with the place in which the agent works now.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Prompt {
    pub agent_id: String,
    pub agent_home: String,
    pub workspace_id: String,
    pub workspace_anchor: String,
    pub execution_root: String,
    /// Directory in which commands start.
    pub cwd: String,
    #[serde(default)]
    pub execution_policy: ExecutionRules,
    #[serde(default)]
    pub loaded_agents_md: LoadedInstructions,
    /// Absent before the first answer of a model.
    pub prompt: Option<ShownPrompt>,
    /// Last answered rounds, newest first.
    #[serde(default)]
    pub rounds: Vec<RoundCache>,
}

/// Rules under which commands run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ExecutionRules {
    pub backend: String,
    pub process_execution_exposed: bool,
    pub managed_worktree_supported: bool,
    /// Degree of enforcement of each of the runtime's own boundaries, by its name.
    pub resource_authority: BTreeMap<String, String>,
    /// Degree of enforcement of each boundary around commands, by its name.
    pub process_execution: BTreeMap<String, String>,
}

/// Limits of the model that a prompt was made for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct PromptPolicy {
    /// Tokens of request and answer together.
    pub context_window_tokens: u64,
    /// Share of the window that a prompt may take, in percent.
    pub effective_context_window_percent: u64,
    /// Tokens of one answer.
    pub max_output_tokens: u64,
    /// Source of the context window.
    pub source: String,
    /// Source of the output limit.
    pub output_source: String,
}

/// A prompt, part by part.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ShownPrompt {
    pub turn_index: u64,
    pub model_ref: String,
    #[serde(default)]
    pub policy: PromptPolicy,
    /// Estimated tokens that prompt and tools may take.
    pub budget_tokens: u64,
    pub tools_tokens: u64,
    pub prompt_tokens: u64,
    pub prompt_cache_key: String,
    pub context_fingerprint: String,
    /// Revision of the working memory that the prompt shows.
    #[serde(default)]
    pub working_memory_revision: u64,
    /// Recaps that the agent's turns had had.
    #[serde(default)]
    pub compression_epoch: u64,
    pub blocks: Vec<PromptBlock>,
    /// Earlier turns behind the system text, oldest first.
    #[serde(default)]
    pub thread: Vec<ThreadPart>,
    /// Parts that the turn added to its later requests.
    #[serde(default)]
    pub turn_parts: Vec<TurnPart>,
    /// Estimated tokens of those that are shown.
    #[serde(default)]
    pub turn_tokens: u64,
    /// Estimated tokens of the tools and the system text; 0 in answers of earlier hosts.
    #[serde(default)]
    pub fixed_tokens: u64,
    /// Places inside that part at which a provider with marks may be told to cache.
    #[serde(default)]
    pub cache_marks: Vec<CacheMark>,
}

/// A place at which a provider may cache everything before it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CacheMark {
    /// Part behind which the mark stands.
    pub after: String,
    /// Estimated tokens up to there, tools included.
    pub tokens: u64,
}

/// An earlier turn as a prompt shows it, or the recap of the turns before it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ThreadPart {
    /// Absent for the recap.
    pub turn_index: Option<u64>,
    /// Messages, answers and results.
    pub items: u64,
    pub tokens: u64,
    /// Text of the recap. Absent for a turn.
    pub text: Option<String>,
}

/// A part that a turn added to its requests after the first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TurnPart {
    /// `recap`, `replaced_recap`, `message`, `reminder` or `rounds`.
    pub kind: String,
    pub first_round: u64,
    pub last_round: u64,
    /// Tokens of the text by the runtime's own estimate.
    pub tokens: u64,
    /// Absent for rounds and for a recap that was replaced.
    pub text: Option<String>,
}

/// A part of a prompt with the decision about it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PromptBlock {
    pub source: String,
    pub stability: String,
    /// True if the part is shown in some form under every budget.
    #[serde(default)]
    pub pinned: bool,
    /// Log position of an earlier message.
    pub log_seq: Option<u64>,
    /// Estimated tokens of the whole part.
    pub from_tokens: u64,
    /// Estimated tokens that are shown.
    pub to_tokens: u64,
    /// `kept`, `shortened` or `cut`.
    pub outcome: String,
    /// Absent if the part is shown whole.
    pub reason: Option<String>,
    /// Absent if the part is left out.
    pub text: Option<String>,
}

/// Input tokens of one round, and the part that a provider's cache served.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RoundCache {
    pub turn_index: u64,
    pub round: u64,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    /// From 0 to 1. Absent if the provider reported no input.
    pub cached_share: Option<f64>,
    /// What the provider's servers left out of the request. Absent if the request did not allow it.
    #[serde(default)]
    pub context_management: Option<ReducedContext>,
    /// Bytes of the request's tools and texts. Absent in answers of earlier hosts.
    pub request_bytes: Option<u64>,
    /// Bytes at its beginning that are those of the request before. Absent if that one is not known.
    pub same_bytes: Option<u64>,
}

/// Old context that a provider's servers left out of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ReducedContext {
    pub cleared_tool_uses: u64,
    pub cleared_input_tokens: u64,
    /// Encrypted items that the server made of older ones.
    pub compactions: u64,
}
