//! Writes input to a command. Each piece is written once, and a refusal names the reason and the next step.
//!
//! Invariant: a refusal describes the command, never the connection to its shim.

use crate::paths::CommandPaths;
use crate::state::{NEVER_STARTED, State, locator};
use holon_domain::command::{CommandKey, InputRefusal, UnknownCause};
use holon_domain::intent::TaskInput;
use holon_process::{Error, ShimmedCommand, ShimmedState, attach};

/// Refusal for a command that has ended.
const ENDED: &str =
    "the command has ended: TaskStatus tells how, and TaskOutput reads what it printed";
/// Refusal for a command whose input is closed. A command started without input is refused earlier.
const CLOSED: &str = "its input is closed for good; if it needs more, start the command again";

/// Refusal for a command that is not known to have ended and whose supervisor did not answer.
const SILENT: &str = "its supervisor did not answer, so it is not known whether the command took it; look with \
                      TaskOutput before you write again";

/// Writes input to a command that is in this state.
pub(crate) async fn write_input(
    state: State,
    key: &CommandKey,
    paths: &CommandPaths,
    input: &TaskInput,
) -> Result<u64, InputRefusal> {
    let refused = |reason: &str| InputRefusal {
        reason: reason.to_owned(),
        taken: 0,
    };
    let task = match state {
        State::Running(task) => task,
        State::Ended(_) => return Err(refused(ENDED)),
        State::StartFailed(failure) => return Err(refused(&failure.to_string())),
        State::NeverStarted => return Err(refused(NEVER_STARTED)),
        State::Unknown(cause) => return Err(refused(&cause.to_string())),
    };
    match send(&task, input).await {
        Ok(taken) => Ok(taken),
        Err((error, taken)) => {
            let reason = refusal_reason(error, key, paths).await;
            // A command that ended has closed its input too.
            if taken > 0 && reason == ENDED {
                return Ok(taken);
            }
            Err(InputRefusal { reason, taken })
        }
    }
}

/// Writes the input and closes it if requested. An error carries the number of bytes accepted before it. Each of the
/// two steps has its own number, so that a retry repeats neither.
async fn send(task: &ShimmedCommand, input: &TaskInput) -> Result<u64, (Error, u64)> {
    // Input numbers of a shim start at 1.
    let number = input.number.saturating_mul(2).saturating_add(2);
    let bytes = input.input.as_bytes();
    if !bytes.is_empty() {
        let taken = match input.by_operator {
            true => task.operator_input(number, bytes).await,
            false => task.input(number, bytes).await,
        };
        taken.map_err(|error| (error, 0))?;
    }
    let taken = bytes.len() as u64;
    if input.close_input {
        let closing = number.saturating_add(1);
        let closed = match input.by_operator {
            true => task.close_operator_input(closing).await,
            false => task.close_input(closing).await,
        };
        match closed {
            // An input that is closed already is not an error.
            Ok(()) | Err(Error::InputClosed) => {}
            Err(error) => return Err((error, taken)),
        }
    }
    Ok(taken)
}

/// Finds the reason input was refused. A shim whose command has ended exits without answering pending requests, so
/// the state of the command is looked up.
async fn refusal_reason(error: Error, key: &CommandKey, paths: &CommandPaths) -> String {
    match error {
        Error::InputClosed => CLOSED.to_owned(),
        Error::Unreachable { .. } | Error::Lost => {
            let claim_dir = paths.claim_dir();
            match attach(locator(key, &claim_dir)).await {
                // It ran a moment ago, so a command without a trace has ended and its end is on record.
                ShimmedState::Ended(_) | ShimmedState::NeverStarted => ENDED.to_owned(),
                ShimmedState::Running(_)
                | ShimmedState::Unknown(UnknownCause::SupervisorSilent) => SILENT.to_owned(),
                ShimmedState::StartFailed(failure) => failure.to_string(),
                ShimmedState::Unknown(
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
