//! Provider-neutral model request and answer: the prompt frame, the conversation and the tools.
//!
//! Transports convert them to their wire formats. Nothing of a wire format appears here.

mod chain;
mod failure;
mod price;

pub use chain::{ModelChain, ModelChoice, ModelOptions};
pub use failure::{ModelFailure, ModelFailureKind};
pub use price::ModelPrice;

use crate::attempt::TokenUsage;
use crate::block::Block;
use crate::image::{AttachedImage, ShownImage};
use crate::limits::MODEL_REF_CHARACTERS;
use crate::provider::{ContextReduction, ReasoningEffort, ReasoningPolicy};
use crate::text;
use crate::thread::ThreadTurn;
use crate::tool_set::ToolSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Reference to a model, spelled `provider/model`. For the built-in `scripted` provider the model part is the path of a
/// script.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    provider: String,
    model: String,
}

/// Error for a text that is not a model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelRefError {
    #[error(
        "{text:?} is not a model reference; write it as provider/model, for example scripted/hello.json"
    )]
    Unsplit { text: String },
    #[error(
        "the model reference has {characters} characters and the limit is {MODEL_REF_CHARACTERS}"
    )]
    TooLong { characters: usize },
}

impl ModelRef {
    /// Splits `provider/model` at the first slash.
    ///
    /// # Errors
    /// Fails if either side is empty or the text is longer than `limits::MODEL_REF_CHARACTERS`.
    pub fn parse(text: &str) -> Result<Self, ModelRefError> {
        let characters = text.trim().chars().count();
        if characters > MODEL_REF_CHARACTERS {
            return Err(ModelRefError::TooLong { characters });
        }
        Self::split(text)
    }

    fn split(text: &str) -> Result<Self, ModelRefError> {
        match text.trim().split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
            Some(_) | None => Err(ModelRefError::Unsplit {
                text: text.to_owned(),
            }),
        }
    }

    /// Spells a model or its absence as events and records do.
    #[must_use]
    pub fn spell(model: Option<&Self>) -> String {
        model.map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    /// Spells each model of a list.
    #[must_use]
    pub fn spell_all(models: &[Self]) -> Vec<String> {
        models.iter().map(ToString::to_string).collect()
    }

    /// Returns the id of the provider.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Returns the name of the model at that provider.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl TryFrom<String> for ModelRef {
    type Error = ModelRefError;
    /// Reads a stored reference. One of an earlier build may be longer than a new one.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::split(&text)
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> Self {
        model.to_string()
    }
}

/// Lifetime of a prompt block, which decides where a provider's cache can help.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// Unchanged for the life of the build.
    Stable,
    /// Unchanged for the agent and its workspace.
    AgentScoped,
    TurnScoped,
}

/// One block of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBlock {
    pub text: String,
    pub stability: Stability,
    /// True if a provider's cache may end after this block.
    pub cache_breakpoint: bool,
}

/// Identity of the cached part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCache {
    pub agent_id: String,
    /// Equal for turns whose stable and agent-scoped parts are equal.
    pub prompt_cache_key: String,
    /// Hash of the whole context. For diagnosis only.
    pub context_fingerprint: String,
    /// Revision of the working memory when the turn began.
    pub working_memory_revision: u64,
    /// Number of times that history was compressed.
    pub compression_epoch: u64,
    /// How long the provider is asked to keep what it caches.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub life: CacheLife,
}

/// How long a provider is asked to keep what it caches of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheLife {
    /// As long as it does without a word.
    #[default]
    Usual,
    /// As long as it offers.
    Long,
}

/// How long a provider keeps what it caches, in milliseconds from the last use on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLives {
    /// 0 if it does not tell.
    pub usual_ms: u64,
    /// Life that a request may ask for. 0 if the provider offers none.
    pub long_ms: u64,
}

impl CacheLives {
    /// Returns the life that pays for an agent whose last two rests were this long: the long one if only that outlasts
    /// one of them. A question between two ticks does not change the rhythm.
    #[must_use]
    pub fn for_rests(self, rests_ms: [u64; 2]) -> CacheLife {
        let pays = |rest: u64| self.usual_ms < rest && rest <= self.long_ms;
        if self.usual_ms > 0 && rests_ms.into_iter().any(pays) {
            CacheLife::Long
        } else {
            CacheLife::Usual
        }
    }

