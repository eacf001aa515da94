//! The one line that stands for a turn whose content must not be shown again: a provider refused it or a filter withheld
//! its answer, or the runtime set it aside.
//!
//! Shown again, such content would make every later request fail like the first. The line holds nothing of it and no words
//! of the failure, which may quote it; it says who began the turn and which calls had taken effect.

use super::past::PastTurn;
use crate::provenance;
use holon_domain::attempt::{AttemptRecord, AttemptTimeline, StoredWord};
use holon_domain::block::calls_of;
use holon_domain::failure::FailureArtifact;
use holon_domain::log::LogEntry;
use holon_domain::model::{ModelFailureKind, StopReason};
use holon_domain::text;
use holon_domain::turn::TerminalReason;
use std::collections::BTreeMap;

/// Reason for which nothing of a turn is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Withheld {
    Refused,
    Filtered,
    TooLong,
    SetAside,
}

impl Withheld {
    const fn words(self) -> &'static str {
        match self {
            Self::Refused => "a model provider refused its content",
            Self::Filtered => "a content filter of the model's provider stopped it",
            Self::TooLong => "its message was too long for the model",
            Self::SetAside => {
                "the runtime set it aside, because it was begun several times without progress"
            }
        }
    }
}

/// Returns the line that stands for a turn; `None` if the turn is shown as it was.
pub(super) fn line(turn: &PastTurn<'_>) -> Option<String> {
    let why = withheld(turn)?.words();
    let from = turn.opening().map_or_else(String::new, |message| {
        format!(", from {}", provenance::sender(message))
    });
    let calls = calls(turn);
    let done = if calls.is_empty() {
        String::new()
    } else {
        format!(
            " It had made {} before; what these changed stands.",
            calls.join(", ")
        )
    };
    Some(format!(
        "[Turn {}, begun {}{from}: {why}. It failed, and nothing of it is shown.{done}]",
        turn.turn_index, turn.began_at
    ))
}

fn withheld(turn: &PastTurn<'_>) -> Option<Withheld> {
    let (artifact, reason, timeline) =
        turn.entries.iter().rev().find_map(|entry| match &**entry {
            LogEntry::RuntimeFailure {
                failure_artifact,
                reason,
                timeline,
                ..
            } => Some((failure_artifact, *reason, timeline.as_ref())),
            _ => None,
        })?;
    if reason == Some(TerminalReason::Poisoned) {
        return Some(Withheld::SetAside);
    }
    if is_filtered(turn, artifact) {
        return Some(Withheld::Filtered);
    }
    if reason == Some(TerminalReason::ProviderFailed) && is_refused(artifact, timeline) {
        return Some(Withheld::Refused);
    }
    let is_too_long = reason == Some(TerminalReason::ContextLengthExceeded);
    (is_too_long && turn.opening().is_none()).then_some(Withheld::TooLong)
}

fn is_filtered(turn: &PastTurn<'_>, artifact: &FailureArtifact) -> bool {
    let stop = turn.entries.iter().rev().find_map(|entry| match &**entry {
        LogEntry::AssistantRound { stop_reason, .. } => Some(*stop_reason),
        _ => None,
    });
    artifact.kind == "content_filter"
        || artifact.kind == "empty_answer"
            && matches!(stop, Some(StopReason::Refusal | StopReason::ContentFilter))
}

/// Returns true if the last try of a model ended in a refusal of the request.
fn is_refused(artifact: &FailureArtifact, timeline: Option<&AttemptTimeline>) -> bool {
    let refused = ModelFailureKind::InvalidRequest;
    let mut last: BTreeMap<&str, &AttemptRecord> = BTreeMap::new();
    for attempt in timeline.iter().flat_map(|timeline| &timeline.attempts) {
        last.insert(&attempt.model_ref, attempt);
    }
    let of_model = |attempt: &&AttemptRecord| matches!(&attempt.failure_kind, Some(StoredWord::Known(kind)) if *kind == refused);
    artifact.kind == refused.as_str() || last.values().any(of_model)
}

/// Lists the calls of a turn by their tools.
fn calls(turn: &PastTurn<'_>) -> Vec<String> {
    let mut made: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in turn.entries {
        if let LogEntry::AssistantRound { blocks, .. } = &**entry {
            for call in calls_of(blocks) {
                *made.entry(&call.name).or_default() += 1;
            }
        }
    }
    made.into_iter()
        .map(|(name, count)| {
            format!(
                "{} of {}",
                text::pluralize(count, "call"),
                crate::visible::line(name)
            )
        })
        .collect()
}
