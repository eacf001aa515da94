//! `holon daemon stop`: asks the host over its socket, then signals its process, each within a time limit.

use super::start::SEE_LOGS;
use super::view::Action;
use crate::exit::{Exit, Failure};
use crate::host;
use holon_daemon::lifecycle::{OwnerProcess, StopDecision, clean_stale, decide_stop, look};
use holon_daemon::{FailureFiles, FailurePhase, FailureRecord, HomeOwner, home_owner};
use holon_domain::limits::{DAEMON_STOP_ASKED_MS, DAEMON_STOP_KILL_MS, DAEMON_STOP_TERM_MS};
use std::path::Path;
use std::time::Duration;

/// Time for the answer to the request; a host answers before it drains.
const ASK: Duration = Duration::from_secs(3);
/// Interval of the looks at an owner whose process cannot be watched.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Stops the host of a home, if there is one.
pub(super) async fn stop(home: &Path) -> Result<Action, Failure> {
    let found = look(home).await;
    let action = match decide_stop(&found) {
        StopDecision::NothingRuns => Action::NotRunning,
        StopDecision::CleanUp => {
            clean_stale(home, &found)?;
            Action::Cleaned
        }
        StopDecision::RefuseNoHost => return Err(no_host(home, found.owner)),
        StopDecision::Ask => {
            let is_asked = ask(home).await?;
            end(home, found.owner, is_asked).await?
        }
        StopDecision::WaitUntilGone => end(home, found.owner, true).await?,
    };
    let left = look(home).await;
    if left.has_stale_files() {
        clean_stale(home, &left)?;
    }
    FailureFiles::of(home).clear();
    Ok(action)
}

/// Asks the host to shut down. Returns false if it does not answer. A host that refuses a command of one of its agents is
/// left alone: a signal would be the same stop by another way.
async fn ask(home: &Path) -> Result<bool, Failure> {
    match tokio::time::timeout(ASK, host::client(home).shutdown()).await {
        Ok(Ok(_)) => Ok(true),
        Ok(Err(error)) if error.code() == Some("agent_command") => Err(error.into()),
        Ok(Err(_)) | Err(_) => Ok(false),
    }
}

/// Waits for the end of the owner, and enforces it.
async fn end(home: &Path, owner: Option<HomeOwner>, was_asked: bool) -> Result<Action, Failure> {
    let Some(owner) = owner else {
        return Ok(Action::Stopped);
    };
    let asked_time = Duration::from_millis(DAEMON_STOP_ASKED_MS);
    let process = match OwnerProcess::of(home, owner) {
        Ok(Some(process)) => process,
        Ok(None) => return Ok(Action::Stopped),
        Err(unproven) => {
            if was_asked
                && tokio::time::timeout(asked_time, no_owner(home))
                    .await
                    .is_ok()
            {
                return Ok(Action::Stopped);
            }
            return Err(fail(home, unproven.into()));
        }
    };
    if was_asked && process.wait(asked_time).await {
        return Ok(Action::Stopped);
    }
    process.terminate()?;
    if process
        .wait(Duration::from_millis(DAEMON_STOP_TERM_MS))
        .await
    {
        return Ok(Action::Terminated);
    }
    process.kill()?;
    if process
        .wait(Duration::from_millis(DAEMON_STOP_KILL_MS))
        .await
    {
        return Ok(Action::Killed);
    }
    let message = format!(
        "the host (pid {}) does not end, also not after SIGKILL",
        owner.pid
    );
    Err(fail(
        home,
        Failure::new(Exit::Failed, "daemon_stop_failed", message),
    ))
}

/// Waits until no process owns the home.
async fn no_owner(home: &Path) {
    let mut ticks = tokio::time::interval(LOOK_INTERVAL);
    while home_owner(home).is_some() {
        ticks.tick().await;
    }
}

/// Keeps a failed stop for `status` and `logs`.
fn fail(home: &Path, failure: Failure) -> Failure {
    let (words, code) = (failure.body.error.clone(), failure.body.code.clone());
    FailureFiles::of(home).record(&FailureRecord::now(FailurePhase::Shutdown, words, code));
    let hint = failure.body.hint.clone();
    failure.hint(hint.map_or_else(|| SEE_LOGS.to_owned(), |hint| format!("{hint}; {SEE_LOGS}")))
}

fn no_host(home: &Path, owner: Option<HomeOwner>) -> Failure {
    let message = format!(
        "process {} owns {} and is no host; it was left alone",
        owner.map_or(0, |owner| owner.pid),
        home.display()
    );
    Failure::new(Exit::Failed, "home_in_use", message)
        .hint("a holon run ends by itself; a host that is starting can be stopped in a moment")
}
