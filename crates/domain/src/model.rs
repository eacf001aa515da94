//! The provider-neutral request and answer: the prompt frame, the conversation, the tool catalog.
//!
//! Transports lower this to their wire format; nothing of a wire format leaks back.

mod chain;
mod failure;

pub use chain::{ModelChain, ModelChoice};
pub use failure::{ModelFailure, ModelFailureKind};

use crate::attempt::TokenUsage;
use crate::block::Block;
use crate::provider::ReasoningEffort;
use crate::text;
use crate::tool::OfferedTool;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `provider/model`. For the built-in `scripted` provider the model part is the path of a script.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    provider: String,
    model: String,
}

/// Why a text is not a model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a model reference; write it as provider/model, for example scripted/hello.json"
)]
pub struct ModelRefError {
    text: String,
}

impl ModelRef {
    /// Splits `provider/model` at the first slash.
    ///
    /// # Errors
    /// When either side is empty.
    pub fn parse(text: &str) -> Result<Self, ModelRefError> {
        match text.trim().split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
            Some(_) | None => Err(ModelRefError {
                text: text.to_owned(),
            }),
        }
    }

    /// A model or its absence, as events and records spell it.
    #[must_use]
    pub fn spell(model: Option<&Self>) -> String {
        model.map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    /// The provider id.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model name at that provider.
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
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> Self {
        model.to_string()
    }
}

/// How long a block of the prompt stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// As long as the build.
    Stable,
    /// As long as the agent and its workspace.
    AgentScoped,
    /// This turn only.
    TurnScoped,
}

/// One block of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBlock {
    /// Its words.
    pub text: String,
    /// How long they stay.
    pub stability: Stability,
    /// Whether a provider's cache may end here.
    pub cache_breakpoint: bool,
}

/// Identity of the cached part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCache {
    /// Whose prompt it is.
    pub agent_id: String,
    /// Same for turns whose stable and agent-scoped parts are the same.
    pub prompt_cache_key: String,
    /// Of the whole context; diagnostic only.
    pub context_fingerprint: String,
    /// Revision of working memory.
    pub working_memory_revision: u64,
    /// How often history was compressed.
    pub compression_epoch: u64,
}

/// The prompt before any transport has seen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFrame {
    /// The system blocks joined, for transports without blocks.
    pub system_prompt: String,
    /// Policy and instructions.
    pub system_blocks: Vec<PromptBlock>,
    /// What the agent should know; the current input stands last.
    pub context_blocks: Vec<PromptBlock>,
    /// Cache identity.
    pub cache: PromptCache,
}

/// One item of the conversation after the frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ConversationItem {
    /// What the model said.
    Assistant {
        /// The model that said it.
        model_ref: String,
        /// Its blocks.
        blocks: Vec<Block>,
    },
    /// What a tool answered.
    ToolResult {
        /// The call.
        call_id: crate::CallId,
        /// The model-visible receipt.
        content: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// Words put in after the frame: an interjection or a continuation prompt.
    User {
        /// The words.
        text: String,
    },
}

/// One provider round's request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The model asked for.
    pub model: ModelRef,
    /// Counted over the turn, from 1.
    pub round: u32,
    /// The prompt.
    pub frame: PromptFrame,
    /// What was said since.
    pub conversation: Vec<ConversationItem>,
    /// The tools on offer.
    pub tools: Vec<OfferedTool>,
    /// The most the model may write.
    pub max_output_tokens: u32,
    /// How hard it should think, when somebody said.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How many rounds of this agent ended with an answer before this turn; scripts continue from here.
    pub prior_rounds: u64,
}

impl ModelRequest {
    /// Estimated tokens the model reads: the prompt, the conversation and the tools.
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
        let tool = |tool: &OfferedTool| {
            let schema = tool.parameters.to_string();
            text::estimate_tokens(&tool.name)
                + text::estimate_tokens(&tool.description)
                + text::estimate_tokens(&schema)
        };
        let tools: usize = self.tools.iter().map(tool).sum();
        u64::try_from(prompt + said + tools).unwrap_or(u64::MAX)
    }
}

impl ConversationItem {
    /// Estimated tokens the model reads of it.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        let block_tokens = |block: &Block| match block {
            Block::Text { text } | Block::Reasoning { text, .. } => text::estimate_tokens(text),
            Block::ToolCall(call) => {
                text::estimate_tokens(&call.name) + text::estimate_tokens(&call.input.to_string())
            }
        };
        match self {
            Self::Assistant { blocks, .. } => blocks.iter().map(block_tokens).sum(),
            Self::ToolResult { content, .. } => text::estimate_tokens(content),
            Self::User { text } => text::estimate_tokens(text),
        }
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools.
    ToolUse,
    /// It hit the output limit.
    MaxOutputTokens,
    /// It would not.
    Refusal,
}

/// A call as the provider named it, before the runtime minted an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The provider's id, if it has one.
    pub provider_id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyBlock {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// Reasoning.
    Reasoning {
        /// What of it may be read.
        text: String,
        /// The sealed form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// A call.
    Call(RequestedCall),
}

/// A provider's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// In order.
    pub blocks: Vec<ReplyBlock>,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// What it cost.
    pub usage: TokenUsage,
}

impl ModelReply {
    /// The answer with every call once. Some servers repeat a call under its id; that is still one call, while the
    /// same id over other arguments is another call with an id that is none.
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
}
