//! One round of a script: what the model says, in no protocol's words, and how the server sends it.
//!
//! A round may carry a fault. Faults of the answer itself (cut off, stalled, packed as a bomb) spoil what the round
//! says; faults that are an answer of their own (a status, silence) leave it unsaid.

use super::fault::Fault;
use serde_json::Value;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub struct Round {
    pub(super) spoken: Spoken,
    pub(super) fault: Option<Fault>,
    pub(super) style: Style,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is done, or wants the tools it called.
    Done,
    /// It ran into the output limit.
    MaxOutputTokens,
    /// It would not.
    Refusal,
}

/// A place in an answer where the server can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The request is read; nothing is sent.
    BeforeHeaders,
    /// The head is sent, nothing of the body.
    AfterHeaders,
    /// So many pieces of the body are sent. A streamed event is a piece; other bodies are one unless split.
    AfterPieces(usize),
}

/// What a model says.
#[derive(Debug, Clone)]
pub(super) struct Spoken {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Option<Usage>,
    pub(super) stop: Stop,
}

impl Spoken {
    /// How many calls it makes.
    pub(super) fn calls(&self) -> usize {
        let calls = self.parts.iter();
        calls
            .filter(|part| matches!(part, Part::Call { .. }))
            .count()
    }
}

/// One part of it.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(String),
    Reasoning(String),
    Call { name: String, arguments: Arguments },
}

/// Arguments of a call.
#[derive(Debug, Clone)]
pub(super) enum Arguments {
    /// As they should be.
    Json(Value),
    /// As they are, which may be no JSON.
    Raw(String),
    /// Free text, in a call of its own kind where the protocol has one.
    Text(String),
}

/// Tokens of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

/// How an answer is sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    pub(super) holds: Vec<(Point, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) split: Option<usize>,
    pub(super) packing: Packing,
    pub(super) lines: Lines,
    pub(super) connection: Connection,
}

/// Whether a body is compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Packing {
    #[default]
    Plain,
    Gzip,
}

/// How events are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Lines {
    /// As servers usually do.
    #[default]
    Usual,
    /// CR LF, comments, unknown events and fields between what counts, and data over several lines.
    Odd,
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Connection {
    #[default]
    Kept,
    Closed,
}

impl Round {
    /// Says nothing yet.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            spoken: Spoken {
                parts: Vec::new(),
                usage: Some(Usage {
                    input: 100,
                    output: 20,
                    cached: 0,
                }),
                stop: Stop::Done,
            },
            fault: None,
            style: Style::default(),
        }
    }

    /// Says these words.
    #[must_use]
    pub fn text(words: impl Into<String>) -> Self {
        Self::empty().say(words)
    }

    /// Goes wrong in this way. What else the round says is what the fault spoils, where it spoils an answer.
    #[must_use]
    pub fn fault(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::empty()
        }
    }

    /// Says these words too.
    #[must_use]
    pub fn say(mut self, words: impl Into<String>) -> Self {
        self.spoken.parts.push(Part::Text(words.into()));
        self
    }

    /// Thinks this aloud, and seals it for this server and the model that was asked.
    #[must_use]
    pub fn reasoning(mut self, words: impl Into<String>) -> Self {
        self.spoken.parts.push(Part::Reasoning(words.into()));
        self
    }

    /// Calls a tool.
    #[must_use]
    pub fn call(mut self, tool: &str, input: Value) -> Self {
        self.spoken.parts.push(Part::Call {
            name: tool.to_owned(),
            arguments: Arguments::Json(input),
        });
        self
    }

    /// Calls a tool with arguments as they stand here, which need not be JSON. Where a protocol has no text for
    /// arguments, they are sent as a JSON string.
    #[must_use]
    pub fn raw_call(mut self, tool: &str, arguments: &str) -> Self {
        self.spoken.parts.push(Part::Call {
            name: tool.to_owned(),
            arguments: Arguments::Raw(arguments.to_owned()),
        });
        self
    }

    /// Calls a tool by free text, as a model does that was offered it under a grammar. Where a protocol has no such
    /// calls, it is sent as arguments that stand as they are.
    #[must_use]
    pub fn freeform_call(mut self, tool: &str, text: &str) -> Self {
        self.spoken.parts.push(Part::Call {
            name: tool.to_owned(),
            arguments: Arguments::Text(text.to_owned()),
        });
        self
    }

    /// Costs so many tokens; of the input, so many came from a cache.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.spoken.usage = Some(Usage {
            input,
            output,
            cached,
        });
        self
    }

    /// Says nothing of what it cost.
    #[must_use]
    pub fn no_usage(mut self) -> Self {
        self.spoken.usage = None;
        self
    }

    /// Stops for this reason.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.spoken.stop = stop;
        self
    }

    /// Is held at this point until the test opens the gate of this name.
    #[must_use]
    pub fn hold(mut self, point: Point, gate: &str) -> Self {
        self.style.holds.push((point, gate.to_owned()));
        self
    }

    /// Has this header too.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.style.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends its body in pieces of so many bytes, wherever these fall.
    #[must_use]
    pub fn split(mut self, bytes: usize) -> Self {
        self.style.split = Some(bytes.max(1));
        self
    }

    /// Sends its body compressed.
    #[must_use]
    pub fn gzip(mut self) -> Self {
        self.style.packing = Packing::Gzip;
        self
    }

    /// Writes its events as few servers do but all may: CR LF, comments, unknown events, data over several lines.
    #[must_use]
    pub fn odd_lines(mut self) -> Self {
        self.style.lines = Lines::Odd;
        self
    }

    /// Closes the connection after the answer.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.style.connection = Connection::Closed;
        self
    }
}
