//! State of a command: one enum for every question whether a command runs and how it ended.
//!
//! Owns the cases and the sentences about an unknown state. The supervisor's crate finds the state out; the caller
//! decides what follows.

use super::{AliveCommand, CommandFailure};
use std::fmt;

/// Knowledge about a command.
///
/// `R` is the value for a running command (a handle, or facts about it), and `E` the value for an ended one. A state
/// that cannot be `Running`, such as that of a command that was just stopped, has
/// [`Infallible`](std::convert::Infallible) for `R`, and matches need no arm for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState<R, E> {
    /// No supervisor ever claimed the command. It did not run, and a late attempt will not run it either.
    NeverStarted,
    /// The command runs: its supervisor holds its lock. A supervisor that does not answer may wait for its disk and
    /// counts as alive.
    Running(R),
    /// The command ran and ended; its end is on record.
    Ended(E),
    /// The command could not be started; the reason is on record.
    StartFailed(CommandFailure),
    /// The command may have run. It cannot be proven that it runs or how it ended.
    Unknown(UnknownCause),
}

/// State of a command without its output, as a probe finds it in a bounded time.
pub type CommandProbe = CommandState<AliveCommand, ()>;

impl<R, E> CommandState<R, E> {
    /// Converts the value of a running command and keeps all other states.
    pub fn map_running<T>(self, map: impl FnOnce(R) -> T) -> CommandState<T, E> {
        match self {
            Self::NeverStarted => CommandState::NeverStarted,
            Self::Running(running) => CommandState::Running(map(running)),
            Self::Ended(ended) => CommandState::Ended(ended),
            Self::StartFailed(failure) => CommandState::StartFailed(failure),
            Self::Unknown(cause) => CommandState::Unknown(cause),
        }
    }

    /// Converts the value of an ended command and keeps all other states.
    pub fn map_ended<T>(self, map: impl FnOnce(E) -> T) -> CommandState<R, T> {
        match self {
            Self::NeverStarted => CommandState::NeverStarted,
            Self::Running(running) => CommandState::Running(running),
            Self::Ended(ended) => CommandState::Ended(map(ended)),
            Self::StartFailed(failure) => CommandState::StartFailed(failure),
            Self::Unknown(cause) => CommandState::Unknown(cause),
        }
    }
}

/// Reason for which the state of a command cannot be known. Operators and models read it as a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownCause {
    /// The supervisor claimed the command and died without a record of its start or end.
    SupervisorDied,
    /// The supervisor did not answer, so it was killed together with the command's session.
    SupervisorKilled,
    /// The supervisor did not answer and could not be killed, or its lock cannot be read. The command may still run.
    SupervisorSilent,
}

impl fmt::Display for UnknownCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SupervisorDied => {
                "its supervisor was killed, or the machine went down, before anybody could note how it ended"
            }
            Self::SupervisorKilled => {
                "its supervisor did not answer and was killed, with what ran under it"
            }
            Self::SupervisorSilent => {
                "its supervisor does not answer; parts of it may still run"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type State = CommandState<u8, u8>;

    #[test]
    fn a_map_changes_its_own_case_and_no_other() {
        let failed = CommandFailure::Cancelled;
        for state in [
            State::NeverStarted,
            State::StartFailed(failed),
            State::Unknown(UnknownCause::SupervisorDied),
            State::Ended(1),
        ] {
            assert_eq!(state.clone().map_running(|value| value + 1), state);
        }
        assert_eq!(
            State::Running(1).map_running(|value| value + 1),
            State::Running(2)
        );
        assert_eq!(
            State::Running(1).map_ended(|value| value + 1),
            State::Running(1)
        );
        assert_eq!(
            State::Ended(1).map_ended(|value| value + 1),
            State::Ended(2)
        );
    }
}
