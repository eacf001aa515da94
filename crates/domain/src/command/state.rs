//! The state of a command: one enum for everyone who asks whether a command runs and how it ended.
//!
//! Owns the cases and the sentences said about a state that cannot be known. How a state is found out is decided by
//! the supervisor's own crate; what follows from it, by whoever asked.

use super::{AliveCommand, CommandFailure};
use std::fmt;

/// What is known about a command.
///
/// `R` is what the asker gets of a command that runs (a handle, or facts about it), and `E` what it gets of one that
/// ended. A state that cannot be `Running`, such as that of a command that was just stopped, has
/// [`Infallible`](std::convert::Infallible) for `R`, and matches need no arm for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState<R, E> {
    /// No supervisor ever took it on. It did not run, and an attempt that comes late will not run it either.
    NeverStarted,
    /// It runs: its supervisor holds its lock. A supervisor that does not answer may wait for its disk and is alive, too.
    Running(R),
    /// It ran and ended, and how it ended is on record.
    Ended(E),
    /// It could not be started, and the reason is on record.
    Failed(CommandFailure),
    /// It may have run, and it cannot be proven that it runs or how it ended.
    Unknown(UnknownCause),
}

/// The state of a command without its output: what a probe finds in a bounded time.
pub type CommandProbe = CommandState<AliveCommand, ()>;

impl<R, E> CommandState<R, E> {
    /// The same state with another value for a command that runs.
    pub fn map_running<T>(self, map: impl FnOnce(R) -> T) -> CommandState<T, E> {
        match self {
            Self::NeverStarted => CommandState::NeverStarted,
            Self::Running(running) => CommandState::Running(map(running)),
            Self::Ended(ended) => CommandState::Ended(ended),
            Self::Failed(failure) => CommandState::Failed(failure),
            Self::Unknown(cause) => CommandState::Unknown(cause),
        }
    }

    /// The same state with another value for a command that ended.
    pub fn map_ended<T>(self, map: impl FnOnce(E) -> T) -> CommandState<R, T> {
        match self {
            Self::NeverStarted => CommandState::NeverStarted,
            Self::Running(running) => CommandState::Running(running),
            Self::Ended(ended) => CommandState::Ended(map(ended)),
            Self::Failed(failure) => CommandState::Failed(failure),
            Self::Unknown(cause) => CommandState::Unknown(cause),
        }
    }
}

/// Why the state of a command cannot be known. It is shown to operators and models as a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownCause {
    /// Its supervisor took it on, is dead, and left no record of how it ended or whether it had begun.
    SupervisorDied,
    /// Its supervisor did not answer, so it was killed together with the command's session.
    SupervisorKilled,
    /// Its supervisor did not answer and could not be killed, or its lock cannot be read. The command may still run.
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
            State::Failed(failed),
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
