//! Finding a task again after the host was away.

use super::born::Born;
use super::client;
use super::holder::{self, Claim};
use super::line::wait_line;
use super::probe::{Sought, known, probe};
use super::task::Task;
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
/// How long all looks together may take: a shim that accepts a connection and never answers would take minutes.
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
///
/// A shim that holds its lock and does not answer is alive, too: its disk may take nothing at the moment. Its task is
/// [`CommandState::Running`], and [`Task::has_answered`] tells the difference.
pub async fn attach(sought: Sought<'_>) -> TaskState {
    attach_within(sought, LONGEST).await
}

/// As [`attach`], with a bound on how long the shim is waited for.
pub async fn attach_within(sought: Sought<'_>, patience: Duration) -> TaskState {
    // Boxed, because it is part of almost every future about a task.
    let looked = Box::pin(holder::woken(sought.state_dir, look_for(sought)));
    let found = match tokio::time::timeout(patience, looked).await {
        Ok(Some(found)) => found,
        Ok(None) | Err(_) => unanswered(sought).await,
    };
    if matches!(found, CommandState::Unknown(UnknownCause::SupervisorDied))
        && let Some(born) = Born::of(sought.state_dir).await
    {
        born.end_orphans().await;
    }
    found
}

/// Looks until the state is known; none when the lock is held and the shim has not answered.
async fn look_for(sought: Sought<'_>) -> Option<TaskState> {
    let state_dir = sought.state_dir;
    let mut greeting = Greeting::Silence;
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        match known(probe(state_dir).await) {
            Some(state) => return Some(state),
            // Its own command may have suspended it; to a shim that runs this means nothing.
            None if look == 0 => holder::send(state_dir, Signal::CONT).await,
            None => {}
        }
        greeting = greet(sought).await;
        if let Greeting::Answered(task) = greeting {
            return Some(CommandState::Running(task));
        }
    }
    match greeting {
        Greeting::Stranger => Some(CommandState::Unknown(UnknownCause::SupervisorSilent)),
        Greeting::Answered(_) | Greeting::Silence => None,
    }
}

/// The state of a task whose shim did not answer: while the lock is held, by a shim that has claimed no other task, it
/// runs.
async fn unanswered(sought: Sought<'_>) -> TaskState {
    if let Some(state) = known(probe(sought.state_dir).await) {
        return state;
    }
    let state_dir = sought.state_dir.to_owned();
    let claim = tokio::task::spawn_blocking(move || holder::claim(&state_dir)).await;
    let is_ours = |claim: &Claim| {
        let claimed = claim.task_id.as_deref();
        claimed.is_none_or(|task_id| task_id == sought.task_id)
    };
    match claim {
        Ok(Ok(claim)) if is_ours(&claim) => {
            let born = Born::of(sought.state_dir).await;
            CommandState::Running(Box::new(Task::unanswered(sought, claim.at, born)))
        }
        Ok(Ok(_) | Err(_)) | Err(_) => CommandState::Unknown(UnknownCause::SupervisorSilent),
    }
}

/// What came of asking a shim who it is.
#[derive(Debug)]
pub(super) enum Greeting {
    /// The shim of the task answered.
    Answered(Box<Task>),
    /// Another shim answered, or refused the nonce.
    Stranger,
    /// No answer came.
    Silence,
}

/// Asks a shim who it is, and holds its task if it is the one.
pub(super) async fn greet(sought: Sought<'_>) -> Greeting {
    let Sought {
        state_dir, nonce, ..
    } = sought;
    let identity = match client::exchange(state_dir, nonce, Ask::Hello, &[]).await {
        Ok((Answer::Hello(identity), _)) if identity.task_id == sought.task_id => identity,
        Ok(_) => return Greeting::Stranger,
        Err(_) => return Greeting::Silence,
    };
    match wait_line(state_dir, nonce).await {
        Ok(line) => Greeting::Answered(Box::new(Task::found(sought, identity, line))),
        Err(_) => Greeting::Silence,
    }
}
