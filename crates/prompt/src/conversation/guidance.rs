//! Keeps the guidance of a workspace that the turn entered, after the round that entered it was folded.
//!
//! The frame shows the guidance of the workspace in which the turn began; that of a later one stands in the result of the
//! call. The text is taken from the log each time. Its bound is a power of two, so that a small change of the room does
//! not change it and a provider's cache stays valid.

use super::{ConversationInput, LogView};
use crate::{entered, instructions, skills};
use holon_domain::log::LogEntry;
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use serde_json::Value;

/// Largest part of the room, as a divisor, and the fewest tokens in any room.
const SHARE: usize = 4;
const LEAST_TOKENS: usize = 256;

/// Guidance that the turn's newest change of the workspace told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EnteredGuidance {
    /// Round that entered the workspace.
    pub(super) round: u32,
    pub(super) text: String,
}

/// Finds the newest guidance in the turn's log.
pub(super) fn find(log: LogView<'_>) -> Option<EnteredGuidance> {
    let (round, whole) = log.entries.iter().rev().find_map(|entry| match &**entry {
        LogEntry::ToolResult {
            round, envelope, ..
        } => (log.entered_guidance)(envelope).map(|whole| (*round, whole)),
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::RuntimeFailure { .. } => None,
    })?;
    let shown = shorten(whole, bound(log.room_tokens));
    Some(EnteredGuidance {
        round,
        text: format!(
            "Told by the runtime in round {round}, when you entered the workspace; it still holds.\n\n{shown}"
        ),
    })
}

fn bound(room_tokens: usize) -> usize {
    let share = (room_tokens / SHARE).max(LEAST_TOKENS);
    share.next_power_of_two() / if share.is_power_of_two() { 1 } else { 2 }
}

/// Returns a result whose guidance has at most so many tokens; `None` if the result has none.
pub(super) fn shorten_in(
    envelope: &ToolEnvelope,
    input: &ConversationInput<'_>,
    tokens: usize,
) -> Option<ToolEnvelope> {
    let whole = (input.entered_guidance)(envelope)?;
    let short = shorten(whole, tokens);
    let mut shortened = envelope.clone();
    let ToolOutcome::Success { result } = &mut shortened.outcome else {
        return None;
    };
    let member = result
        .as_object_mut()?
        .values_mut()
        .find(|value| value.as_str() == Some(whole))?;
    *member = Value::String(short);
    Some(shortened)
}

/// Shortens the file inside its enclosure. The list of skills is left out if the rest does not fit beside it.
fn shorten(whole: &str, tokens: usize) -> String {
    if text::estimate_tokens(whole) <= tokens {
        return whole.to_owned();
    }
    let files = match whole.rfind(skills::RULE) {
        Some(at) => whole.get(..at).unwrap_or(whole).trim_end(),
        None => whole,
    };
    let short = instructions::shorten_rendered(files, tokens);
    // One line may stand for the files; that those of the workspace before do not count is told in any case.
    let is_lost = files.contains(entered::LEFT) && !short.contains(entered::LEFT);
    let left = is_lost.then_some(entered::LEFT);
    let parts = left.into_iter().chain(Some(short.as_str()));
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}
