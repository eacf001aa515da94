//! Stopping a task by its directory alone, also where nobody answers there any more.

use super::attach::{Attached, attach, greet};
use super::born::Born;
use super::holder;
use super::probe::{Probe, Sought, probe};
use super::task::Task;
use crate::record::{Ended, Outcome};
use holon_domain::command::CommandFailure;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// How long it may take until a lock is free whose holder was killed.
const DEATH: Duration = Duration::from_secs(10);
/// How long between looks at it.
const PAUSE: Duration = Duration::from_millis(25);

/// What is left of a task that was stopped.
#[derive(Debug)]
pub enum Stopped {
    /// It ended, now or before, and this is how.
    Ended(Box<Ended>),
    /// It could not be started.
    NotStarted(CommandFailure),
    /// No shim ever took it on: it has not run, and from now on it never will.
    NeverRan,
    /// Its shim is dead and left no status. Nothing of it runs that is proven to be its own.
    Lost,
    /// Somebody still holds its lock who cannot be killed. Its directory must stay, so that it can be tried again.
    Unstoppable,
}

/// Stops a task, whoever holds its lock: asks its shim, which is given `grace`, and puts down one that does not answer.
///
/// As for [`attach`], nobody may be starting the task meanwhile.
pub async fn stop(sought: Sought<'_>, grace: Duration) -> Stopped {
    match attach(sought).await {
        Attached::Alive(task) => of_task(&task, sought, grace).await,
        Attached::Ended(ended) => Stopped::Ended(ended),
        Attached::NotStarted(failure) => Stopped::NotStarted(failure),
        Attached::NeverRan => Stopped::NeverRan,
        Attached::Gone | Attached::Silent => put_down(sought, grace).await,
    }
}

/// Ends a task that [`attach`] found [`Silent`](Attached::Silent) or [`Gone`](Attached::Gone): asks once more, then
/// kills whoever holds its lock or is proven to be its shim, and what is left of the command's session.
pub async fn put_down(sought: Sought<'_>, grace: Duration) -> Stopped {
    let born = Born::of(sought.state_dir).await;
    // One whose lock was removed answers all the same.
    if born.as_ref().is_some_and(Born::shim_lives)
        && let Ok(task) = greet(sought).await
    {
        return of_task(&task, sought, grace).await;
    }
    kill(sought.state_dir, born.as_ref()).await;
    left(sought.state_dir).await
}

/// Kills a shim, and what is left of its command's session.
pub(super) async fn kill(state_dir: &Path, born: Option<&Born>) {
    holder::send(state_dir, Signal::KILL).await;
    if let Some(born) = born {
        born.kill_shim().await;
        born.end_orphans().await;
    }
}

async fn of_task(task: &Task, sought: Sought<'_>, grace: Duration) -> Stopped {
    match task.stop(grace).await {
        Ok(ended) => Stopped::Ended(Box::new(ended)),
        Err(_) => left(sought.state_dir).await,
    }
}

/// What the directory says once its lock is free.
async fn left(state_dir: &Path) -> Stopped {
    let until = Instant::now() + DEATH;
    loop {
        match probe(state_dir).await {
            Probe::Over(Outcome::Ended(ended)) => return Stopped::Ended(ended),
            Probe::Over(Outcome::NotStarted { failure }) => return Stopped::NotStarted(failure),
            Probe::Gone | Probe::NeverRan => return Stopped::Lost,
            Probe::Held if Instant::now() < until => tokio::time::sleep(PAUSE).await,
            Probe::Held => return Stopped::Unstoppable,
        }
    }
}
