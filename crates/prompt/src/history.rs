//! Earlier messages and the agent's answers to them, each a block of its own, oldest first.
//!
//! The first turn that is shown moves in steps, so that the prompt of a turn usually begins like the one before and a
//! provider's cache serves it. Invariant: the same messages and bound give the same blocks, whichever turn
//! shows them.

use crate::candidate::{Candidate, Priority, fit};
use crate::fence::{self, Extent};
use crate::{provenance, visible};
use holon_domain::limits::{RECENT_MESSAGES, RECENT_TURNS_CUT};
use holon_domain::message::MessageEnvelope;
use holon_domain::prompt_plan::{BlockSource, first_turn_shown};
use holon_domain::text;

/// Stands before the first earlier message.
pub(crate) const HEADING: &str = "Recent messages, oldest first (history, already dealt with):";

/// Stand before an answer, and before the runtime's words about a turn that failed.
const ANSWERED: &str = "Your answer";
const FAILED: &str = "No answer; the turn failed and the runtime told the sender";

/// An earlier message and the agent's answer to it.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryItem {
    pub message: MessageEnvelope,
    /// Absent if the agent has not answered.
    pub answer: Option<String>,
    /// True if the runtime wrote the answer, because the turn failed.
    pub is_failure: bool,
    /// Turn that took the message.
    pub turn_index: u64,
    /// Log position at which the turn took it.
    pub log_seq: u64,
}

/// Returns the items that a prompt of this turn may show. If there are too many, the oldest turns go, in the groups in
/// which lack of room cuts them.
pub(crate) fn window(history: &[HistoryItem], turn_index: u64) -> &[HistoryItem] {
    let from = |first: u64| {
        let start = history.partition_point(|item| item.turn_index < first);
        history.get(start..).unwrap_or_default()
    };
    let mut first = first_turn_shown(turn_index);
    let mut shown = from(first);
    while shown.len() > RECENT_MESSAGES && first < turn_index {
        first = (first / RECENT_TURNS_CUT + 1) * RECENT_TURNS_CUT;
        let fewer = from(first);
        if fewer.is_empty() {
            break;
        }
        shown = fewer;
    }
    let start = shown.len().saturating_sub(RECENT_MESSAGES);
    shown.get(start..).unwrap_or_default()
}

/// Lists the candidates of the items, oldest first, with at most `most_bytes` of each text. `pinned` is the message that
/// must stay.
pub(crate) fn candidates<'a>(
    shown: &'a [HistoryItem],
    pinned: Option<&MessageEnvelope>,
    turn_index: u64,
    most_bytes: usize,
) -> Vec<Candidate<'a>> {
    let newest_group = turn_index.saturating_sub(1) / RECENT_TURNS_CUT;
    let mut candidates = Vec::with_capacity(shown.len());
    for (place, item) in shown.iter().enumerate() {
        // One answer to several messages is shown with the last of them.
        let next = shown.get(place + 1);
        let is_repeated = next.is_some_and(|next| {
            next.turn_index == item.turn_index
                && next.answer.is_some()
                && next.answer == item.answer
        });
        let answer = item.answer.as_deref().filter(|_| !is_repeated);
        let answer = answer.map(|text| Answer {
            text,
            is_failure: item.is_failure,
        });
        let whole = entry(&item.message, answer, Extent::Bytes(most_bytes), most_bytes);
        let group = item.turn_index / RECENT_TURNS_CUT;
        let priority = if group == newest_group {
            Priority::RecentHistory
        } else {
            Priority::OldHistory
        };
        let candidate = if pinned.is_some_and(|pinned| pinned.id == item.message.id) {
            Candidate::pin(BlockSource::History, whole)
                .or_shorter(move |tokens| shorter(&item.message, answer, tokens, most_bytes))
        } else {
            Candidate::optional(BlockSource::History, priority, whole)
        };
        let answered = answer.map_or(0, |answer| answer.text.len());
        let beyond = |bytes: usize| bytes.saturating_sub(most_bytes);
        let candidate =
            candidate.leaving_out(beyond(item.message.body.render().len()) + beyond(answered));
        candidates.push(Candidate {
            group,
            log_seq: Some(item.log_seq),
            ..candidate
        });
    }
    candidates
}

/// What followed a message.
#[derive(Debug, Clone, Copy)]
struct Answer<'a> {
    text: &'a str,
    is_failure: bool,
}

fn shorter(
    message: &MessageEnvelope,
    answer: Option<Answer<'_>>,
    tokens: usize,
    most_bytes: usize,
) -> String {
    fit(tokens, |room| {
        entry(
            message,
            answer,
            Extent::Tokens(room / 2),
            room.min(most_bytes),
        )
    })
}

/// Renders a message and what followed it. Of an answer it shows at most `answer_bytes`.
fn entry(
    message: &MessageEnvelope,
    answer: Option<Answer<'_>>,
    extent: Extent,
    answer_bytes: usize,
) -> String {
    let content = fence::content(message, extent);
    let asked = format!("{}\n{content}", provenance::short(message));
    match answer.filter(|answer| !answer.text.trim().is_empty()) {
        Some(Answer { text, is_failure }) => format!(
            "{asked}\n{}:\n{}",
            if is_failure { FAILED } else { ANSWERED },
            quote(&text::preview(text, answer_bytes))
        ),
        None => asked,
    }
}

/// Marks each line as quoted. An answer may repeat what an outsider wrote, and must not be mistaken for another
/// message.
fn quote(answer: &str) -> String {
    let shown = visible::body(answer);
    let lines: Vec<String> = shown.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}
