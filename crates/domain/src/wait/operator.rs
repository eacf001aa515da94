//! What an operator's message does to the waits for an operator.
//!
//! | wait | message | effect |
//! |---|---|---|
//! | any | contains the id of the wait | ended |
//! | with a question | is one of its choices, or begins with just one, and no other question is answered so | ended |
//! | with a question for which any message counts, or without a question | any other | interrupted |
//! | with a question | any other | left open |
//!
//! A message that names a wait is about that wait alone and leaves the others as they are. An interrupted wait stays
//! active: the turn that reads the message decides whether it was answered.
//!
//! A choice is recognised without regard to case, blanks and punctuation around it. A message that goes on after a choice
//! chooses it too ("half-up please"), unless it asks something or begins with several choices.

use super::{WaitKind, WaitRecord, WaitStatus, WakeSource};
use crate::id::{WaitId, WorkItemId};
use crate::message::MessageEnvelope;
use crate::{limits, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Question that a wait asks an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitQuestion {
    pub text: String,
    /// Answers to choose from. Empty if any text may be the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// True if every message of an operator counts as one that may answer.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub any_message: bool,
}

/// Effect of a message on a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitEffect {
    Ended,
    /// The turn that reads the message decides: a call about the item, or about the wait if the agent itself waits, ends
    /// it. Otherwise it stands again.
    Interrupted,
    /// The message does not name the question, so the wait goes on.
    LeftOpen,
    /// The message lacks the authority of an operator's instruction, so the wait goes on.
    LacksAuthority,
}

/// What a message did to a wait, for the model that reads the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitNote {
    pub wait_id: WaitId,
    /// Item that waits. Absent if the agent itself waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    pub kind: WaitKind,
    /// Question or reason of the wait, at most `limits::WAIT_NOTE_BYTES`.
    pub waiting_for: String,
    pub effect: WaitEffect,
}

impl WaitNote {
    /// Makes the note that tells a model what a message did to a wait.
    #[must_use]
    pub fn of(wait: &WaitRecord, effect: WaitEffect) -> Self {
        Self {
            wait_id: wait.id.clone(),
            work_item_id: wait.work_item_id.clone(),
            kind: wait.kind,
            waiting_for: text::preview(wait.asks_for(), limits::WAIT_NOTE_BYTES),
            effect,
        }
    }

    /// Adds what a message does to waits now to the ends it caused at its admission, at most `limits::WAIT_NOTES`.
    #[must_use]
    pub fn since_admission(now: Vec<Self>, message: &MessageEnvelope) -> Vec<Self> {
        let ended = message.waits.iter();
        let ended = ended.filter(|note| note.effect == WaitEffect::Ended);
        let notes = ended.cloned().chain(now);
        notes.take(limits::WAIT_NOTES).collect()
    }

    /// Returns the same if it differs from what the message says by itself.
    #[must_use]
    pub fn changed_since_admission(now: Vec<Self>, message: &MessageEnvelope) -> Option<Vec<Self>> {
        let notes = Self::since_admission(now, message);
        (notes != message.waits).then_some(notes)
    }
}

impl WaitRecord {
    /// Returns what the wait asks for: its question, or else its reason.
    #[must_use]
    pub fn asks_for(&self) -> &str {
        let question = self.question.as_ref();
        question.map_or(self.waiting_for.as_str(), |question| question.text.as_str())
    }

    /// Returns the reason of a wait with a question that says something else.
    #[must_use]
    pub fn reason_beside_question(&self) -> Option<&str> {
        let question = self.question.as_ref()?.text.trim();
        let reason = self.waiting_for.trim();
        (!reason.is_empty() && reason != question).then_some(reason)
    }

    /// Says which message of an operator ends this wait.
    #[must_use]
    pub fn answer_words(&self) -> String {
        match &self.question {
            Some(question) if !question.any_message => match question.choices.as_slice() {
                [] => format!("a message of the operator that contains {}", self.id),
                choices => format!(
                    "a message of the operator that is or begins with a choice ({}), or contains {}",
                    choices.join(" / "),
                    self.id
                ),
            },
            Some(_) | None => "a message of the operator".to_owned(),
        }
    }

