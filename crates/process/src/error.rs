//! What can go wrong between host and shim once the command runs.

use crate::wire::Refusal;
use std::io;

/// Why a request to a running command was not met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The shim is dead and has left no status: it was killed, or the machine went down.
    #[error(
        "the command's supervisor is gone and left no exit status; start the command again if it is still needed"
    )]
    Lost,
    /// The shim does not answer, most often because the command has ended meanwhile.
    #[error("the command's supervisor does not answer ({reason}); look at the task's status")]
    Unreachable {
        /// What happened instead.
        reason: String,
    },
    /// The command was started without an input, or its input is closed.
    #[error(
        "the command takes no input, or not any more; start it with accepts_input to write to it"
    )]
    InputClosed,
    /// The command does not read what it was given so far.
    #[error(
        "{pending} bytes wait to be read by the command; wait until it has read them, or write less at once"
    )]
    InputFull {
        /// Bytes that wait.
        pending: u64,
    },
    /// A line is longer than the command's terminal takes; nothing of the piece was taken.
    #[error(
        "a line of {bytes} bytes is longer than the {most} bytes that a terminal takes before the end of a line, and \
         nothing was taken; write shorter lines, or hand the text over in a file"
    )]
    LineTooLong {
        /// Its bytes, without what ends it.
        bytes: u64,
        /// The most the terminal takes.
        most: u64,
    },
    /// The command has no terminal.
    #[error("the command has no terminal; start it with tty to give it one")]
    NoTerminal,
    /// The command has no such stream.
    #[error("the command has one stream for all output")]
    NoStream,
    /// The output file was removed.
    #[error("the output file {path} is missing; it was removed after the command wrote it")]
    OutputMissing {
        /// Where it was.
        path: String,
    },
    /// The output file could not be read.
    #[error("the output file could not be read: {reason}")]
    Output {
        /// Why.
        reason: String,
    },
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
