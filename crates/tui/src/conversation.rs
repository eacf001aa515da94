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
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
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
        /// Turn that took it up. Absent while it is queued: the transcript does not have it yet.
        turn: Option<u64>,
    },
    Item(Box<Item>),
}

/// What an event calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Needs {
    /// A brief came, of which the event has only the beginning, or a turn took up a message whose text is not known.
    pub(crate) texts: bool,
    /// The state of the agent may have changed.
    pub(crate) status: bool,
}

/// A text that a row lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lack {
    pub(crate) id: String,
    /// Turn of a message, or position of a brief.
    pub(crate) at: u64,
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
    /// Messages and briefs whose text the host does not have any more.
    gone: BTreeSet<String>,
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
            gone: BTreeSet::new(),
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

    /// Notes that a text was read for and is not there.
    pub(crate) fn mark_gone(&mut self, id: &str) {
        if self.messages.get(id).is_none() && self.briefs.get(id).is_none() {
            self.gone.insert(id.to_owned());
        }
    }

    /// Returns true if the host does not have this text any more.
    pub(crate) fn is_gone(&self, id: &str) -> bool {
        self.gone.contains(id)
    }

    /// Returns the newest message among these rows whose text is not known.
    pub(crate) fn message_without_text(&self, rows: Range<usize>) -> Option<Lack> {
        self.rows.range(rows).rev().find_map(|row| {
            let Content::Message {
                message_id,
                turn: Some(turn),
                ..
            } = &row.content
            else {
                return None;
            };
            let is_known = self.message_text(message_id).is_some() || self.is_gone(message_id);
            (!is_known).then(|| Lack {
                id: message_id.clone(),
                at: *turn,
            })
        })
    }

    /// Returns the newest brief among these rows whose text is not known.
    pub(crate) fn brief_without_text(&self, rows: Range<usize>) -> Option<Lack> {
        self.rows.range(rows).rev().find_map(|row| {
            let Content::Item(item) = &row.content else {
                return None;
            };
            let Some(Reference::Brief(id)) = &item.reference else {
                return None;
            };
            if self.briefs.get(id).is_some() || self.is_gone(id) {
                return None;
            }
            let at = self.brief_seq(row.seq, id)?;
            let id = id.clone();
            Some(Lack { id, at })
        })
    }

    /// Finds the position of a brief in its event, which is not after this one.
    fn brief_seq(&self, last_seq: u64, id: &str) -> Option<u64> {
        let end = self
            .events
            .partition_point(|event| event.event_seq <= last_seq);
        let events = self.events.range(..end).rev();
        let mut briefs = events.filter(|envelope| envelope.kind == "brief_created");
        briefs.find_map(|envelope| match envelope.event() {
            Event::BriefCreated(brief) if brief.brief_id.as_str() == id => Some(brief.brief_seq),
            _ => None,
        })
    }

    /// Returns true if the message with this id has a row.
    pub(crate) fn has_message(&self, id: &str) -> bool {
        let is_it = |row: &Row| matches!(&row.content, Content::Message { message_id, .. } if message_id == id);
        self.rows.iter().rev().any(is_it)
    }

    /// Returns true if a message with this text has a row after this position.
    pub(crate) fn has_text_after(&self, seq: u64, text: &str) -> bool {
        let text = Kept::of(text);
        let mut later = self.rows.iter().rev().take_while(|row| row.seq > seq);
        later.any(|row| match &row.content {
            Content::Message { message_id, .. } => self.message_text(message_id) == Some(&text),
            Content::Item(_) => false,
        })
    }

    /// Takes the events before a stream. Texts stay; events that were kept before are forgotten.
    pub(crate) fn restart(&mut self, events: Vec<EventEnvelope>, has_older: bool) -> Needs {
        self.events.clear();
        self.gone.clear();
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
            needs.texts |= more.texts;
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
            needs.texts |= item.reference.as_ref().is_some_and(is_brief);
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
                        turn: None,
                    },
                });
            }
            Event::TurnStarted(e) if e.message_kind == MessageKind::OperatorPrompt => {
                let id = e.message_id.as_str();
                self.mark_taken(id, e.turn_index);
                needs.texts |= self.message_text(id).is_none();
            }
            Event::OperatorInterjectionAdmitted(e) => {
                let id = e.message_id.as_str();
                if let Some(turn) = e.turn_index {
                    self.mark_taken(id, turn);
                }
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
        let Some(Content::Message { joined, .. }) = self.message(id) else {
            return false;
        };
        *joined = true;
        true
    }

    /// Notes the turn that took a message up.
    fn mark_taken(&mut self, id: &str, index: u64) {
        if let Some(Content::Message { turn, .. }) = self.message(id) {
            *turn = Some(index);
        }
    }

    /// Finds the content of the row of a message.
    fn message(&mut self, id: &str) -> Option<&mut Content> {
        let is_it = |content: &Content| matches!(content, Content::Message { message_id, .. } if message_id == id);
        let mut newest = self.rows.iter_mut().rev().map(|row| &mut row.content);
        newest.find(|content| is_it(content))
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
