//! Input to a command: each piece is given once, and a refusal says why and what to do next.
//!
//! Invariant: a refusal speaks of the command, never of the connection to its shim.

use crate::place::Place;
use crate::state::{NEVER_STARTED, State, sought};
use holon_domain::command::{CommandKey, InputRefusal, UnknownCause};
use holon_domain::intent::TaskInput;
use holon_process::{Error, Task, TaskState, attach};

/// What is said of a command that is over.
const ENDED: &str =
    "the command has ended: TaskStatus tells how, and TaskOutput reads what it printed";
/// What is said of one whose input is over. That it was started without any is found out before it is asked.
const CLOSED: &str = "its input is closed for good; if it needs more, start the command again";

/// What is said of one that is not known to have ended, and whose supervisor did not answer.
const SILENT: &str = "its supervisor did not answer, so it is not known whether the command took it; look with \
                      TaskOutput before you write again";

/// Gives input to a command in this state.
pub(crate) async fn give(
    state: State,
    (key, place): (&CommandKey, &Place),
    input: &TaskInput,
) -> Result<u64, InputRefusal> {
    let refused = |reason: &str| InputRefusal {
        reason: reason.to_owned(),
        taken: 0,
    };
    let task = match state {
        State::Running(task) => task,
        State::Ended(_) => return Err(refused(ENDED)),
        State::Failed(failure) => return Err(refused(&failure.to_string())),
        State::NeverStarted => return Err(refused(NEVER_STARTED)),
        State::Unknown(cause) => return Err(refused(&cause.to_string())),
    };
    match write(&task, input).await {
        Ok(taken) => Ok(taken),
        Err((error, taken)) => {
            let reason = why(error, key, place).await;
            // The end of a command ends its input too.
            if taken > 0 && reason == ENDED {
                return Ok(taken);
            }
            Err(InputRefusal { reason, taken })
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

/// Why input was not taken. A shim whose command has ended exits without answering those who ask it in that moment, so
/// the state of a command whose shim does not answer is looked up.
async fn why(error: Error, key: &CommandKey, place: &Place) -> String {
    match error {
        Error::InputClosed => CLOSED.to_owned(),
        Error::Unreachable { .. } | Error::Lost => {
            let state_dir = place.state_dir();
            match attach(sought(key, &state_dir)).await {
                // It ran a moment ago: only one whose end is on record leaves no trace.
                TaskState::Ended(_) | TaskState::NeverStarted => ENDED.to_owned(),
                TaskState::Running(_) | TaskState::Unknown(UnknownCause::SupervisorSilent) => {
                    SILENT.to_owned()
                }
                TaskState::Failed(failure) => failure.to_string(),
                TaskState::Unknown(
                    UnknownCause::SupervisorDied | UnknownCause::SupervisorKilled,
                ) => Error::Lost.to_string(),
            }
        }
        Error::InputFull { .. }
        | Error::LineTooLong { .. }
        | Error::NoTerminal
        | Error::NoStream
        | Error::OutputMissing { .. }
        | Error::Output { .. } => error.to_string(),
    }
}