    /// Returns the milliseconds after which what was cached with this life has surely expired.
    #[must_use]
    pub const fn millis(self, life: CacheLife) -> u64 {
        match life {
            CacheLife::Usual => self.usual_ms,
            CacheLife::Long => self.long_ms,
        }
    }
}

/// Provider-neutral prompt of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFrame {
    /// The system blocks joined, for transports without blocks.
    pub system_prompt: String,
    pub system_blocks: Vec<PromptBlock>,
    /// Knowledge for the agent; the current input is last.
    pub context_blocks: Vec<PromptBlock>,
    pub cache: PromptCache,
}

/// One item of the conversation after the frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ConversationItem {
    /// An earlier answer of a model.
    Assistant {
        /// Model that gave the answer, as `provider/model`. Opaque data goes back only to this one.
        model_ref: String,
        blocks: Vec<Block>,
    },
    /// Result of a tool call.
    ToolResult {
        call_id: crate::CallId,
        /// Text that the model reads as the result.
        content: String,
        is_error: bool,
        /// Image that the call viewed. Only for a model that takes images.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<ShownImage>,
    },
    /// Text added after the frame: an interjection or a continuation prompt.
    User { text: String },
    /// Image of the message whose text stands before it: the current input, an interjection, or that of an earlier turn.
    Image(AttachedImage),
}

/// Request for one model round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    pub model: ModelRef,
    /// Number of the round in its turn, counted from 1.
    pub round: u32,
    pub frame: PromptFrame,
    /// Earlier turns of the agent. They stand behind the system text and before the frame's context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread: Vec<Arc<ThreadTurn>>,
    /// Answers and results of earlier rounds of the turn, with the texts that joined between.
    pub conversation: Vec<ConversationItem>,
    /// Tools that the model may call.
    pub tools: ToolSet,
    /// Most tokens that the model may write.
    pub max_output_tokens: u32,
    /// Absent if the provider's default applies.
    pub reasoning_effort: Option<ReasoningEffort>,
    pub reasoning: ReasoningPolicy,
    /// Answered rounds of this agent before the turn. The scripted provider continues from there.
    pub prior_rounds: u64,
}

impl ModelRequest {
    /// Estimates the tokens of the whole request: prompt, earlier turns, conversation and tools.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let frame = self
            .frame
            .system_blocks
            .iter()
            .chain(&self.frame.context_blocks);
        let prompt: usize = frame.map(|block| text::estimate_tokens(&block.text)).sum();
        let said: usize = self
            .conversation
            .iter()
            .map(ConversationItem::estimated_tokens)
            .sum();
        let earlier: usize = self.thread.iter().map(|turn| turn.tokens).sum();
        let tools = self.tools.estimated_tokens();
        u64::try_from(prompt + earlier + said + tools).unwrap_or(u64::MAX)
    }
}

impl ConversationItem {
    /// Estimates the tokens of this item. Sealed reasoning counts, although only the model that wrote it gets it back.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        match self {
            Self::Assistant { blocks, .. } => blocks.iter().map(Block::estimated_tokens).sum(),
            Self::ToolResult { content, image, .. } => {
                let image = image.as_ref().map_or(0, ShownImage::estimated_tokens);
                text::estimate_tokens(content) + image
            }
            Self::User { text } => text::estimate_tokens(text),
            Self::Image(attached) => attached.estimated_tokens(),
        }
    }
}

/// Reason for which a model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// The answer was cut off by the output limit.
    MaxOutputTokens,
    /// The model refused to answer, in its own words or in none.
    Refusal,
    /// A content filter of the provider ended the answer, so its text may break off anywhere.
    ContentFilter,
}

impl StopReason {
    /// Returns true if the calls of the answer must not be run.
    #[must_use]
    pub const fn voids_calls(self) -> bool {
        match self {
            Self::Refusal | Self::ContentFilter => true,
            Self::EndTurn | Self::ToolUse | Self::MaxOutputTokens => false,
        }
    }
}

/// A call as the provider named it, before the runtime gave it an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The provider's id. Absent if the provider has none.
    pub provider_id: Option<String>,
    pub name: String,
    pub input: Value,
}