    /// Returns what a message of an operator says of waits when it joins a turn, and removes the waits that it ends.
    /// `waits` are the active ones of that time. `None` if that is what it did at its admission.
    #[must_use]
    pub fn notes_at_joining(
        waits: &mut Vec<Self>,
        message: &MessageEnvelope,
    ) -> Option<Vec<WaitNote>> {
        if !message.is_operator_instruction() {
            return None;
        }
        let effects = Self::effects_of_message(waits, &message.body.render());
        let notes = effects
            .into_iter()
            .map(|(wait, effect)| WaitNote::of(wait, effect));
        let notes: Vec<WaitNote> = notes.collect();
        let is_ended = |wait: &Self| {
            let mut of_wait = notes.iter().filter(|note| note.wait_id == wait.id);
            of_wait.any(|note| note.effect == WaitEffect::Ended)
        };
        waits.retain(|wait| !is_ended(wait));
        WaitNote::changed_since_admission(notes, message)
    }

    /// Returns true if an operator's message may end this wait.
    #[must_use]
    pub fn is_for_operator(&self) -> bool {
        let is_operator = |source: &WakeSource| matches!(source, WakeSource::OperatorInput);
        self.status == WaitStatus::Active && self.wake_sources.iter().any(is_operator)
    }

    /// Returns what a message of an operator does to each of these waits. Waits that it does not concern are left out.
    #[must_use]
    pub fn effects_of_message<'a>(waits: &'a [Self], message: &str) -> Vec<(&'a Self, WaitEffect)> {
        let asking: Vec<&Self> = waits.iter().filter(|wait| wait.is_for_operator()).collect();
        let named = |wait: &&Self| message.contains(wait.id.as_str());
        if asking.iter().any(named) {
            let named = asking.into_iter().filter(named);
            return named.map(|wait| (wait, WaitEffect::Ended)).collect();
        }
        let question = |wait: &&Self| wait.question.clone();
        let is_choice = |wait: &&Self| question(wait).is_some_and(|it| it.offers(message));
        let begins = |wait: &&Self| question(wait).is_some_and(|it| it.begins(message));
        let has_choice = asking.iter().any(is_choice);
        let offers = |wait: &&Self| match has_choice {
            true => is_choice(wait),
            false => begins(wait),
        };
        let is_clear = asking.iter().filter(|wait| offers(wait)).count() == 1;
        let effect = |wait: &'a Self| match &wait.question {
            Some(_) if is_clear && offers(&wait) => WaitEffect::Ended,
            Some(question) if !question.any_message => WaitEffect::LeftOpen,
            Some(_) | None => WaitEffect::Interrupted,
        };
        asking
            .into_iter()
            .map(|wait| (wait, effect(wait)))
            .collect()
    }
}

impl WaitQuestion {
    /// Returns true if a message is one of the choices, apart from case and what surrounds it.
    fn offers(&self, message: &str) -> bool {
        let message = bare(message);
        self.choices.iter().any(|choice| bare(choice) == message)
    }

    /// Returns true if a message begins with exactly one of the choices, as whole words, and asks nothing.
    fn begins(&self, message: &str) -> bool {
        if message.contains('?') {
            return false;
        }
        let message = bare(message);
        let is_first = |choice: &&String| {
            let choice = bare(choice);
            let rest = message.strip_prefix(choice.as_str());
            let next = rest.and_then(|rest| rest.chars().next());
            !choice.is_empty() && next.is_some_and(|next| !is_in_word(next))
        };
        self.choices.iter().filter(is_first).count() == 1
    }
}

/// Returns true for a character that continues a word, so that "no" is no word of "no-op" or "no's".
fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '’' | '/')
}

