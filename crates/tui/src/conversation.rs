//! The conversation: the kept events of one agent and the rows that the reducer made of them.
//!
//! Rows are ordered by the position of their last event, which is also their identity. An event that was taken before
//! changes nothing, so a feed that resumes neither misses nor repeats a row. Events are kept to show them raw and to
//! make the rows of another display mode; beyond a bound the oldest are dropped together with their rows.

mod texts;

pub(crate) use texts::Kept;

use holon_api::EventEnvelope;
use holon_domain::delta::AssistantDelta;
use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_domain::message::MessageKind;
use holon_domain::time::Timestamp;
use holon_presentation::{Category, DisplayMode, Item, Reducer, Reference, Role, rule};
use std::collections::VecDeque;
use texts::{TEXT_BYTES, Texts};

/// Most events that are kept.
pub(crate) const EVENTS_KEPT: usize = 10_000;

/// One row of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Position of its last event; unique.
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) content: Content,
}

/// What a row shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A message of the operator. The event has no text; `Conversation::message_text` has it once it was read.
    Message {
        message_id: String,
        /// True once it joined a turn that was running.
        joined: bool,
    },
    Item(Box<Item>),
}

/// What an event calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Needs {
    /// A brief came; its event has only the beginning of its text.
    pub(crate) briefs: bool,
    /// A turn took up a message whose text is not known.
    pub(crate) messages: bool,
    /// The state of the agent may have changed.
    pub(crate) status: bool,
}

/// Events, rows and texts of one agent.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    events: VecDeque<EventEnvelope>,
    reducer: Reducer,
    mode: DisplayMode,
    rows: VecDeque<Row>,
    messages: Texts,
    briefs: Texts,
    /// True if the host has events before the kept ones.
    pub(crate) has_older: bool,
}

impl Conversation {
    pub(crate) fn new(mode: DisplayMode) -> Self {
        Self {
            events: VecDeque::new(),
            reducer: Reducer::new(mode),
            mode,
            rows: VecDeque::new(),
            messages: Texts::default(),
            briefs: Texts::default(),
            has_older: false,
        }
    }

    pub(crate) const fn mode(&self) -> DisplayMode {
        self.mode
    }

    pub(crate) const fn rows(&self) -> &VecDeque<Row> {
        &self.rows
    }

    /// Kept events, oldest first.
    pub(crate) const fn events(&self) -> &VecDeque<EventEnvelope> {
        &self.events
    }

    /// Returns the row of what the agent does right now.
    pub(crate) fn live_item(&self) -> Option<Item> {
        self.reducer.live_item()
    }

    pub(crate) fn message_text(&self, id: &str) -> Option<&Kept> {
        self.messages.get(id)
    }

    /// Returns the text of a row whose event has only the beginning of a brief.
    pub(crate) fn brief_text(&self, item: &Item) -> Option<String> {
        let Some(Reference::Brief(id)) = &item.reference else {
            return None;
        };
        self.briefs.get(id).map(|kept| kept.shown(TEXT_BYTES))
    }

    pub(crate) fn learn_message(&mut self, id: &str, text: &str) {
        self.messages.learn(id, text);
    }

    pub(crate) fn learn_brief(&mut self, id: &str, text: &str) {
        self.briefs.learn(id, text);
    }

    /// Returns true if the message with this id has a row.
    pub(crate) fn has_message(&self, id: &str) -> bool {
        let is_it = |row: &Row| matches!(&row.content, Content::Message { message_id, .. } if message_id == id);
        self.rows.iter().rev().any(is_it)
    }

    /// Takes the events before a stream. Texts stay; events that were kept before are forgotten.
    pub(crate) fn restart(&mut self, events: Vec<EventEnvelope>, has_older: bool) -> Needs {
        self.events.clear();
        self.has_older = has_older;
        self.make_rows(events)
    }

    /// Puts older events before the kept ones.
    pub(crate) fn prepend(&mut self, older: Vec<EventEnvelope>, has_older: bool) -> Needs {
        self.has_older = has_older;
        let kept = std::mem::take(&mut self.events);
        let events = older.into_iter().chain(kept).collect();
        self.make_rows(events)
    }

    /// Makes the rows of another display mode.
    pub(crate) fn set_mode(&mut self, mode: DisplayMode) {
        self.mode = mode;
        let events = std::mem::take(&mut self.events).into();
        self.make_rows(events);
    }