/// One piece of a provider's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyBlock {
    Text {
        text: String,
    },
    Reasoning {
        /// Readable part; empty if there is none.
        text: String,
        /// Encrypted part that is sent back to the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    Call(RequestedCall),
}

/// Answer of a provider to one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    pub blocks: Vec<ReplyBlock>,
    pub stop_reason: StopReason,
    pub usage: TokenUsage,
    /// What the server left out of the request. Absent if the request did not allow it; with zero counts if it did and
    /// the server left out nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_management: Option<ContextReduction>,
}

impl ModelReply {
    /// Removes repeated calls. Some servers repeat a call with its id; that is one call. The same id with other
    /// arguments is another call, and its id is discarded.
    #[must_use]
    pub fn without_repeats(mut self) -> Self {
        let mut seen: Vec<RequestedCall> = Vec::new();
        self.blocks.retain(|block| match block {
            ReplyBlock::Call(call) if call.provider_id.is_some() => {
                let new = !seen.contains(call);
                seen.push(call.clone());
                new
            }
            ReplyBlock::Call(_) | ReplyBlock::Text { .. } | ReplyBlock::Reasoning { .. } => true,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::OpaqueData;

    #[test]
    fn sealed_reasoning_counts_by_its_size_and_its_summary_does_not_count_again() {
        let item = |text: &str, sealed: Option<usize>| ConversationItem::Assistant {
            model_ref: "a/b".to_owned(),
            blocks: vec![Block::Reasoning {
                text: text.to_owned(),
                opaque: sealed.map(|bytes| OpaqueData {
                    lineage: "a/b".to_owned(),
                    data: "x".repeat(bytes),
                }),
            }],
        };
        let words = "It thought about the door. ".repeat(40);
        let readable = item(&words, None).estimated_tokens();
        assert!(readable > 200, "{readable}");
        assert_eq!(item("", Some(5_000)).estimated_tokens(), 1_000);
        assert_eq!(item(&words, Some(5_000)).estimated_tokens(), 1_000);
        assert_eq!(item(&words, Some(50)).estimated_tokens(), readable);
    }

    #[test]
    fn a_call_repeated_under_its_id_is_one_call_and_another_call_stays() {
        let call = |id: Option<&str>, cmd: &str| {
            ReplyBlock::Call(RequestedCall {
                provider_id: id.map(str::to_owned),
                name: "ExecCommand".to_owned(),
                input: serde_json::json!({ "cmd": cmd }),
            })
        };
        let reply = |blocks| ModelReply {
            blocks,
            stop_reason: StopReason::ToolUse,
            usage: TokenUsage::default(),
            context_management: None,
        };
        let said = reply(vec![
            call(Some("c1"), "push"),
            call(Some("c1"), "push"),
            call(Some("c1"), "pull"),
            call(Some("c2"), "push"),
            call(None, "push"),
            call(None, "push"),
        ]);
        let kept = reply(vec![
            call(Some("c1"), "push"),
            call(Some("c1"), "pull"),
            call(Some("c2"), "push"),
            call(None, "push"),
            call(None, "push"),
        ]);
        assert_eq!(said.without_repeats(), kept);
    }

    #[test]
    fn a_model_reference_splits_at_the_first_slash_so_script_paths_survive() {
        let model = ModelRef::parse("scripted//tmp/a/b.json").expect("a reference");
        assert_eq!(
            (model.provider(), model.model()),
            ("scripted", "/tmp/a/b.json")
        );
        for bad in ["", "scripted", "/x", "scripted/", "  "] {
            assert!(ModelRef::parse(bad).is_err(), "{bad:?} is no reference");
        }
    }

    #[test]
    fn a_new_model_reference_is_bounded_and_a_stored_one_stays_readable() {
        let long = |characters: usize| format!("p/{}", "ü".repeat(characters - 2));
        assert!(ModelRef::parse(&long(MODEL_REF_CHARACTERS)).is_ok());
        let characters = MODEL_REF_CHARACTERS + 1;
        let refused = ModelRef::parse(&long(characters));
        assert_eq!(refused, Err(ModelRefError::TooLong { characters }));
        let stored = ModelRef::try_from(long(characters)).expect("stored");
        assert_eq!(stored.to_string().chars().count(), characters);
    }
}
