//! A prompt of an agent as its operator inspects it. Rebuilt for readers, never stored.

use crate::attempt::{RequestOverlap, TokenUsage};
use crate::guidance::LoadedAgentsMd;
use crate::id::{AgentId, WorkspaceId};
use crate::prompt_plan::{BlockDecision, BlockSource};
use crate::provider::{ContextReduction, ModelPolicy};
use crate::summary::ExecutionPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The prompt of an answered turn, the last one unless another was asked for, with the place in which the agent works now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptView {
    pub agent_id: AgentId,
    pub agent_home: String,
    pub workspace_id: WorkspaceId,
    pub workspace_anchor: String,
    pub execution_root: String,
    /// Directory in which commands start.
    pub cwd: String,
    pub execution_policy: ExecutionPolicy,
    /// Instruction files that the next prompt loads.
    pub loaded_agents_md: LoadedAgentsMd,
    /// Absent before the first answer of a model, and when the texts of the prompt are no longer stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<ShownPrompt>,
    /// Last answered rounds, newest first; those of one turn if it was asked for.
    pub rounds: Vec<RoundCacheUse>,
}

/// A prompt, part by part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShownPrompt {
    pub turn_index: u64,
    /// Model that answered last in the turn, as `provider/model`.
    pub model_ref: String,
    pub policy: ModelPolicy,
    /// Estimated tokens that prompt and tools may take.
    pub budget_tokens: u32,
    /// Estimated tokens of the tools on offer.
    pub tools_tokens: u64,
    /// Estimated tokens of the parts that are shown.
    pub prompt_tokens: u64,
    /// Key under which the provider may cache the lasting part of the prompt.
    pub prompt_cache_key: String,
    /// Hash of the whole prompt.
    pub context_fingerprint: String,
    /// Revision of the working memory that the prompt shows; 0 in prompts of earlier builds.
    #[serde(default)]
    pub working_memory_revision: u64,
    /// Recaps that the agent's turns had had when this turn was last answered.
    #[serde(default)]
    pub compression_epoch: u64,
    /// Parts in the order of the prompt. The last entries may be parts that the first request cut before later ones
    /// repeated its text; they have no text.
    pub blocks: Vec<PromptBlockView>,
    /// Earlier turns that stand behind the system text, oldest first. Empty in answers of older hosts, and for a turn
    /// before a later fold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread: Vec<ThreadPart>,
    /// Parts that the turn itself added to its later requests, in their order. Empty after a single round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turn_parts: Vec<TurnPart>,
    /// Estimated tokens of those parts that are shown.
    #[serde(default)]
    pub turn_tokens: u64,
    /// Estimated tokens of the part that stays the same from request to request: the tools and the system text.
    #[serde(default)]
    pub fixed_tokens: u64,
    /// Places inside that part at which a provider with marks (`anthropic_messages`) may be told to cache. Further marks
    /// move along with the end of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_marks: Vec<CacheMark>,
}

/// A place at which a provider may cache everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheMark {
    /// Part behind which the mark stands.
    pub after: BlockSource,
    /// Estimated tokens up to there, tools included.
    pub tokens: u64,
}

/// A part that a turn added to its requests after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnPart {
    pub kind: TurnPartKind,
    /// First round that the part stands for. For a message and a reminder, the round after which it came.
    pub first_round: u32,
    pub last_round: u32,
    /// Estimated tokens. Results of rounds count as a whole; a request under a small window shortens them.
    pub tokens: u64,
    /// Absent for rounds, which the transcript shows, and for a recap that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The kind of one part of a turn's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnPartKind {
    /// Stands for rounds that are left out.
    Recap,
    /// A later recap stands for its rounds too.
    ReplacedRecap,
    /// A message that joined the turn.
    Message,
    /// A reminder, or a request to go on, that the runtime wrote.
    Reminder,
    /// Rounds that are shown as they were.
    Rounds,
}

/// The prompt that an agent's next turn would begin with, if a given text opened it now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DraftPrompt {
    pub turn_index: u64,
    /// Model that the turn would ask first, as `provider/model`.
    pub model_ref: String,
    pub policy: ModelPolicy,
    /// Estimated tokens that prompt and tools may take.
    pub budget_tokens: u32,
    /// Estimated tokens of the tools on offer.
    pub tools_tokens: u64,
    /// Estimated tokens of the parts that would be shown.
    pub prompt_tokens: u64,
    /// Parts in the order of the prompt.
    pub blocks: Vec<PromptBlockView>,
    /// Earlier turns that would stand behind the system text, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread: Vec<ThreadPart>,
}

/// An earlier turn as a prompt shows it, or the recap of the turns before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPart {
    /// Absent for the recap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Messages, answers and results.
    pub items: usize,
    pub tokens: u64,
    /// Text of the recap. Absent for a turn, which the transcript shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A part of a prompt with the decision about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptBlockView {
    #[serde(flatten)]
    pub decision: BlockDecision,
    /// Absent if the part is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Input tokens of one round, and the part that a provider's cache served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundCacheUse {
    pub turn_index: u64,
    /// Number of the round in its turn, counted from 1.
    pub round: u32,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    /// Share of the input that was read from the cache, from 0 to 1. Absent if the provider reported no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_share: Option<f64>,
    /// What the provider's servers left out of the request. Absent if the request did not allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_management: Option<ContextReduction>,
    /// Bytes of the request's tools and texts. Absent in rounds of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Bytes at its beginning that are those of the agent's request before, counted in whole parts. Absent if that one is
    /// not known, as after a start of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_bytes: Option<u64>,
}

impl RoundCacheUse {
    /// Takes the figures from the usage of a round.
    #[must_use]
    pub fn new(
        turn_index: u64,
        round: u32,
        usage: &TokenUsage,
        context_management: Option<ContextReduction>,
        overlap: Option<RequestOverlap>,
    ) -> Self {
        Self {
            turn_index,
            round,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cache_read_tokens,
            cached_share: usage.cached_share(),
            context_management,
            request_bytes: overlap.map(|overlap| overlap.bytes),
            same_bytes: overlap.and_then(|overlap| overlap.same_bytes),
        }
    }
}
