//! The live row: what the agent does right now, replaced in place.
//!
//! It belongs to one turn. The start and the end of a turn remove it, and so does a message that an operator sends to an
//! agent at rest: a new message never shows the activity of the turn before it. Text of a streamed answer is provisional;
//! it is gone when its round is recorded, asked again or given up.

use crate::item::{Item, ItemState, Presentation, Role};
use crate::text::{BODY_BYTES, SUMMARY_BYTES, cut_front, cut_line};
use crate::visibility::{Category, Visibility};
use holon_domain::delta::AssistantDelta;
use holon_domain::event::Event;
use holon_domain::text::suffix;
use holon_domain::time::Timestamp;

/// Key of the live row.
pub(crate) const LIVE_KEY: &str = "live";
/// Source kind of a live row that is made of deltas: the name of the frame that carries them.
const DELTA_KIND: &str = "assistant_delta";
/// Most bytes of a streamed text that are kept; of a longer one, the end.
const DRAFT_BYTES: usize = 16 << 10;

#[derive(Debug, Clone, Default)]
pub(crate) struct Activity {
    item: Option<Item>,
    draft: Option<Draft>,
    /// Turn and round up to which streamed text is out of date.
    passed: (u64, u32),
    /// Time of the last event.
    at: Timestamp,
    cursor: u64,
}

/// Text of an answer that is still arriving.
#[derive(Debug, Clone)]
struct Draft {
    turn_index: u64,
    round: u32,
    effect: u64,
    /// End of the text.
    text: String,
    /// Bytes of the text before that end.
    dropped: u64,
    /// True once a piece was missed. The recorded round brings the whole text.
    is_broken: bool,
}

impl Activity {
    /// Forgets everything at a border between turns or messages.
    pub(crate) fn clear(&mut self) {
        self.item = None;
        self.draft = None;
    }

    /// Takes the position of an event, and drops the text of a round that it replaces or voids.
    pub(crate) fn advance(&mut self, event: &Event, seq: u64, at: Timestamp) {
        (self.cursor, self.at) = (seq, at);
        let round = match event {
            Event::AssistantRoundRecorded(e) => {
                self.passed = self.passed.max((e.turn_index, e.round));
                (e.turn_index, e.round)
            }
            Event::TurnTerminal(e) => {
                self.passed = self.passed.max((e.turn_index, u32::MAX));
                return self.clear();
            }
            Event::ProviderRetryScheduled(e) => (e.turn_index, e.round),
            Event::ProviderFallbackSelected(e) => (e.turn_index, e.round),
            Event::TurnSuspended(e) => (e.turn_index, e.round),
            _ => return,
        };
        if let Some(draft) = &self.draft
            && (draft.turn_index, draft.round) <= round
        {
            self.draft = None;
        }
    }

    /// Replaces the live row by the row of an event that tells of an activity.
    pub(crate) fn replace(&mut self, item: Item) {
        self.item = Some(Item {
            key: LIVE_KEY.to_owned(),
            state: ItemState::Live,
            ..item
        });
    }

    /// Takes a piece of a streamed answer.
    pub(crate) fn push_delta(&mut self, delta: &AssistantDelta) {
        if (delta.turn_index, delta.round) <= self.passed {
            return;
        }
        let is_same = |draft: &Draft| {
            (draft.turn_index, draft.round, draft.effect)
                == (delta.turn_index, delta.round, delta.effect)
        };
        if !self.draft.as_ref().is_some_and(is_same) {
            self.draft = Some(Draft {
                turn_index: delta.turn_index,
                round: delta.round,
                effect: delta.effect,
                text: String::new(),
                // A reader that comes in the middle of an answer has missed its beginning.
                dropped: delta.offset,
                is_broken: false,
            });
        }
        if let Some(draft) = &mut self.draft {
            draft.push(delta);
        }
    }

    /// Returns the live row.
    pub(crate) fn live_item(&self) -> Option<Item> {
        let text = self.draft.as_ref().filter(|draft| !draft.text.is_empty());
        match text {
            Some(draft) => Some(self.draft_item(draft)),
            None => self.item.clone(),
        }
    }

    fn draft_item(&self, draft: &Draft) -> Item {
        let title = "Assistant progress";
        Item {
            key: LIVE_KEY.to_owned(),
            state: ItemState::Live,
            role: Role::AssistantProgress,
            presentation: Presentation {
                visibility: Visibility::Progress,
                category: Category::AssistantProgress,
                title: title.to_owned(),
                body: Some(cut_front(&draft.text, draft.dropped, BODY_BYTES)),
                summary: cut_line(
                    &format!("{title}: {}", suffix(&draft.text, SUMMARY_BYTES)),
                    SUMMARY_BYTES,
                ),
                source_event_kind: DELTA_KIND.to_owned(),
            },
            at: self.at,
            first_seq: self.cursor,
            last_seq: self.cursor,
            event_count: 0,
            turn_index: Some(draft.turn_index),
            reference: None,
            details: Vec::new(),
        }
    }
}

impl Draft {
    /// Adds a piece. After a missed piece the text stays as it is.
    fn push(&mut self, delta: &AssistantDelta) {
        let length = self.dropped + self.text.len() as u64;
        self.is_broken |= delta.offset != length;
        if self.is_broken {
            return;
        }
        self.text.push_str(&delta.text);
        if self.text.len() > 2 * DRAFT_BYTES {
            let kept = suffix(&self.text, DRAFT_BYTES).to_owned();
            self.dropped += (self.text.len() - kept.len()) as u64;
            self.text = kept;
        }
    }
}
