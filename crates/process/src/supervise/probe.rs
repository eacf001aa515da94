//! Reads the state of a command from its directory, without asking its shim.

use super::claim_lock::{self, LockState};
use crate::error::Error;
use crate::record::{EndRecord, Outcome};
use crate::wire::STATUS;
use holon_domain::command::{CommandState, UnknownCause};
use std::io;
use std::path::Path;

/// Identifies a command: its directory, its id, and the nonce of its shim.
#[derive(Debug, Clone, Copy)]
pub struct CommandLocator<'a> {
    /// Claim directory of the command.
    pub claim_dir: &'a Path,
    /// Id of the command. A shim that reports another id is not accepted.
    pub task_id: &'a str,
    /// Nonce that the shim accepts.
    pub nonce: &'a str,
}

/// The directory's part of [`CommandState::Running`]: a process holds the command's lock, and was not asked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LockHeld;

/// The state of a command as its directory shows it.
pub(super) type DirectoryState = CommandState<LockHeld, Box<EndRecord>>;

/// Reads the state of a command from its directory. If no process holds its lock, the command is marked so that a slow shim
/// does not run it.
pub(super) async fn probe(claim_dir: &Path) -> DirectoryState {
    let claim_dir = claim_dir.to_owned();
    let look = move || {
        if let Some(outcome) = read_status(&claim_dir) {
            return outcome.into_state();
        }
        match claim_lock::mark_unless_held(&claim_dir) {
            // The command may have ended between the two reads.
            Ok(LockState::Released) => read_status(&claim_dir).map_or(
                CommandState::Unknown(UnknownCause::SupervisorDied),
                Outcome::into_state,
            ),
            Ok(LockState::NeverHeld) => CommandState::NeverStarted,
            Ok(LockState::Held) => CommandState::Running(LockHeld),
            Err(error) if error.kind() == io::ErrorKind::NotFound => CommandState::NeverStarted,
            // A directory that cannot be read does not prove that the shim is dead.
            Err(_) => CommandState::Running(LockHeld),
        }
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or(CommandState::Running(LockHeld))
}

/// Returns the state; `None` if the lock is held.
pub(super) fn unless_running<R>(state: DirectoryState) -> Option<CommandState<R, Box<EndRecord>>> {
    match state {
        CommandState::Running(LockHeld) => None,
        CommandState::NeverStarted => Some(CommandState::NeverStarted),
        CommandState::Ended(ended) => Some(CommandState::Ended(ended)),
        CommandState::StartFailed(failure) => Some(CommandState::StartFailed(failure)),
        CommandState::Unknown(cause) => Some(CommandState::Unknown(cause)),
    }
}

fn read_status(claim_dir: &Path) -> Option<Outcome> {
    let text = std::fs::read(claim_dir.join(STATUS)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns the end of a command that was seen to run.
pub(super) fn recorded_end(outcome: Option<Outcome>) -> Result<EndRecord, Error> {
    match outcome {
        Some(Outcome::Ended(ended)) => Ok(*ended),
        // The command was started, so another outcome is not its own.
        Some(Outcome::NotStarted { .. }) | None => Err(Error::Lost),
    }
}
