//! Shortens the results that a conversation shows.
//!
//! A result is rendered anew from its log entry, with shorter texts inside its fences. Cutting the rendered text would
//! leave parts of fences behind, and a program could write the missing ones.

use super::{Span, tokens_of};
use holon_domain::CallId;
use holon_domain::log::LogEntry;
use holon_domain::model::ConversationItem;
use holon_domain::tool::ToolEnvelope;

/// Shortens every result of a span to about `bytes`; returns true if one was shortened.
pub(super) fn shorten_all(
    span: &mut Span<'_>,
    bytes: usize,
    short_receipt: fn(&ToolEnvelope, usize) -> String,
) -> bool {
    let mut shortened = false;
    for item in &mut span.items {
        let ConversationItem::ToolResult {
            call_id, content, ..
        } = item
        else {
            continue;
        };
        // A result barely above the bound is left as it is: the notes about what is left out take room too.
        if content.len() <= bytes + bytes / 4 {
            continue;
        }
        let Some(envelope) = find(&span.entries, call_id) else {
            continue;
        };
        let short = short_receipt(envelope, bytes);
        if short.len() < content.len() {
            *content = short;
            shortened = true;
        }
    }
    if shortened {
        span.loose_tokens = tokens_of(&span.items).saturating_sub(span.pinned_tokens);
    }
    shortened
}

fn find<'a>(entries: &[&'a LogEntry], id: &CallId) -> Option<&'a ToolEnvelope> {
    entries.iter().find_map(|entry| match entry {
        LogEntry::ToolResult {
            call_id, envelope, ..
        } if call_id == id => Some(envelope),
        LogEntry::ToolResult { .. }
        | LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::Recap(_)
        | LogEntry::RuntimeFailure { .. } => None,
    })
}
