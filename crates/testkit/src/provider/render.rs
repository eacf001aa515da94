//! Renders the content of a round in a protocol.

mod chat;
mod messages;
mod responses;

use super::mint::Mint;
use super::protocol::Protocol;
use super::round::{Arguments, ModelOutput};
use serde_json::{Value, json};

/// An answer before it is serialised.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RenderedAnswer {
    Document(Value),
    /// A stream of events; the last one marks the end.
    Events(Vec<Event>),
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// An event whose data repeats its name.
    Named { name: &'static str, data: Value },
    /// An event without a name.
    Bare(Value),
    /// The text that ends a stream of Chat Completions.
    Done,
}

impl Event {
    fn named(name: &'static str, data: Value) -> Self {
        Self::Named { name, data }
    }
}

/// The ids of the calls in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallIds {
    Own,
    Same,
    Missing,
}

/// The content of an answer and the source of its ids.
#[derive(Debug)]
pub(super) struct Voice<'a> {
    pub(super) spoken: &'a ModelOutput,
    pub(super) mint: &'a Mint,
    pub(super) ids: CallIds,
}

impl Voice<'_> {
    /// Id of the call at this place.
    fn call_id(&self, place: usize) -> Value {
        match self.ids {
            CallIds::Own => json!(self.mint.call(place)),
            CallIds::Same => json!(self.mint.call(0)),
            CallIds::Missing => Value::Null,
        }
    }

    fn has_calls(&self) -> bool {
        self.spoken.calls() > 0
    }
}

/// The form in which a request wants its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    Streamed,
}

/// Renders the answer in this protocol.
pub(super) fn answer(protocol: Protocol, form: Form, voice: &Voice<'_>) -> RenderedAnswer {
    match (protocol, form) {
        (Protocol::Responses, Form::Whole) => RenderedAnswer::Document(responses::document(voice)),
        (Protocol::Messages, Form::Whole) => RenderedAnswer::Document(messages::document(voice)),
        (Protocol::Chat, Form::Whole) => RenderedAnswer::Document(chat::document(voice)),
        (Protocol::Codex, _) => RenderedAnswer::Events(responses::codex_events(voice)),
        (Protocol::Responses, Form::Streamed) => RenderedAnswer::Events(responses::events(voice)),
        (Protocol::Messages, Form::Streamed) => RenderedAnswer::Events(messages::events(voice)),
        (Protocol::Chat, Form::Streamed) => RenderedAnswer::Events(chat::events(voice)),
    }
}

/// Renders an answer with a good status that reports a failure.
pub(super) fn failed(
    protocol: Protocol,
    form: Form,
    mint: &Mint,
    code: &str,
    message: &str,
) -> RenderedAnswer {
    match (protocol, form) {
        (Protocol::Responses, Form::Whole) => {
            RenderedAnswer::Document(responses::failed(mint, code, message))
        }
        (Protocol::Codex, _) | (Protocol::Responses, Form::Streamed) => {
            RenderedAnswer::Events(vec![
                responses::created(mint),
                Event::named(
                    "response.failed",
                    json!({ "response": responses::failed(mint, code, message) }),
                ),
            ])
        }
        (Protocol::Messages, form) => {
            let error = json!({ "type": "overloaded_error", "message": message });
            match form {
                Form::Whole => RenderedAnswer::Document(json!({ "type": "error", "error": error })),
                Form::Streamed => {
                    RenderedAnswer::Events(vec![Event::named("error", json!({ "error": error }))])
                }
            }
        }
        (Protocol::Chat, form) => {
            let error = json!({ "error": { "message": message, "type": code, "code": 502 } });
            match form {
                Form::Whole => RenderedAnswer::Document(error),
                Form::Streamed => RenderedAnswer::Events(vec![Event::Bare(error)]),
            }
        }
    }
}

/// Events that say that the arguments of a call are complete.
const CLOSING: [&str; 3] = [
    "content_block_stop",
    "response.custom_tool_call_input.done",
    "response.function_call_arguments.done",
];

impl RenderedAnswer {
    /// Removes the events that say that arguments are complete. Chat Completions has none, and a document neither.
    pub(super) fn without_closing(self) -> Self {
        match self {
            Self::Events(mut events) => {
                events.retain(|event| match event {
                    Event::Named { name, .. } => !CLOSING.contains(name),
                    Event::Bare(_) | Event::Done => true,
                });
                Self::Events(events)
            }
            document @ Self::Document(_) => document,
        }
    }

    /// Removes the mark of the end.
    pub(super) fn without_end(self, protocol: Protocol) -> Self {
        match self {
            Self::Events(mut events) => {
                // A chat stream without its last line is complete if it told its reason to stop.
                let is_end = |event: &Event| match event {
                    Event::Done => true,
                    Event::Bare(data) => !data["choices"][0]["finish_reason"].is_null(),
                    Event::Named { .. } => false,
                };
                match protocol {
                    Protocol::Chat => events.retain(|event| !is_end(event)),
                    Protocol::Responses | Protocol::Codex | Protocol::Messages => {
                        events.pop();
                    }
                }
                Self::Events(events)
            }
            Self::Document(mut document) => {
                match protocol {
                    Protocol::Responses | Protocol::Codex => {
                        document["status"] = json!("in_progress");
                    }
                    Protocol::Messages => document["stop_reason"] = Value::Null,
                    Protocol::Chat => document["choices"][0]["finish_reason"] = Value::Null,
                }
                Self::Document(document)
            }
        }
    }
}

/// Arguments as text, for protocols that carry text.
fn arguments_text(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Raw(text) | Arguments::Text(text) => text.clone(),
    }
}

/// Arguments as JSON, for protocols that carry JSON.
fn arguments_json(arguments: &Arguments) -> Value {
    match arguments {
        Arguments::Json(value) => value.clone(),
        Arguments::Raw(text) | Arguments::Text(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
    }
}

/// Adds the id, if there is one.
fn with_id(mut call: Value, name: &str, id: Value) -> Value {
    if !id.is_null() {
        call[name] = id;
    }
    call
}
