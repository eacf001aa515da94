//! Finding a task again after the host was away.

use super::born::Born;
use super::client;
use super::holder;
use super::line::wait_line;
use super::probe::{LockHeld, Sought, probe};
use super::task::Task;
use crate::error::Error;
use crate::record::Ended;
use crate::wire::{Answer, Ask};
use holon_domain::command::{CommandState, UnknownCause};
use rustix::process::Signal;
use std::time::Duration;

/// How often a lock that is held and a socket that is silent are looked at again: the shim may be just starting, or
/// writing its status.
const LOOKS: u32 = 40;
/// And how long between.
const PAUSE: Duration = Duration::from_millis(25);
/// How long all looks together may take: one that keeps somebody waiting each time would take minutes.
const LONGEST: Duration = Duration::from_secs(20);

/// The state of a task that was looked for. Where no shim can be asked, [`kept_output`](crate::kept_output) finds what
/// it wrote.
pub type TaskState = CommandState<Box<Task>, Box<Ended>>;

/// Finds out what became of the task of a directory. A task whose shim has not claimed it by now will not start any
/// more, so this must not be called while [`start`](crate::start) of the same task is under way.
///
/// A directory that is not there says [`CommandState::NeverStarted`], since no shim takes on a task without one. That holds
/// only for the right path, and only if the directory cannot have been lost: whoever makes it must have it on disk
/// before the task is started, must not remove it while the answer matters, and must not make it again. A directory
/// that is there but is older than the running system, and so may have lost its mark to a failure of power, or that
/// holds other traces of a shim, says [`UnknownCause::SupervisorDied`] in place of [`CommandState::NeverStarted`].
///
/// Where the shim is dead, what it left behind of the command's session is ended, as far as it is proven to be that:
/// processes that began a session of their own are nobody's any more and cannot be told from strangers.
pub async fn attach(sought: Sought<'_>) -> TaskState {
    let looked = holder::woken(sought.state_dir, look_for(sought));
    let found = tokio::time::timeout(LONGEST, looked).await;
    let found = found.unwrap_or(CommandState::Unknown(UnknownCause::SupervisorSilent));
    if matches!(found, CommandState::Unknown(UnknownCause::SupervisorDied))
        && let Some(born) = Born::of(sought.state_dir).await
    {
        born.end_orphans().await;
    }
    found
}

async fn look_for(sought: Sought<'_>) -> TaskState {
    let state_dir = sought.state_dir;
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        match probe(state_dir).await {
            CommandState::Ended(ended) => return CommandState::Ended(ended),
            CommandState::Failed(failure) => return CommandState::Failed(failure),
            CommandState::NeverStarted => return CommandState::NeverStarted,
            CommandState::Unknown(cause) => return CommandState::Unknown(cause),
            // Its own command may have suspended it; to a shim that runs this means nothing.
            CommandState::Running(LockHeld) if look == 0 => {
                holder::send(state_dir, Signal::CONT).await;
            }
            CommandState::Running(LockHeld) => {}
        }
        if let Ok(task) = greet(sought).await {
            return CommandState::Running(Box::new(task));
        }
    }
    CommandState::Unknown(UnknownCause::SupervisorSilent)
}

/// Asks a shim who it is, and holds its task if it is the one.
///
/// # Errors
/// When nobody answers, or another does.
pub(super) async fn greet(sought: Sought<'_>) -> Result<Task, Error> {
    let Sought {
        state_dir, nonce, ..
    } = sought;
    let identity = match client::ask(state_dir, nonce, Ask::Hello, &[]).await? {
        (Answer::Hello(identity), _) if identity.task_id == sought.task_id => identity,
        (answer, _) => {
            return Err(Error::Unreachable {
                reason: format!("another answered in its place: {answer:?}"),
            });
        }
    };
    let line = wait_line(state_dir, nonce).await;
    let line = line.map_err(|error| Error::unreachable(&error))?;
    Ok(Task::found(sought, identity, line))
}
