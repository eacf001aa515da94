//! Finding a task again after the host was away.

use super::client;
use super::holder::{self, Held};
use super::task::{Line, Task};
use crate::record::{Ended, Outcome};
use crate::wire::{Answer, Ask, STATUS};
use holon_domain::command::CommandFailure;
use rustix::process::Signal;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;

/// How often a lock that is held and a socket that is silent are looked at again: the shim may be just starting, or
/// writing its status.
const LOOKS: u32 = 40;
/// And how long between.
const PAUSE: Duration = Duration::from_millis(25);

/// What became of a task. Where no shim can be asked, [`kept_output`](crate::kept_output) finds what it wrote.
#[derive(Debug)]
pub enum Attached {
    /// Its shim is alive, which is proven.
    Alive(Box<Task>),
    /// It ended, and this is how.
    Ended(Box<Ended>),
    /// It could not be started.
    NotStarted(CommandFailure),
    /// No shim ever took it on: it has not run, and from now on it never will.
    NeverRan,
    /// A shim took it on and is dead, and nobody wrote down how it ended, nor whether it had begun at all.
    Gone,
    /// Somebody holds its lock but does not answer to the nonce. Not proven alive; it may still run.
    Silent,
}

/// Finds out what became of the task of a directory. A task whose shim has not claimed it by now will not start any
/// more, so this must not be called while [`start`](crate::start) of the same task is under way.
///
/// A directory that is not there says [`Attached::NeverRan`], since no shim takes on a task without one. That holds
/// only for the right path, and only if the directory cannot have been lost: whoever makes it must have it on disk
/// before the task is started, must not remove it while the answer matters, and must not make it again. A directory
/// that is there but is older than the running system, and so may have lost its mark to a failure of power, or that
/// holds other traces of a shim, says [`Attached::Gone`] in place of [`Attached::NeverRan`].
pub async fn attach(state_dir: &Path, nonce: &str) -> Attached {
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        match probe(state_dir).await {
            Probe::Over(Outcome::Ended(ended)) => return Attached::Ended(ended),
            Probe::Over(Outcome::NotStarted { failure }) => return Attached::NotStarted(failure),
            Probe::NeverRan => return Attached::NeverRan,
            Probe::Gone => return Attached::Gone,
            // Its own command may have suspended it; to a shim that runs this means nothing.
            Probe::Held if look == 0 => holder::send(state_dir, Signal::CONT).await,
            Probe::Held => {}
        }
        if let Ok((Answer::Hello(identity), _)) =
            client::ask(state_dir, nonce, Ask::Hello, &[]).await
            && let Ok(line) = wait_line(state_dir, nonce).await
        {
            let task = Task::found(state_dir, nonce, identity, line);
            return Attached::Alive(Box::new(task));
        }
    }
    Attached::Silent
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

/// A connection on which the end will be told.
pub(super) async fn wait_line(state_dir: &Path, nonce: &str) -> io::Result<Line> {
    let stream: UnixStream = client::send(state_dir, nonce, Ask::Wait, &[]).await?;
    Ok(Line::new(Box::new(stream)))
}
