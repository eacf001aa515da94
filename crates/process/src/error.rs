//! Errors between host and shim once the command runs.

use crate::wire::Refusal;
use std::io;

/// The reason a request to a running command failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The shim is dead and left no status: it was killed, or the machine went down.
    #[error(
        "the command's supervisor is gone and left no exit status; start the command again if it is still needed"
    )]
    Lost,
    /// The shim does not answer, usually because the command has just ended.
    #[error("the command's supervisor does not answer ({reason}); look at the task's status")]
    Unreachable { reason: String },
    /// The command was started without an input, or its input is closed.
    #[error(
        "the command takes no input, or not any more; start it with accepts_input to write to it"
    )]
    InputClosed,
    /// The input buffer is full because the command does not read.
    #[error(
        "{pending} bytes wait to be read by the command; wait until it has read them, or write less at once"
    )]
    InputFull { pending: u64 },
    /// A line is longer than the command's terminal accepts; no byte of the piece was written.
    #[error(
        "a line of {bytes} bytes is longer than the {most} bytes that a terminal takes before the end of a line, and \
         nothing was taken; write shorter lines, or hand the text over in a file"
    )]
    LineTooLong {
        /// Length of the line without its end.
        bytes: u64,
        /// Longest line the terminal accepts.
        most: u64,
    },
    #[error("the command has no terminal; start it with tty to give it one")]
    NoTerminal,
    #[error("the command has one stream for all output")]
    NoStream,
    #[error(
        "the output file {path} is missing; it was removed by retention, or by somebody else, after the command wrote it"
    )]
    OutputMissing { path: String },
    #[error("the output file could not be read: {reason}")]
    Output { reason: String },
}

impl Error {
    pub(crate) fn unreachable(error: &io::Error) -> Self {
        Self::Unreachable {
            reason: error.to_string(),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let unreachable = |reason: &str| Self::Unreachable {
            reason: reason.to_owned(),
        };
        match refusal {
            Refusal::Nonce => unreachable("it belongs to another task"),
            Refusal::Unknown => unreachable("it is of another version"),
            Refusal::InputClosed => Self::InputClosed,
            Refusal::InputFull { pending } => Self::InputFull { pending },
            Refusal::LineTooLong { bytes, most } => Self::LineTooLong { bytes, most },
            Refusal::NoTerminal => Self::NoTerminal,
            Refusal::NoStream => Self::NoStream,
        }
    }
}
