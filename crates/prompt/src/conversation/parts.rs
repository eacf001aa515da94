//! Lists what a turn added to its requests, for readers: recaps, messages, reminders and the rounds that are shown.

use super::interjection_item;
use holon_domain::log::LogEntry;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::ConversationItem;
use holon_domain::prompt_view::{TurnPart, TurnPartKind};
use holon_domain::queue::MessageSeq;
use holon_domain::tool::ToolEnvelope;
use std::collections::HashMap;

/// Lists the parts of a turn by its log. `messages` holds those that joined. Rounds that a recap stands for may be
/// missing from the log.
#[must_use]
pub fn explain(
    entries: &[LogEntry],
    messages: &HashMap<MessageSeq, MessageEnvelope>,
    receipt: fn(&ToolEnvelope) -> String,
) -> Vec<TurnPart> {
    let mut parts: Vec<TurnPart> = Vec::new();
    let mut shown = ShownRounds::default();
    let mut round = 0;
    for entry in entries {
        match entry {
            LogEntry::AssistantRound {
                round: number,
                blocks,
                tries,
                ..
            } => {
                round = *number;
                let item = ConversationItem::Assistant {
                    model_ref: tries.model_ref.clone(),
                    blocks: blocks.to_vec(),
                };
                shown.add(round, &item);
            }
            LogEntry::ToolResult {
                round: number,
                call_id,
                envelope,
                ..
            } => {
                let item = ConversationItem::ToolResult {
                    call_id: call_id.clone(),
                    content: receipt(envelope),
                    is_error: envelope.error().is_some(),
                    image: None,
                };
                shown.add(*number, &item);
            }
            LogEntry::Interjection {
                message_seq, waits, ..
            } => {
                let message = messages.get(message_seq);
                let message = message.map(|one| interjection_item(one, waits.as_deref()));
                parts.extend(message.map(|item| part(TurnPartKind::Message, round, round, item)));
            }
            LogEntry::ContinuationPrompt { text, .. } => {
                let item = ConversationItem::User { text: text.clone() };
                parts.push(part(TurnPartKind::Reminder, round, round, item));
            }
            LogEntry::Recap(recap) => {
                if recap.first_round == 1 {
                    parts.iter_mut().for_each(replace);
                }
                let item = ConversationItem::User {
                    text: recap.text.clone(),
                };
                let (first, last) = (recap.first_round, recap.last_round);
                parts.push(part(TurnPartKind::Recap, first, last, item));
                shown.forget(last);
            }
            LogEntry::IncomingMessage { .. }
            | LogEntry::Frame(_)
            | LogEntry::ThreadFold(_)
            | LogEntry::Shortened(_)
            | LogEntry::RuntimeFailure { .. } => {}
        }
    }
    parts.extend(shown.into_part());
    parts
}

fn part(kind: TurnPartKind, first_round: u32, last_round: u32, item: ConversationItem) -> TurnPart {
    let tokens = u64::try_from(item.estimated_tokens()).unwrap_or(u64::MAX);
    TurnPart {
        kind,
        first_round,
        last_round,
        tokens,
        text: match item {
            ConversationItem::User { text } => Some(text),
            ConversationItem::Assistant { .. }
            | ConversationItem::ToolResult { .. }
            | ConversationItem::Image(_) => None,
        },
    }
}

fn replace(part: &mut TurnPart) {
    if part.kind == TurnPartKind::Recap {
        part.kind = TurnPartKind::ReplacedRecap;
        part.text = None;
    }
}

/// Rounds after the newest recap, each with its tokens.
#[derive(Debug, Default)]
struct ShownRounds(Vec<(u32, usize)>);

impl ShownRounds {
    fn add(&mut self, round: u32, item: &ConversationItem) {
        self.0.push((round, item.estimated_tokens()));
    }

    fn forget(&mut self, last_round: u32) {
        self.0.retain(|(round, _)| *round > last_round);
    }

    /// Returns the part. A last round without results is the turn's answer, which no request of the turn holds.
    fn into_part(mut self) -> Option<TurnPart> {
        let newest = self.0.last()?.0;
        if self.0.iter().filter(|(round, _)| *round == newest).count() == 1 {
            self.0.pop();
        }
        let first_round = self.0.iter().map(|(round, _)| *round).min()?;
        let last_round = self.0.iter().map(|(round, _)| *round).max()?;
        let tokens: usize = self.0.iter().map(|(_, tokens)| tokens).sum();
        Some(TurnPart {
            kind: TurnPartKind::Rounds,
            first_round,
            last_round,
            tokens: u64::try_from(tokens).unwrap_or(u64::MAX),
            text: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::compaction::Recap;

    fn recap(first_round: u32, last_round: u32) -> LogEntry {
        LogEntry::Recap(Recap {
            first_round,
            last_round,
            text: format!("recap to {last_round}"),
        })
    }

    fn reminder() -> LogEntry {
        LogEntry::ContinuationPrompt {
            text: "go on".to_owned(),
            reason: "test".to_owned(),
        }
    }

    #[test]
    fn a_recap_from_the_first_round_replaces_those_before_it() {
        let entries = [
            recap(1, 3),
            recap(4, 6),
            reminder(),
            recap(1, 9),
            recap(10, 12),
        ];
        let parts = explain(&entries, &HashMap::new(), |_| String::new());
        let seen: Vec<(TurnPartKind, u32, bool)> = parts
            .iter()
            .map(|part| (part.kind, part.last_round, part.text.is_some()))
            .collect();
        assert_eq!(
            seen,
            [
                (TurnPartKind::ReplacedRecap, 3, false),
                (TurnPartKind::ReplacedRecap, 6, false),
                (TurnPartKind::Reminder, 0, true),
                (TurnPartKind::Recap, 9, true),
                (TurnPartKind::Recap, 12, true),
            ]
        );
    }
}
