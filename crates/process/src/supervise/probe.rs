//! What the directory of a task says of it, whoever holds it or held it.

use super::holder::{self, Held};
use crate::error::Error;
use crate::record::{Ended, Outcome};
use crate::wire::STATUS;
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

/// What the task's directory says.
#[derive(Debug)]
pub(super) enum Probe {
    Over(Outcome),
    NeverRan,
    Gone,
    Held,
}

pub(super) async fn probe(state_dir: &Path) -> Probe {
    let state_dir = state_dir.to_owned();
    let look = move || {
        if let Some(outcome) = read_status(&state_dir) {
            return Probe::Over(outcome);
        }
        match holder::give_up_unless_held(&state_dir) {
            // It may have ended between the two looks.
            Ok(Held::NotAnyMore) => read_status(&state_dir).map_or(Probe::Gone, Probe::Over),
            Ok(Held::Never) => Probe::NeverRan,
            Ok(Held::Yes) => Probe::Held,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Probe::NeverRan,
            // What cannot be looked at is not proven to be gone.
            Err(_) => Probe::Held,
        }
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or(Probe::Held)
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
