//! Assembles a streamed answer into the document that the same provider would have sent whole.
//!
//! Each protocol has an assembler; the decoder of whole answers then reads what it built, so a streamed answer and a
//! whole one cannot be understood differently. Text is passed on as it arrives. Invariants: only a terminal event makes
//! an answer, events after it are ignored, and everything kept stays within a byte budget.

use super::{Fault, anthropic, chat, json, responses};
use holon_domain::provider::Transport;
use serde_json::Value;

/// Tells the reader of a stream how it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The event brought no content. It may only keep the connection open.
    Idle,
    /// The event brought content; more follows.
    More,
    /// The terminal event has been read.
    Done,
}

/// Bytes that one answer may still take.
#[derive(Debug)]
pub(super) struct Budget {
    most: usize,
    left: usize,
}

impl Budget {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, left: most }
    }

    /// Bytes that are not taken yet.
    pub(super) const fn left(&self) -> usize {
        self.left
    }

    /// Counts bytes that are kept.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Fault> {
        let Some(left) = self.left.checked_sub(bytes) else {
            return Err(Fault::malformed(format!(
                "the answer in the stream takes more than {} bytes",
                self.most
            )));
        };
        self.left = left;
        Ok(())
    }
}

/// Data of the last event of a Chat Completions stream. Some gateways add it to other protocols.
const END_MARK: &str = "[DONE]";

/// The assembler of one streamed answer.
#[derive(Debug)]
pub(crate) struct Assembler {
    document: Document,
    /// True after the terminal event. Later events are ignored.
    is_over: bool,
}

/// The part of an answer that has arrived, by protocol.
#[derive(Debug)]
enum Document {
    Responses(responses::Assembler),
    Anthropic(anthropic::Assembler),
    Chat(chat::Assembler),
}

impl Assembler {
    /// Starts an answer of at most `most` bytes.
    pub(crate) fn new(transport: Transport, most: usize) -> Self {
        let document = match transport {
            Transport::OpenaiResponses | Transport::OpenaiCodexResponses => {
                Document::Responses(responses::Assembler::new(most))
            }
            Transport::AnthropicMessages => Document::Anthropic(anthropic::Assembler::new(most)),
            Transport::OpenaiChatCompletions => Document::Chat(chat::Assembler::new(most)),
        };
        Self {
            document,
            is_over: false,
        }
    }

    /// Takes the next event: its name, if the frame had one, and its data. Text of the answer goes to `text`.
    pub(crate) fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        text: &mut dyn FnMut(&str),
    ) -> Result<Progress, Fault> {
        if self.is_over {
            return Ok(Progress::Done);
        }
        let progress = match (&mut self.document, data.trim()) {
            (_, "") => Progress::Idle,
            (Document::Chat(_), END_MARK) => Progress::Done,
            (Document::Responses(_) | Document::Anthropic(_), END_MARK) => Progress::Idle,
            (Document::Responses(assembler), data) => assembler.event(name, data, text)?,
            (Document::Anthropic(assembler), data) => assembler.event(name, data, text)?,
            (Document::Chat(assembler), data) => assembler.event(name, data, text)?,
        };
        self.is_over = progress == Progress::Done;
        Ok(progress)
    }

    /// Returns the whole document after the stream has ended, or that the stream was cut off.
    pub(crate) fn finish(self) -> Result<Value, Fault> {
        match self.document {
            Document::Chat(assembler) if self.is_over || assembler.has_reason_to_stop() => {
                Ok(assembler.finish())
            }
            Document::Anthropic(assembler) if self.is_over => Ok(assembler.finish()),
            Document::Responses(assembler) => assembler.finish(),
            Document::Chat(_) | Document::Anthropic(_) => Err(Fault::CutOff),
        }
    }
}

/// Parses an event that names its kind in the member `type`, or in the frame.
pub(super) fn parsed_with_kind(name: Option<&str>, data: &str) -> Result<(String, Value), Fault> {
    let event = parsed(data)?;
    let kind = event.get("type").and_then(Value::as_str).or(name);
    Ok((kind.unwrap_or_default().to_owned(), event))
}

/// Parses the data of an event.
pub(super) fn parsed(data: &str) -> Result<Value, Fault> {
    json::parse_answer(data.as_bytes()).map_err(|error| {
        if error.is_data() {
            return Fault::malformed(format!(
                "an event of the stream is JSON that is too large to be one: {error}"
            ));
        }
        Fault::NotJson {
            what: format!("an event of the stream is not JSON: {error}"),
        }
    })
}

#[cfg(test)]
mod tests;
