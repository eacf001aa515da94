//! The shorter forms of results and answers: collected from a request that was the first to hold them, and shown by every
//! later one, also when the turn has ended.

use super::Span;
use holon_domain::CallId;
use holon_domain::block::Block;
use holon_domain::compaction::{ShortAnswer, ShortResult, ShortTexts};
use holon_domain::log::LogEntry;
use holon_domain::model::ConversationItem;
use std::collections::HashMap;
use std::sync::Arc;

/// Collects what was shortened in the rounds that are shown.
pub(super) fn short_texts(spans: &[Span<'_>]) -> ShortTexts {
    let mut short = ShortTexts::default();
    for span in spans {
        for item in span.shortened.iter().filter_map(|at| span.items.get(*at)) {
            match item {
                ConversationItem::ToolResult {
                    call_id, content, ..
                } => short.results.push(ShortResult {
                    call_id: call_id.clone(),
                    text: content.clone(),
                }),
                ConversationItem::Assistant { blocks, .. } => short.answers.push(ShortAnswer {
                    round: span.round,
                    texts: blocks.iter().filter_map(words).cloned().collect(),
                }),
                ConversationItem::User { .. } | ConversationItem::Image(_) => {}
            }
        }
    }
    short
}

const fn words(block: &Block) -> Option<&String> {
    match block {
        Block::Text { text } => Some(text),
        Block::Reasoning { .. } | Block::ToolCall(_) => None,
    }
}

/// The shorter forms that a turn's log holds. Of several for one text the newest counts.
#[derive(Debug, Default)]
pub(super) struct ShortForms<'a> {
    results: HashMap<&'a CallId, &'a str>,
    answers: HashMap<u32, &'a [String]>,
}

impl<'a> ShortForms<'a> {
    pub(super) fn of(entries: &'a [Arc<LogEntry>]) -> Self {
        let mut forms = Self::default();
        for entry in entries {
            if let LogEntry::Shortened(short) = entry.as_ref() {
                let results = short.results.iter();
                let results = results.map(|short| (&short.call_id, short.text.as_str()));
                forms.results.extend(results);
                let answers = short.answers.iter();
                let answers = answers.map(|short| (short.round, short.texts.as_slice()));
                forms.answers.extend(answers);
            }
        }
        forms
    }

    /// Puts the stored form in place of the text of an item of a round.
    pub(super) fn apply(&self, round: u32, item: &mut ConversationItem) {
        match item {
            ConversationItem::ToolResult {
                call_id, content, ..
            } => {
                if let Some(short) = self.results.get(call_id) {
                    (*short).clone_into(content);
                }
            }
            ConversationItem::Assistant { blocks, .. } => {
                let texts = blocks.iter_mut().filter_map(|block| match block {
                    Block::Text { text } => Some(text),
                    Block::Reasoning { .. } | Block::ToolCall(_) => None,
                });
                let short = self.answers.get(&round).copied().unwrap_or_default();
                for (text, short) in texts.zip(short) {
                    short.clone_into(text);
                }
            }
            ConversationItem::User { .. } | ConversationItem::Image(_) => {}
        }
    }
}
