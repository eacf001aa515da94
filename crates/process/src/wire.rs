//! The private protocol between host and shim: one question and one answer per connection.
//!
//! A message is a line of JSON, followed by as many raw bytes as the line announces. Questions carry the nonce.
//! New kinds and fields may be added; a shim answers what it does not know with a refusal.

use crate::record::{Identity, Outcome, OutputFacts, Stream};
use serde::{Deserialize, Serialize};

/// The lock a shim holds for life, in the task's directory. Text in it says that the spec will not be claimed any more.
pub(crate) const LOCK: &str = "spec.lock";
/// How the text begins when a shim claimed the spec.
pub(crate) const CLAIMED: &str = "claimed";
/// The text of a host that found the spec unclaimed.
pub(crate) const GIVEN_UP: &str = "given up\n";
/// What came of the command, written once.
pub(crate) const STATUS: &str = "status.json";
/// Its name until everything of it is on disk.
pub(crate) const UNFINISHED: &str = "status.tmp";
/// Who the shim and its command are, noted at the command's birth: a line that says where numbers of processes mean
/// what they say, the system's lines of both, and the name of the scheduler's group the command began with its session.
pub(crate) const BORN: &str = "born";
/// The shim's socket.
pub(crate) const SOCKET: &str = "shim.sock";

/// Longest line of a message. A line carries paths and numbers; bulk travels in the body.
pub(crate) const LINE_BYTES: usize = 64 << 10;
/// Longest body of a message, and most input a shim holds for a command that does not read it.
pub(crate) const BODY_BYTES: usize = 1 << 20;

/// A question.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) nonce: String,
    pub(crate) ask: Ask,
    /// Bytes that follow the line.
    #[serde(default)]
    pub(crate) body: usize,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Ask {
    /// Who are you?
    Hello,
    /// How did it end? Answered at the end.
    Wait,
    /// Write the body to the command's input. Numbers grow, with gaps if need be; one that does not is done already.
    Input { number: u64 },
    /// Close the command's input after everything written so far. Numbered like input.
    CloseInput { number: u64 },
    /// Change the terminal's size.
    Resize { rows: u16, columns: u16 },
    /// Signal the command's foreground.
    Signal { signal: i32 },
    /// End it all: ask, and after the grace kill.
    Stop { grace_ms: u64 },
    /// What is kept of the output?
    Facts,
    /// Bytes from the part of a stream that is held in memory.
    Tail {
        stream: Stream,
        after: u64,
        max: usize,
    },
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    /// Bytes that follow the line.
    #[serde(default)]
    pub(crate) body: usize,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Answer {
    /// To [`Ask::Hello`].
    Hello(Identity),
    /// To [`Ask::Wait`].
    Over(Outcome),
    /// It is done, or was done before.
    Done,
    /// To [`Ask::Facts`].
    Facts(OutputFacts),
    /// To [`Ask::Tail`]: the body begins at this offset of a stream of so many bytes.
    Tail { at: u64, total: u64 },
    /// It is not done.
    Refused(Refusal),
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub(crate) enum Refusal {
    /// The nonce is another's.
    Nonce,
    /// The question is not understood.
    Unknown,
    /// The command takes no input, or not any more.
    InputClosed,
    /// The command does not read what it was given so far.
    InputFull { pending: u64 },
    /// A line of so many bytes is longer than a terminal that edits lines takes.
    LineTooLong { bytes: u64, most: u64 },
    /// There is no terminal.
    NoTerminal,
    /// There is no such stream.
    NoStream,
}

/// A message as bytes.
pub(crate) fn encode(line: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(body);
    Ok(bytes)
}
