//! Stops a command by its directory alone, also if its shim does not answer any more.

use super::attach::{Greeting, attach, greet};
use super::birth_record::BirthRecord;
use super::claim_lock;
use super::probe::{CommandLocator, LockHeld, probe};
use super::shimmed_command::ShimmedCommand;
use crate::record::EndRecord;
use holon_domain::command::{CommandState, UnknownCause};
use rustix::process::Signal;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Time to wait until the lock of a killed holder is free.
const DEATH: Duration = Duration::from_secs(10);
/// Interval between checks of the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The state of a command after a stop, never running. [`UnknownCause::SupervisorSilent`] means that a process still
/// holds its lock and cannot be killed: its directory must stay, so that the stop can be retried. With any other
/// cause no process runs that is proven to belong to the command.
pub type StoppedState = CommandState<Infallible, Box<EndRecord>>;

/// Stops a command. Asks its shim, which gets `grace`, and kills a shim that does not answer.
///
/// As for [`attach`], the command must not be started at the same time.
pub async fn stop(locator: CommandLocator<'_>, grace: Duration) -> StoppedState {
    match attach(locator).await {
        CommandState::Running(task) if !task.has_answered() => {
            kill_command(locator, UnknownCause::SupervisorSilent, grace).await
        }
        CommandState::Running(task) => {
            stop_task(
                &task,
                locator.claim_dir,
                UnknownCause::SupervisorDied,
                grace,
            )
            .await
        }
        CommandState::Ended(ended) => CommandState::Ended(ended),
        CommandState::StartFailed(failure) => CommandState::StartFailed(failure),
        CommandState::NeverStarted => CommandState::NeverStarted,
        CommandState::Unknown(cause) => kill_command(locator, cause, grace).await,
    }
}

/// Kills a command whose state [`attach`] found unknown, for this `cause`, or whose shim did not answer. Asks the shim
/// once more, then kills the process that holds the lock or is proven to be the shim, and the rest of the command's
/// session.
pub async fn kill_command(
    locator: CommandLocator<'_>,
    cause: UnknownCause,
    grace: Duration,
) -> StoppedState {
    let lost = match cause {
        UnknownCause::SupervisorDied => UnknownCause::SupervisorDied,
        UnknownCause::SupervisorSilent | UnknownCause::SupervisorKilled => {
            UnknownCause::SupervisorKilled
        }
    };
    let birth_record = BirthRecord::read(locator.claim_dir).await;
    // A shim whose lock file was removed still answers.
    if birth_record.as_ref().is_some_and(BirthRecord::shim_lives)
        && let Greeting::Answered(task) = greet(locator).await
    {
        return stop_task(&task, locator.claim_dir, lost, grace).await;
    }
    kill_shim_and_session(locator.claim_dir, birth_record.as_ref()).await;
    state_after_stop(locator.claim_dir, lost).await
}

/// Kills a shim and what is left of its command's session.
pub(super) async fn kill_shim_and_session(claim_dir: &Path, birth_record: Option<&BirthRecord>) {
    claim_lock::send(claim_dir, Signal::KILL).await;
    if let Some(birth_record) = birth_record {
        birth_record.kill_shim().await;
        birth_record.end_orphans().await;
    }
}

/// Stops a command whose shim answers. `lost` is the cause reported if it leaves no record.
async fn stop_task(
    task: &ShimmedCommand,
    claim_dir: &Path,
    lost: UnknownCause,
    grace: Duration,
) -> StoppedState {
    match task.stop(grace).await {
        Ok(ended) => CommandState::Ended(Box::new(ended)),
        Err(_) => state_after_stop(claim_dir, lost).await,
    }
}

/// Reads the state from the directory once the lock is free. `lost` is the cause reported if there is no record.
async fn state_after_stop(claim_dir: &Path, lost: UnknownCause) -> StoppedState {
    let until = Instant::now() + DEATH;
    loop {
        match probe(claim_dir).await {
            CommandState::Ended(ended) => return CommandState::Ended(ended),
            CommandState::StartFailed(failure) => return CommandState::StartFailed(failure),
            CommandState::Unknown(_) | CommandState::NeverStarted => {
                return CommandState::Unknown(lost);
            }
            CommandState::Running(LockHeld) if Instant::now() < until => {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            CommandState::Running(LockHeld) => {
                return CommandState::Unknown(UnknownCause::SupervisorSilent);
            }
        }
    }
}
