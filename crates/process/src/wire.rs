//! The private protocol between host and shim: one request and one reply per connection.
//!
//! A message is a line of JSON, followed by as many raw bytes as the line announces. Requests carry the nonce. New
//! kinds and fields may be added; a shim refuses a request it does not know.

use crate::record::{Identity, Outcome, OutputRecord, Stream};
use serde::{Deserialize, Serialize};

/// Lock file that a shim holds for its lifetime, in the command's directory. Text in it means that the spec will not be
/// claimed any more.
pub(crate) const LOCK: &str = "spec.lock";
/// Prefix of the text after a shim has claimed the spec.
pub(crate) const CLAIMED: &str = "claimed";
/// Text of a host that found the spec unclaimed and marked it.
pub(crate) const GIVEN_UP: &str = "given up\n";
/// Status file with the outcome of the command, written once.
pub(crate) const STATUS: &str = "status.json";
/// Name of the status file until it is complete and on disk.
pub(crate) const UNFINISHED: &str = "status.tmp";
/// Birth record of the shim and its command. Its lines are: boot id and pid namespace, the `/proc/<pid>/stat` lines
/// of shim and command, and the autogroup of the command's session.
pub(crate) const BORN: &str = "born";
/// Name of the shim's socket.
pub(crate) const SOCKET: &str = "shim.sock";

/// Longest line of a message. A line carries paths and numbers; bulk data is in the body.
pub(crate) const LINE_BYTES: usize = 64 << 10;
/// Longest body of a message, and the most input a shim buffers for a command that does not read it.
pub(crate) const BODY_BYTES: usize = 1 << 20;

/// The first line of a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestLine {
    pub(crate) nonce: String,
    #[serde(rename = "ask")]
    pub(crate) request: Request,
    /// Bytes that follow the line.
    #[serde(default)]
    pub(crate) body: usize,
}

/// A request of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Request {
    Hello,
    /// Returns the outcome; the reply is sent when the command has ended.
    Wait,
    /// Writes the body to the command's input. Numbers grow, with gaps allowed; a number that is not greater than the
    /// last one was handled before.
    Input {
        number: u64,
    },
    /// Closes the command's input after everything written so far. Numbered like input.
    CloseInput {
        number: u64,
    },
    /// As `Input`, of an operator. Its numbers are counted apart from those of `Input`.
    OperatorInput {
        number: u64,
    },
    /// As `CloseInput`, of an operator.
    OperatorCloseInput {
        number: u64,
    },
    Resize {
        rows: u16,
        columns: u16,
    },
    /// Signals the foreground process group.
    Signal {
        signal: i32,
    },
    /// Sends SIGTERM to all processes, and SIGKILL after the grace period.
    Stop {
        grace_ms: u64,
    },
    /// Returns the facts about the output.
    Facts,
    /// Returns bytes from the part of a stream that is held in memory.
    Tail {
        stream: Stream,
        after: u64,
        max: usize,
    },
}

/// The first line of a reply.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReplyLine {
    pub(crate) answer: Answer,
    /// Bytes that follow the line.
    #[serde(default)]
    pub(crate) body: usize,
}

/// The result of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Answer {
    Hello(Identity),
    /// Reply to [`Request::Wait`], sent at the end of the command.
    #[serde(rename = "over")]
    Ended(Outcome),
    /// The request was carried out, now or earlier.
    Done,
    Facts(OutputRecord),
    /// Reply to [`Request::Tail`]: the body starts at this offset of a stream of `total` bytes.
    Tail {
        at: u64,
        total: u64,
    },
    Refused(Refusal),
}

/// The reason a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub(crate) enum Refusal {
    /// The nonce does not match.
    Nonce,
    /// The request could not be decoded or is not known.
    Unknown,
    /// The command takes no input, or its input is closed.
    InputClosed,
    /// The buffer is full because the command does not read its input.
    InputFull {
        pending: u64,
    },
    /// The line is longer than a terminal in line mode accepts.
    LineTooLong {
        bytes: u64,
        most: u64,
    },
    NoTerminal,
    NoStream,
}

/// Encodes a message as a line and its body.
pub(crate) fn encode(line: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(body);
    Ok(bytes)
}
