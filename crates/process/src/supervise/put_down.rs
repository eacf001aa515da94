//! Stopping a task by its directory alone, also where nobody answers there any more.

use super::attach::{Greeting, attach, greet};
use super::born::Born;
use super::holder;
use super::probe::{LockHeld, Sought, probe};
use super::task::Task;
use crate::record::Ended;
use holon_domain::command::{CommandState, UnknownCause};
use rustix::process::Signal;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// How long it may take until a lock is free whose holder was killed.
const DEATH: Duration = Duration::from_secs(10);
/// How long between looks at it.
const PAUSE: Duration = Duration::from_millis(25);

/// The state of a task after a stop; it is never running. [`UnknownCause::SupervisorSilent`] says that a process still
/// holds its lock and cannot be killed: its directory must stay, so that the stop can be tried again. With any other
/// cause nothing of the task runs that is proven to be its own.
pub type StoppedState = CommandState<Infallible, Box<Ended>>;

/// Stops a task, whatever holds its lock: asks its shim, which is given `grace`, and puts down one that does not answer.
///
/// As for [`attach`], nobody may be starting the task meanwhile.
pub async fn stop(sought: Sought<'_>, grace: Duration) -> StoppedState {
    match attach(sought).await {
        CommandState::Running(task) if !task.has_answered() => {
            put_down(sought, UnknownCause::SupervisorSilent, grace).await
        }
        CommandState::Running(task) => {
            of_task(&task, sought.state_dir, UnknownCause::SupervisorDied, grace).await
        }
        CommandState::Ended(ended) => CommandState::Ended(ended),
        CommandState::Failed(failure) => CommandState::Failed(failure),
        CommandState::NeverStarted => CommandState::NeverStarted,
        CommandState::Unknown(cause) => put_down(sought, cause, grace).await,
    }
}

/// Ends a task whose state [`attach`] found unknown, for this `cause`, or whose shim had not answered: asks once more, then kills the process that holds
/// its lock or is proven to be its shim, and what is left of the command's session.
pub async fn put_down(sought: Sought<'_>, cause: UnknownCause, grace: Duration) -> StoppedState {
    let lost = match cause {
        UnknownCause::SupervisorDied => UnknownCause::SupervisorDied,
        UnknownCause::SupervisorSilent | UnknownCause::SupervisorKilled => {
            UnknownCause::SupervisorKilled
        }
    };
    let born = Born::of(sought.state_dir).await;
    // One whose lock was removed answers all the same.
    if born.as_ref().is_some_and(Born::shim_lives)
        && let Greeting::Answered(task) = greet(sought).await
    {
        return of_task(&task, sought.state_dir, lost, grace).await;
    }
    kill(sought.state_dir, born.as_ref()).await;
    left(sought.state_dir, lost).await
}

/// Kills a shim, and what is left of its command's session.
pub(super) async fn kill(state_dir: &Path, born: Option<&Born>) {
    holder::send(state_dir, Signal::KILL).await;
    if let Some(born) = born {
        born.kill_shim().await;
        born.end_orphans().await;
    }
}

/// Stops a task whose shim answers; `lost` is said of one that leaves no record all the same.
async fn of_task(
    task: &Task,
    state_dir: &Path,
    lost: UnknownCause,
    grace: Duration,
) -> StoppedState {
    match task.stop(grace).await {
        Ok(ended) => CommandState::Ended(Box::new(ended)),
        Err(_) => left(state_dir, lost).await,
    }
}

/// What the directory says once its lock is free; `lost` is the cause where it says nothing.
async fn left(state_dir: &Path, lost: UnknownCause) -> StoppedState {
    let until = Instant::now() + DEATH;
    loop {
        match probe(state_dir).await {
            CommandState::Ended(ended) => return CommandState::Ended(ended),
            CommandState::Failed(failure) => return CommandState::Failed(failure),
            CommandState::Unknown(_) | CommandState::NeverStarted => {
                return CommandState::Unknown(lost);
            }
            CommandState::Running(LockHeld) if Instant::now() < until => {
                tokio::time::sleep(PAUSE).await;
            }
            CommandState::Running(LockHeld) => {
                return CommandState::Unknown(UnknownCause::SupervisorSilent);
            }
        }
    }
}
