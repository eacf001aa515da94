//! Input to a command: each piece given once, and of what was not taken why, with the next step.
//!
//! Invariant: who wrote is told what became of the command, never what became of a connection.

use super::place::Place;
use super::standing::{NEVER, Standing, sought};
use holon_domain::intent::TaskInput;
use holon_engine::ports::{CommandKey, InputRefused};
use holon_process::{Attached, Error, Task, attach};

/// What is said of a command that is over.
const ENDED: &str =
    "the command has ended: TaskStatus tells how, and TaskOutput reads what it printed";
/// What is said of one whose input is over. That it was started without any is found out before it is asked.
const CLOSED: &str = "its input is closed for good; if it needs more, start the command again";

/// What is said of one that is not known to have ended, and whose supervisor did not answer.
const SILENT: &str = "its supervisor did not answer, so it is not known whether the command took it; look with \
                      TaskOutput before you write again";

/// Gives input to a command that stands like this.
pub(super) async fn give(
    standing: Standing,
    key: &CommandKey,
    input: &TaskInput,
) -> Result<u64, InputRefused> {
    let refused = |reason: &str| InputRefused {
        reason: reason.to_owned(),
        taken: 0,
    };
    let task = match standing {
        Standing::Alive(task) => task,
        Standing::Ended(_) => return Err(refused(ENDED)),
        Standing::NotStarted(failure) => return Err(refused(&failure.to_string())),
        Standing::NeverRan => return Err(refused(NEVER)),
        Standing::Lost(reason) => return Err(refused(reason)),
    };
    match write(&task, input).await {
        Ok(taken) => Ok(taken),
        Err((error, taken)) => {
            let reason = why(error, key).await;
            // The end of a command ends its input too.
            if taken > 0 && reason == ENDED {
                return Ok(taken);
            }
            Err(InputRefused { reason, taken })
        }
    }
}

/// Writes input and closes it, as far as asked for; an error comes with what was taken before it. Each step has a
/// number of its own, so that neither is done twice.
async fn write(task: &Task, input: &TaskInput) -> Result<u64, (Error, u64)> {
    // A shim's numbers begin above 0.
    let number = input.number.saturating_mul(2).saturating_add(2);
    let bytes = input.input.as_bytes();
    if !bytes.is_empty() {
        let taken = task.input(number, bytes).await;
        taken.map_err(|error| (error, 0))?;
    }
    let taken = bytes.len() as u64;
    if input.close_input {
        match task.close_input(number.saturating_add(1)).await {
            // What is closed already is as it should be.
            Ok(()) | Err(Error::InputClosed) => {}
            Err(error) => return Err((error, taken)),
        }
    }
    Ok(taken)
}

/// Why input was not taken. A shim whose command has ended goes without a word to who asks it in that moment, so of one
/// that does not answer it is looked up how its command stands.
async fn why(error: Error, key: &CommandKey) -> String {
    match error {
        Error::InputClosed => CLOSED.to_owned(),
        Error::Unreachable { .. } | Error::Lost => {
            let state_dir = Place::of(key).state_dir();
            match attach(sought(key, &state_dir)).await {
                // It ran a moment ago: only one whose end is on record leaves no trace.
                Attached::Ended(_) | Attached::NeverRan => ENDED.to_owned(),
                Attached::Alive(_) | Attached::Silent => SILENT.to_owned(),
                Attached::NotStarted(failure) => failure.to_string(),
                Attached::Gone => Error::Lost.to_string(),
            }
        }
        Error::InputFull { .. } | Error::NoTerminal | Error::NoStream | Error::Output { .. } => {
            error.to_string()
        }
    }
}
