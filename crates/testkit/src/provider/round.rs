//! One round of a script: the model's output, independent of the protocol, and the way the server sends it.
//!
//! A round may carry a fault. Faults of the answer itself (cut off, stalled, a compression bomb) change the round's
//! output; faults that replace the answer (a status, silence) drop it.

use super::fault::Fault;
use serde_json::Value;

/// The server's behaviour for one request.
#[derive(Debug, Clone)]
pub struct Round {
    pub(super) spoken: ModelOutput,
    pub(super) fault: Option<Fault>,
    pub(super) style: Style,
}

/// The model's stop reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model has finished, or waits for the tools it called.
    Done,
    /// The output limit was reached.
    MaxOutputTokens,
    /// The model refused to answer.
    Refusal,
}

/// A point in an answer where the server can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The request is read; nothing is sent.
    BeforeHeaders,
    /// The head is sent, nothing of the body.
    AfterHeaders,
    /// This many pieces of the body are sent. A streamed event is a piece; other bodies are one piece unless split.
    AfterPieces(usize),
}

/// The output of a model.
#[derive(Debug, Clone)]
pub(super) struct ModelOutput {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Option<Usage>,
    pub(super) stop: Stop,
}

impl ModelOutput {
    /// Number of calls in it.
    pub(super) fn calls(&self) -> usize {
        let calls = self.parts.iter();
        calls
            .filter(|part| matches!(part, Part::Call { .. }))
            .count()
    }
}

/// One part of a model's output.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(String),
    Reasoning(String),
    Call { name: String, arguments: Arguments },
}

/// Arguments of a call.
#[derive(Debug, Clone)]
pub(super) enum Arguments {
    Json(Value),
    /// Literal text, which may be no JSON.
    Raw(String),
    /// Free text, sent as a call of its own kind where the protocol has one.
    Text(String),
}

/// Token usage of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
    /// Part of the input that was written to the cache. Only the Messages protocol reports it.
    pub(super) written: u64,
}

/// The way an answer is sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    pub(super) holds: Vec<(Point, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) split: Option<usize>,
    pub(super) packing: Packing,
    pub(super) lines: Lines,
    pub(super) connection: Connection,
    pub(super) never_streams: bool,
}

/// The compression of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Packing {
    #[default]
    Plain,
    Gzip,
}

/// The syntax of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Lines {
    #[default]
    Usual,
    /// CR LF, comments, unknown events and fields, and data over several lines.
    Odd,
}

/// The state of the connection after the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Connection {
    #[default]
    Kept,
    Closed,
}

impl Round {
    /// Creates a round without output.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            spoken: ModelOutput {
                parts: Vec::new(),
                usage: Some(Usage {
                    input: 100,
                    output: 20,
                    cached: 0,
                    written: 0,
                }),
                stop: Stop::Done,
            },
            fault: None,
            style: Style::default(),
        }
    }

    /// Creates a round with this text.
    #[must_use]
    pub fn text(words: impl Into<String>) -> Self {
        Self::empty().say(words)
    }

    /// Creates a round with this fault. A fault of the answer itself changes the round's further output.
    #[must_use]
    pub fn fault(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::empty()
        }
    }

    /// Adds this text to the output.
    #[must_use]
    pub fn say(mut self, words: impl Into<String>) -> Self {
        self.spoken.parts.push(Part::Text(words.into()));
        self
    }

    /// Adds reasoning, sealed for this server and the requested model.
    #[must_use]
    pub fn reasoning(mut self, words: impl Into<String>) -> Self {
        self.spoken.parts.push(Part::Reasoning(words.into()));
        self
    }

    /// Adds a call of a tool.
    #[must_use]
    pub fn call(mut self, tool: &str, input: Value) -> Self {
        self.spoken.parts.push(Part::Call {
            name: tool.to_owned(),
            arguments: Arguments::Json(input),
        });
        self
    }

    /// Adds a call with literal arguments, which need not be JSON. Protocols without text arguments send them as a JSON
    /// string.
    #[must_use]
    pub fn raw_call(mut self, tool: &str, arguments: &str) -> Self {
        self.spoken.parts.push(Part::Call {
            name: tool.to_owned(),
            arguments: Arguments::Raw(arguments.to_owned()),
        });
        self
    }

    /// Adds a call by free text, as from a model that was offered the tool under a grammar. Protocols without such
    /// calls send it as literal arguments.
    #[must_use]
    pub fn freeform_call(mut self, tool: &str, text: &str) -> Self {
        self.spoken.parts.push(Part::Call {
            name: tool.to_owned(),
            arguments: Arguments::Text(text.to_owned()),
        });
        self
    }

    /// Sets the token usage; `cached` is a part of `input`.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.spoken.usage = Some(Usage {
            input,
            output,
            cached,
            written: 0,
        });
        self
    }

    /// Sets the part of the input that was written to the provider's cache. Only the Messages protocol reports it.
    #[must_use]
    pub fn written_to_cache(mut self, tokens: u64) -> Self {
        if let Some(usage) = &mut self.spoken.usage {
            usage.written = tokens;
        }
        self
    }

    /// Omits the token usage.
    #[must_use]
    pub fn no_usage(mut self) -> Self {
        self.spoken.usage = None;
        self
    }

    /// Sets the stop reason.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.spoken.stop = stop;
        self
    }

    /// Holds the answer at this point until the test opens the gate of this name.
    #[must_use]
    pub fn hold(mut self, point: Point, gate: &str) -> Self {
        self.style.holds.push((point, gate.to_owned()));
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.style.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in pieces of this many bytes.
    #[must_use]
    pub fn split(mut self, bytes: usize) -> Self {
        self.style.split = Some(bytes.max(1));
        self
    }

    /// Sends the body compressed with gzip.
    #[must_use]
    pub fn gzip(mut self) -> Self {
        self.style.packing = Packing::Gzip;
        self
    }

    /// Writes events in unusual but valid syntax: CR LF, comments, unknown events, data over several lines.
    #[must_use]
    pub fn odd_lines(mut self) -> Self {
        self.style.lines = Lines::Odd;
        self
    }

    /// Answers with one document even if the request asks for a stream.
    #[must_use]
    pub fn never_stream(mut self) -> Self {
        self.style.never_streams = true;
        self
    }

    /// Closes the connection after the answer.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.style.connection = Connection::Closed;
        self
    }
}