    fn make_rows(&mut self, events: Vec<EventEnvelope>) -> Needs {
        self.reducer = Reducer::new(self.mode);
        self.rows.clear();
        let mut needs = Needs::default();
        for event in events {
            let more = self.push(event);
            needs.briefs |= more.briefs;
            needs.messages |= more.messages;
            needs.status |= more.status;
        }
        needs
    }

    /// Takes the next event.
    pub(crate) fn push(&mut self, envelope: EventEnvelope) -> Needs {
        let mut needs = Needs::default();
        if envelope.event_seq <= self.reducer.cursor() {
            return needs;
        }
        let record = EventRecord {
            event_seq: envelope.event_seq,
            at: envelope.ts,
            event: envelope.event(),
            labels: None,
        };
        for item in self.reducer.push(&record) {
            needs.briefs |= item.reference.as_ref().is_some_and(is_brief);
            self.add_item(item);
        }
        needs.status = changes_status(&record.event);
        match &record.event {
            Event::MessageAdmitted(e) if e.kind == MessageKind::OperatorPrompt => {
                let message_id = e.message_id.as_str().to_owned();
                self.add_row(Row {
                    seq: record.event_seq,
                    at: record.at,
                    content: Content::Message {
                        message_id,
                        joined: false,
                    },
                });
            }
            Event::TurnStarted(e) if e.message_kind == MessageKind::OperatorPrompt => {
                needs.messages = self.message_text(e.message_id.as_str()).is_none();
            }
            Event::TurnTerminal(_) => needs.messages = self.lacks_text(),
            Event::OperatorInterjectionAdmitted(e) => {
                let id = e.message_id.as_str();
                if self.message_text(id).is_none() {
                    self.learn_message(id, &e.text_preview);
                }
            }
            _ => {}
        }
        self.events.push_back(envelope);
        self.drop_oldest();
        needs
    }

    /// Returns true if a message among the newest rows has no text yet.
    fn lacks_text(&self) -> bool {
        let newest = self.rows.iter().rev().take(20);
        newest
            .filter_map(|row| match &row.content {
                Content::Message { message_id, .. } => Some(message_id),
                Content::Item(_) => None,
            })
            .any(|id| self.message_text(id).is_none())
    }

    /// Takes a piece of a streamed answer.
    pub(crate) fn push_delta(&mut self, delta: &AssistantDelta) {
        self.reducer.push_delta(delta);
    }

    fn add_item(&mut self, item: Item) {
        if let (Role::UserMessage, Some(Reference::Message(id))) = (item.role, &item.reference)
            && self.mark_joined(id)
        {
            return;
        }
        self.add_row(Row {
            seq: item.last_seq,
            at: item.at,
            content: Content::Item(Box::new(item)),
        });
    }

    /// Marks the row of a message as one that joined the running turn. Returns false if it has no row.
    fn mark_joined(&mut self, id: &str) -> bool {
        for row in self.rows.iter_mut().rev() {
            if let Content::Message { message_id, joined } = &mut row.content
                && message_id == id
            {
                *joined = true;
                return true;
            }
        }
        false
    }

    /// Adds a row at its place. A row that was held back comes after rows of later events.
    fn add_row(&mut self, row: Row) {
        let later = self
            .rows
            .iter()
            .rev()
            .take_while(|other| other.seq > row.seq);
        let at = self.rows.len() - later.count();
        self.rows.insert(at, row);
    }

    fn drop_oldest(&mut self) {
        if self.events.len() <= EVENTS_KEPT {
            return;
        }
        self.events.pop_front();
        self.has_older = true;
        let first = self.events.front().map_or(0, |event| event.event_seq);
        while self.rows.front().is_some_and(|row| row.seq < first) {
            self.rows.pop_front();
        }
    }
}

const fn is_brief(reference: &Reference) -> bool {
    matches!(reference, Reference::Brief(_))
}

/// Returns true for events after which the status of the agent is read again.
fn changes_status(event: &Event) -> bool {
    matches!(event, Event::TurnStarted(_) | Event::TurnTerminal(_))
        || matches!(
            rule::of(event).category,
            Category::StateSync | Category::Waiting | Category::Task | Category::Control
        )
}

#[cfg(test)]
mod tests;
