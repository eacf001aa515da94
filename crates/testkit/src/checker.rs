//! The checker: rules that must hold for an agent's history, no matter how its process ended.
//!
//! It works on plain data and does not know how the history was gathered. Each rule describes its findings; an empty
//! list means that there are none.

use std::collections::{BTreeMap, BTreeSet};

/// A message whose admission was acknowledged to its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcknowledgedMessage {
    pub message_id: String,
    /// True if an operator is owed an outcome for it.
    pub owed: bool,
}

/// One entry of a transcript, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryEntry {
    /// A message opened or entered a turn.
    Message {
        message_id: String,
    },
    /// A model answered with these calls.
    Round {
        /// Ids of the calls.
        calls: Vec<String>,
    },
    /// A call ended with a result.
    Result {
        /// Id of the call.
        call: String,
    },
    Other,
}

/// The history of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// Messages whose admission was acknowledged.
    pub acknowledged: Vec<AcknowledgedMessage>,
    /// Messages that each brief settles.
    pub settled: Vec<Vec<String>>,
    /// Positions of the events, oldest first.
    pub events: Vec<u64>,
    pub transcript: Vec<HistoryEntry>,
}

/// Describes everything that is wrong with a history.
#[must_use]
pub fn check(story: &Story) -> Vec<String> {
    let mut wrong = Vec::new();
    check_messages(story, &mut wrong);
    check_outcomes(story, &mut wrong);
    check_events(&story.events, &mut wrong);
    check_transcript(&story.transcript, &mut wrong);
    wrong
}

/// Checks marks that side effects left: each may occur once.
#[must_use]
pub fn check_marks(marks: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again = marks.iter().filter(|mark| !seen.insert(mark.as_str()));
    again
        .map(|mark| format!("side effect {mark} happened again"))
        .collect()
}

fn check_messages(story: &Story, wrong: &mut Vec<String>) {
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    for said in &story.transcript {
        if let HistoryEntry::Message { message_id } = said {
            *taken.entry(message_id).or_default() += 1;
        }
    }
    for message in &story.acknowledged {
        if !taken.contains_key(message.message_id.as_str()) {
            wrong.push(format!(
                "{} was acknowledged and is lost",
                message.message_id
            ));
        }
    }
    for (message_id, times) in taken {
        if times > 1 {
            wrong.push(format!("{message_id} was taken up {times} times"));
        }
    }
}

fn check_outcomes(story: &Story, wrong: &mut Vec<String>) {
    let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    for message_id in story.settled.iter().flatten() {
        *outcomes.entry(message_id).or_default() += 1;
    }
    for (message_id, times) in &outcomes {
        if *times > 1 {
            wrong.push(format!("{message_id} has {times} outcomes"));
        }
    }
    for message in story.acknowledged.iter().filter(|message| message.owed) {
        if !outcomes.contains_key(message.message_id.as_str()) {
            wrong.push(format!("{} has no outcome", message.message_id));
        }
    }
}

fn check_events(events: &[u64], wrong: &mut Vec<String>) {
    for (expected, seq) in (1..).zip(events) {
        if expected != *seq {
            return wrong.push(format!("event {expected} is missing: there is {seq}"));
        }
    }
}

fn check_transcript(transcript: &[HistoryEntry], wrong: &mut Vec<String>) {
    let mut waiting: Vec<&str> = Vec::new();
    let mut answered = BTreeSet::new();
    for said in transcript {
        match said {
            HistoryEntry::Result { call } => {
                if waiting.first() == Some(&call.as_str()) {
                    waiting.remove(0);
                } else {
                    wrong.push(format!("{call} has a result where {waiting:?} wait"));
                }
                if !answered.insert(call.as_str()) {
                    wrong.push(format!("{call} has two results"));
                }
            }
            HistoryEntry::Message { .. } | HistoryEntry::Round { .. } | HistoryEntry::Other => {
                if !waiting.is_empty() {
                    wrong.push(format!("{waiting:?} have no result before {said:?}"));
                }
                waiting.clear();
                if let HistoryEntry::Round { calls } = said {
                    waiting.extend(calls.iter().map(String::as_str));
                }
            }
        }
    }
    if !waiting.is_empty() {
        wrong.push(format!("{waiting:?} have no result in the end"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str) -> HistoryEntry {
        HistoryEntry::Message {
            message_id: id.to_owned(),
        }
    }

    fn round(calls: &[&str]) -> HistoryEntry {
        HistoryEntry::Round {
            calls: calls.iter().map(|call| (*call).to_owned()).collect(),
        }
    }

    fn result(call: &str) -> HistoryEntry {
        HistoryEntry::Result {
            call: call.to_owned(),
        }
    }

    fn acknowledged(id: &str, owed: bool) -> AcknowledgedMessage {
        AcknowledgedMessage {
            message_id: id.to_owned(),
            owed,
        }
    }

    /// Two messages, the second one not an operator's; the first took two calls.
    fn sound() -> Story {
        Story {
            acknowledged: vec![acknowledged("a", true), acknowledged("b", false)],
            settled: vec![vec!["a".to_owned()], Vec::new()],
            events: vec![1, 2, 3],
            transcript: vec![
                message("a"),
                round(&["x", "y"]),
                result("x"),
                result("y"),
                round(&[]),
                message("b"),
                round(&[]),
            ],
        }
    }

    #[test]
    fn a_sound_story_has_nothing_wrong() {
        assert_eq!(check(&sound()), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_damage_is_named() {
        let damaged = |damage: &dyn Fn(&mut Story)| {
            let mut story = sound();
            damage(&mut story);
            check(&story).join("; ")
        };
        let found = [
            damaged(&|story| story.acknowledged.push(acknowledged("c", false))),
            damaged(&|story| story.transcript.push(message("a"))),
            damaged(&|story| story.settled.clear()),
            damaged(&|story| story.settled.push(vec!["a".to_owned()])),
            damaged(&|story| story.events = vec![1, 3]),
            damaged(&|story| story.events = vec![2, 3]),
            damaged(&|story| drop(story.transcript.remove(3))),
            damaged(&|story| story.transcript.insert(4, result("y"))),
            damaged(&|story| story.transcript.swap(2, 3)),
            damaged(&|story| story.transcript.push(round(&["z"]))),
            check_marks(&["1".to_owned(), "2".to_owned(), "1".to_owned()]).join("; "),
        ];
        let expected = [
            "c was acknowledged and is lost",
            "a was taken up 2 times",
            "a has no outcome",
            "a has 2 outcomes",
            "event 2 is missing: there is 3",
            "event 1 is missing: there is 2",
            "[\"y\"] have no result before Round { calls: [] }",
            "y has a result where [] wait; y has two results",
            "y has a result where [\"x\", \"y\"] wait; [\"y\"] have no result before Round { calls: [] }",
            "[\"z\"] have no result in the end",
            "side effect 1 happened again",
        ];
        assert_eq!(found, expected);
    }
}
