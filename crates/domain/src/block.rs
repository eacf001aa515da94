//! Blocks: what a model said, in a form no provider owns.
//!
//! Opaque provider data carries its lineage and goes back only where it came from.

use crate::id::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A provider's own data, valid only for the provider and model that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueData {
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
    pub provider_id: Option<OpaqueData>,
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
        opaque: Option<OpaqueData>,
    },
    /// A tool call.
    ToolCall(ToolCall),
}

/// What stands between two texts of a round where they are joined.
const BETWEEN: &str = "\n\n";

/// The words of a round, joined.
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

/// The calls of a round, in order.
pub fn calls_of(blocks: &[Block]) -> impl Iterator<Item = &ToolCall> {
    blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text { .. } | Block::Reasoning { .. } => None,
    })
}

/// The beginning of a round's words, at most a few bytes more than `bytes`: an answer may be megabytes long, and who
/// needs a preview copies no more of it.
#[must_use]
pub fn text_beginning(blocks: &[Block], bytes: usize) -> String {
    let mut beginning = String::new();
    for text in texts_of(blocks) {
        if !beginning.is_empty() {
            beginning.push_str(BETWEEN);
        }
        // One character more than asked for, so that a preview of it shows that something was cut.
        let room = (bytes + char::MAX.len_utf8()).saturating_sub(beginning.len());
        let text = if beginning.is_empty() {
            text.trim_start()
        } else {
            text
        };
        beginning.push_str(crate::text::prefix(text, room));
        if beginning.len() > bytes {
            break;
        }
    }
    beginning
}

/// How many characters the words of a round have, joined as [`text_of`] joins them.
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

    fn said(texts: &[&str]) -> Vec<Block> {
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
            let blocks = said(&texts);
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
