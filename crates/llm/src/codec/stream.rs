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
    /// The event only keeps the connection open.
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

/// The assembler of one streamed answer.
#[derive(Debug)]
pub(crate) enum Assembler {
    Responses(responses::Assembler),
    Anthropic(anthropic::Assembler),
    Chat(chat::Assembler),
}

impl Assembler {
    /// Starts an answer of at most `most` bytes.
    pub(crate) fn new(transport: Transport, most: usize) -> Self {
        match transport {
            Transport::OpenaiResponses | Transport::OpenaiCodexResponses => {
                Self::Responses(responses::Assembler::new(most))
            }
            Transport::AnthropicMessages => Self::Anthropic(anthropic::Assembler::new(most)),
            Transport::OpenaiChatCompletions => Self::Chat(chat::Assembler::new(most)),
        }
    }

    /// Takes the next event: its name, if the frame had one, and its data. Text of the answer goes to `text`.
    pub(crate) fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        text: &mut dyn FnMut(&str),
    ) -> Result<Progress, Fault> {
        if data.trim().is_empty() {
            return Ok(Progress::Idle);
        }
        match self {
            Self::Responses(assembler) => assembler.event(name, data, text),
            Self::Anthropic(assembler) => assembler.event(name, data, text),
            Self::Chat(assembler) => assembler.event(name, data, text),
        }
    }

    /// Returns the whole document after the stream has ended.
    pub(crate) fn finish(self) -> Result<Value, Fault> {
        match self {
            Self::Responses(assembler) => assembler.finish(),
            Self::Anthropic(assembler) => assembler.finish(),
            Self::Chat(assembler) => assembler.finish(),
        }
    }
}

/// Parses the data of an event.
pub(super) fn parsed(data: &str) -> Result<Value, Fault> {
    json::parse(data.as_bytes()).map_err(|error| {
        let what = if error.is_data() {
            "is JSON that is too large to be one"
        } else {
            "is not JSON"
        };
        Fault::malformed(format!("an event of the stream {what}: {error}"))
    })
}

#[cfg(test)]
mod tests;
