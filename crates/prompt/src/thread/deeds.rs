//! What a turn did where others speak: what it told its operator, what it waits for and why it rested.
//!
//! Read from the calls of its rounds that succeeded. A turn without words is told by these deeds; otherwise its model
//! could not know later what it did, and would do it again.

use super::past::PastTurn;
use crate::visible;
use holon_domain::CallId;
use holon_domain::block::{Block, ToolCall, calls_of, text_of};
use holon_domain::log::LogEntry;
use holon_domain::text;
use std::collections::BTreeMap;

/// Calls of a turn that spoke to its operator or ended it.
#[derive(Debug, Clone, Default)]
pub(super) struct Deeds {
    /// What was told to whom, in order.
    told: Vec<Told>,
    /// Number of other calls, by tool.
    others: BTreeMap<String, u64>,
    /// True if a round of the turn had words.
    has_words: bool,
    has_rounds: bool,
}

#[derive(Debug, Clone)]
struct Told {
    /// Beginning of a sentence about the call.
    deed: &'static str,
    words: Option<String>,
}

const NOTIFIED: &str = "you notified your operator";

impl Told {
    fn line(&self, bytes: usize) -> String {
        match &self.words {
            Some(words) => format!("{}: {}", self.deed, visible::excerpt(words, bytes)),
            None => self.deed.to_owned(),
        }
    }
}

/// Describes a call that speaks to the operator or ends its turn; `None` for every other one.
fn told(call: &ToolCall) -> Option<Told> {
    let (deed, argument) = match call.name.as_str() {
        "NotifyOperator" => (NOTIFIED, "message"),
        "WaitFor" => ("you began to wait", "reason"),
        "Sleep" => ("you rested", "reason"),
        _ => return None,
    };
    let words = call.input.get(argument).and_then(|words| words.as_str());
    let words = words.map(str::trim).filter(|words| !words.is_empty());
    Some(Told {
        deed,
        words: words.map(str::to_owned),
    })
}

impl Deeds {
    pub(super) fn of(turn: &PastTurn<'_>) -> Self {
        let mut deeds = Self::default();
        let succeeded: Vec<&CallId> = turn
            .entries
            .iter()
            .filter_map(|entry| match &**entry {
                LogEntry::ToolResult {
                    call_id, envelope, ..
                } if envelope.error().is_none() => Some(call_id),
                _ => None,
            })
            .collect();
        for blocks in rounds(turn) {
            deeds.has_rounds = true;
            deeds.has_words |= !text_of(blocks).trim().is_empty();
            for call in calls_of(blocks) {
                match told(call).filter(|_| succeeded.contains(&&call.id)) {
                    Some(told) => deeds.told.push(told),
                    None => *deeds.others.entry(call.name.clone()).or_default() += 1,
                }
            }
        }
        deeds
    }

    /// Returns true if models answered and none of them wrote a word.
    pub(super) const fn are_silent(&self) -> bool {
        self.has_rounds && !self.has_words
    }

    /// Tells the deeds in one line, each with about so many bytes of its words.
    pub(super) fn line(&self, bytes: usize) -> String {
        let told = self.told.iter().map(|told| told.line(bytes));
        let others: Vec<String> = self
            .others
            .iter()
            .map(|(name, count)| format!("{count} × {}", visible::line(name)))
            .collect();
        let others = (!others.is_empty()).then(|| format!("you called {}", others.join(", ")));
        let all: Vec<String> = others.into_iter().chain(told).collect();
        if all.is_empty() {
            "you ended it without a call".to_owned()
        } else {
            all.join("; ")
        }
    }

    /// Tells what the operator was notified of, as parts of a line. It has reached them, so no recap may leave it out.
    pub(super) fn notices(&self, bytes: usize) -> String {
        let notices = self.told.iter().filter(|told| told.deed == NOTIFIED);
        let parts = notices.map(|told| format!("; {}", told.line(bytes)));
        parts.collect()
    }

    /// Lists what was told to the operator and what the turn waits for, each with its words within a bound.
    pub(super) fn paragraphs(&self, bytes: usize) -> Vec<String> {
        let told = self.told.iter().filter_map(|told| {
            let words = told.words.as_deref()?;
            let words = visible::body(&text::preview(words, bytes));
            let lines: Vec<String> = words.lines().map(|line| format!("> {line}")).collect();
            Some(format!("In it {}:\n{}", told.deed, lines.join("\n")))
        });
        told.collect()
    }
}

fn rounds<'a>(turn: &PastTurn<'a>) -> impl Iterator<Item = &'a [Block]> {
    turn.entries.iter().filter_map(|entry| match &**entry {
        LogEntry::AssistantRound { blocks, .. } => Some(blocks.as_slice()),
        _ => None,
    })
}
