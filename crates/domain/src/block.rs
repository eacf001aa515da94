//! Content blocks of a model's answer, independent of any provider.
//!
//! Opaque provider data names the provider and model that made it and is sent back only to them.

use crate::id::CallId;
use crate::text;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of sealed reasoning for one token of it: four bytes of text, which the encryption spells in base64. The readable
/// part is a summary of the same reasoning, so only the longer of both counts.
const SEALED_BYTES_PER_TOKEN: usize = 5;

/// Data that only the provider and model that made it can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueData {
    /// Owner of the data, as `provider/model`.
    pub lineage: String,
    pub data: String,
}

/// One tool call of a model, under the runtime's own id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: CallId,
    /// Name of the tool as the model wrote it. May name no existing tool.
    pub name: String,
    /// Arguments as the model wrote them, not validated.
    pub input: Value,
    /// The provider's id for the call. Absent if the provider gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<OpaqueData>,
}

/// One piece of a model's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// Reasoning of the model, readable, encrypted or both.
    Reasoning {
        /// Readable part; empty if there is none.
        text: String,
        /// Encrypted part that is sent back to the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<OpaqueData>,
    },
    ToolCall(ToolCall),
}

/// Separator between two joined text blocks.
const BETWEEN: &str = "\n\n";

impl Block {
    /// Estimates the tokens of this block. Sealed reasoning counts, although only the model that wrote it gets it back.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        match self {
            Self::Text { text } => text::estimate_tokens(text),
            Self::Reasoning { text, opaque } => {
                let sealed = opaque.as_ref().map_or(0, |opaque| opaque.data.len());
                text::estimate_tokens(text).max(sealed / SEALED_BYTES_PER_TOKEN)
            }
            Self::ToolCall(call) => {
                text::estimate_tokens(&call.name) + text::estimate_tokens(&call.input.to_string())
            }
        }
    }
}

/// Joins the text blocks of a round.
#[must_use]
pub fn text_of(blocks: &[Block]) -> String {
    let words: Vec<&str> = texts_of(blocks).collect();
    words.join(BETWEEN)
}

fn texts_of(blocks: &[Block]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Reasoning { .. } | Block::ToolCall(_) => None,
    })
}

/// Iterates over the calls of a round, in order.
pub fn calls_of(blocks: &[Block]) -> impl Iterator<Item = &ToolCall> {
    blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text { .. } | Block::Reasoning { .. } => None,
    })
}

/// Returns the beginning of a round's text, at most a few bytes more than `bytes`. An answer may be megabytes long; a
/// preview need not copy all of it.
#[must_use]
pub fn text_beginning(blocks: &[Block], bytes: usize) -> String {
    let mut beginning = String::new();
    for text in texts_of(blocks) {
        if !beginning.is_empty() {
            beginning.push_str(BETWEEN);
        }
        // One extra character, so that a preview of the result shows that something was cut.
        let room = (bytes + char::MAX.len_utf8()).saturating_sub(beginning.len());
        let text = if beginning.is_empty() {
            text.trim_start()
        } else {
            text
        };
        beginning.push_str(text::prefix(text, room));
        if beginning.len() > bytes {
            break;
        }
    }
    beginning
}

/// Counts the characters of a round's text, joined as [`text_of`] joins it.
#[must_use]
pub fn chars_of(blocks: &[Block]) -> usize {
    let texts: Vec<usize> = texts_of(blocks).map(|text| text.chars().count()).collect();
    let between = BETWEEN.len() * texts.len().saturating_sub(1);
    texts.iter().sum::<usize>() + between
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn text_blocks(texts: &[&str]) -> Vec<Block> {
        let block = |text: &&str| Block::Text {
            text: (*text).to_owned(),
        };
        texts.iter().map(block).collect()
    }

    #[test]
    fn a_preview_of_the_beginning_is_a_preview_of_the_whole() {
        let long = "wörter ".repeat(40);
        for texts in [
            vec![],
            vec!["", "short"],
            vec!["one", "two"],
            vec!["exactly ten", "and more"],
            vec!["0123456789", "x"],
            vec![long.as_str()],
        ] {
            let blocks = text_blocks(&texts);
            let whole = text_of(&blocks);
            assert_eq!(chars_of(&blocks), whole.chars().count(), "{texts:?}");
            for bytes in [4, 10, 11, 12, 100, 1_000] {
                let of_whole = text::preview(whole.trim(), bytes);
                let of_beginning = text::preview(text_beginning(&blocks, bytes).trim(), bytes);
                assert_eq!(of_beginning, of_whole, "{texts:?} in {bytes}");
            }
        }
    }
}
