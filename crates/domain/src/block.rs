//! Blocks: what a model said, in a form no provider owns.
//!
//! Opaque provider data carries its lineage and goes back only where it came from.

use crate::id::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A provider's own data, valid only for the provider and model that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// `provider/model` it belongs to.
    pub lineage: String,
    /// The data.
    pub data: String,
}

/// One call the model asked for, under the runtime's own id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Minted by the runtime.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them.
    pub input: Value,
    /// The provider's own id for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<Opaque>,
}

/// One piece of an assistant round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// Reasoning, shown or sealed.
    Reasoning {
        /// What of it may be read.
        text: String,
        /// The sealed form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A tool call.
    ToolCall(ToolCall),
}

/// The words of a round, joined.
#[must_use]
pub fn text_of(blocks: &[Block]) -> String {
    let words: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Reasoning { .. } | Block::ToolCall(_) => None,
        })
        .collect();
    words.join("\n\n")
}

/// The calls of a round, in order.
pub fn calls_of(blocks: &[Block]) -> impl Iterator<Item = &ToolCall> {
    blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text { .. } | Block::Reasoning { .. } => None,
    })
}
