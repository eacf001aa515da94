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
    /// The command has no terminal.
    #[error("the command has no terminal; start it with tty to give it one")]
    NoTerminal,
    /// The command has no such stream.
    #[error("the command has one stream for all output")]
    NoStream,
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
            Refusal::NoTerminal => Self::NoTerminal,
            Refusal::NoStream => Self::NoStream,
        }
    }
}