/// Returns a text in lower case, without the blanks and the punctuation around it. A text of nothing else stays, and so
/// do signs that carry a meaning, such as the minus of "-1".
fn bare(text: &str) -> String {
    let surrounds = |c: char| c.is_whitespace() || ".,;:!?\"'`*()[]«»“”„‘’…".contains(c);
    let inside = text.trim_matches(surrounds);
    let shown = if inside.is_empty() {
        text.trim()
    } else {
        inside
    };
    shown.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn wait(id: &str, question: &Value) -> WaitRecord {
        serde_json::from_value(json!({
            "id": id, "agent_id": "ada", "kind": "operator", "status": "active", "waiting_for": "a word",
            "wake_sources": [{ "kind": "operator_input" }], "question": question,
            "created_at": "2026-03-01T09:00:00Z", "updated_at": "2026-03-01T09:00:00Z",
        }))
        .expect("a wait")
    }

    #[test]
    fn a_message_ends_what_it_answers_or_names_and_interrupts_what_asks_for_any() {
        let yes_no = json!({ "text": "Go on?", "choices": ["Yes", "no"] });
        let waits = [
            wait("wait_plain", &Value::Null),
            wait("wait_choice", &yes_no),
            wait("wait_free", &json!({ "text": "Which branch?" })),
            wait(
                "wait_any",
                &json!({ "text": "What else?", "any_message": true }),
            ),
        ];
        let cases: [(&str, &[&str]); 4] = [
            (
                "the weather?",
                &["interrupted", "left_open", "left_open", "interrupted"],
            ),
            (
                " yes\n",
                &["interrupted", "ended", "left_open", "interrupted"],
            ),
            ("wait_free: main", &["", "", "ended", ""]),
            (
                "wait_plain and wait_choice: go",
                &["ended", "ended", "", ""],
            ),
        ];
        for (message, expected) in cases {
            let effects = WaitRecord::effects_of_message(&waits, message);
            let of = |wait: &WaitRecord| {
                let found = effects.iter().find(|(known, _)| known.id == wait.id);
                found.map_or_else(|| json!(""), |(_, effect)| json!(effect))
            };
            let found: Vec<Value> = waits.iter().map(of).collect();
            assert_eq!(json!(found), json!(expected), "{message}");
        }
        let two = [wait("wait_1", &yes_no), wait("wait_2", &yes_no)];
        let effects = WaitRecord::effects_of_message(&two, "yes");
        assert!(
            effects
                .iter()
                .all(|(_, effect)| *effect == WaitEffect::LeftOpen),
            "a choice of two questions answers neither: {effects:?}"
        );
    }

    #[test]
    fn a_choice_is_recognised_as_a_person_writes_it() {
        let ends = |choices: &[&str], message: &str| {
            let question = json!({ "text": "How?", "choices": choices });
            let waits = [wait("wait_1", &question)];
            let effects = WaitRecord::effects_of_message(&waits, message);
            effects
                .iter()
                .all(|(_, effect)| *effect == WaitEffect::Ended)
        };
        let rounding = ["half-up", "half-even", "half"];
        for message in [
            "half-up",
            " Half-Up. ",
            "`half-up`",
            "half-up please",
            "half-up, and soon!",
        ] {
            assert!(ends(&rounding, message), "{message}");
        }
        for message in [
            "half-upper",
            "what is half-up?",
            "half-up or what?",
            "please half-up",
            "",
            "...",
        ] {
            assert!(!ends(&rounding, message), "{message}");
        }
        assert!(ends(&["yes", "no"], "No."));
        assert!(!ends(&["no"], "no-op"));
        assert!(
            !ends(&["yes", "yes, later"], "yes, later today"),
            "two choices"
        );
        assert!(ends(&["+1", "-1"], "-1!") && !ends(&["+1"], "-1"));
        assert!(ends(&["..."], " ... ") && !ends(&["..."], "x"));
        let yes_no = json!({ "text": "Go on?", "choices": ["yes", "no"] });
        let now = json!({ "text": "When?", "choices": ["yes now"] });
        let waits = [wait("wait_1", &yes_no), wait("wait_2", &now)];
        let effects = WaitRecord::effects_of_message(&waits, "yes now");
        let effects: Vec<WaitEffect> = effects.into_iter().map(|(_, effect)| effect).collect();
        assert_eq!(
            effects,
            [WaitEffect::LeftOpen, WaitEffect::Ended],
            "the whole choice counts"
        );
    }
}
