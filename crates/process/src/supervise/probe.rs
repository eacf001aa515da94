//! What the directory of a task says of it, whoever holds it or held it.

use super::holder::{self, Held};
use crate::error::Error;
use crate::record::{Ended, Outcome};
use crate::wire::STATUS;
use holon_domain::command::{CommandState, UnknownCause};
use std::io;
use std::path::Path;

/// By what a task is found.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// Its own directory.
    pub state_dir: &'a Path,
    /// Its id. A shim that runs another task is not taken for this one's, whatever else it answers.
    pub task_id: &'a str,
    /// What its shim answers to.
    pub nonce: &'a str,
}

/// The directory's part of [`CommandState::Running`]: a process holds the task's lock, and was not asked anything yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LockHeld;

/// The state of a task by its directory alone.
pub(super) type DirectoryState = CommandState<LockHeld, Box<Ended>>;

/// Reads the state of a task from its directory. If no process holds its lock, the task is marked so that a shim that
/// comes late does not run it.
pub(super) async fn probe(state_dir: &Path) -> DirectoryState {
    let state_dir = state_dir.to_owned();
    let look = move || {
        if let Some(outcome) = read_status(&state_dir) {
            return outcome.into_state();
        }
        match holder::give_up_unless_held(&state_dir) {
            // It may have ended between the two looks.
            Ok(Held::NotAnyMore) => read_status(&state_dir).map_or(
                CommandState::Unknown(UnknownCause::SupervisorDied),
                Outcome::into_state,
            ),
            Ok(Held::Never) => CommandState::NeverStarted,
            Ok(Held::Yes) => CommandState::Running(LockHeld),
            Err(error) if error.kind() == io::ErrorKind::NotFound => CommandState::NeverStarted,
            // A directory that cannot be read does not prove that the shim is dead.
            Err(_) => CommandState::Running(LockHeld),
        }
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or(CommandState::Running(LockHeld))
}

/// The state, unless the lock is held.
pub(super) fn known<R>(state: DirectoryState) -> Option<CommandState<R, Box<Ended>>> {
    match state {
        CommandState::Running(LockHeld) => None,
        CommandState::NeverStarted => Some(CommandState::NeverStarted),
        CommandState::Ended(ended) => Some(CommandState::Ended(ended)),
        CommandState::Failed(failure) => Some(CommandState::Failed(failure)),
        CommandState::Unknown(cause) => Some(CommandState::Unknown(cause)),
    }
}

fn read_status(state_dir: &Path) -> Option<Outcome> {
    let text = std::fs::read(state_dir.join(STATUS)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The end of a command that was seen to run.
pub(super) fn settled(outcome: Option<Outcome>) -> Result<Ended, Error> {
    match outcome {
        Some(Outcome::Ended(ended)) => Ok(*ended),
        // It was started; anything else is another's status.
        Some(Outcome::NotStarted { .. }) | None => Err(Error::Lost),
    }
}
