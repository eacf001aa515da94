//! `holon daemon start`: looks, decides, and launches a host unless one runs.

use super::launch::{Launched, launch};
use super::view::Action;
use super::{inspect, take_turn};
use crate::exit::{Exit, Failure};
use crate::host_plan::HostPlan;
use holon_daemon::lifecycle::{
    Found, LifecycleLock, OwnerProcess, StartDecision, StartRefusal, WantedHost, decide_start,
    look, stops,
};
use holon_daemon::{Deadline, FailureFiles, FailurePhase, FailureRecord, home_owner};
use holon_domain::limits::{DAEMON_START_MS, OWNER_LEAVING_MS};
use std::path::Path;
use std::time::Duration;

/// Interval of the looks while another process starts or ends.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Number of looks at an owner that is no host. A host says what it is right after it took the home.
const OWNER_LOOKS: u32 = 10;
/// Next step after a start or stop that failed.
pub(super) const SEE_LOGS: &str = "holon daemon logs shows more";

/// Starts a host, or finds the one that runs. A failure is kept in `run/`.
///
/// The caller's turn, if it has one, is used for the first launch. Without one, the turn is taken for each launch, and
/// only for it: other commands go ahead while this one waits for a host that it did not launch.
pub(super) async fn start(
    plan: &HostPlan,
    mut turn: Option<LifecycleLock>,
) -> Result<Action, Failure> {
    let home = plan.home();
    let stops_before = stops(home);
    let patience = Duration::from_millis(DAEMON_START_MS);
    let deadline = Deadline::after(patience);
    let mut ticks = tokio::time::interval(LOOK_INTERVAL);
    let mut strange_looks = 0;
    loop {
        ticks.tick().await;
        let left = deadline.left();
        let found = inspect(home, left).await;
        let wanted = plan.wanted();
        match decide_start(&found, &wanted) {
            StartDecision::Report => {
                FailureFiles::of(home).clear();
                return Ok(Action::AlreadyRunning);
            }
            StartDecision::Launch => {
                let turn = match turn.take() {
                    Some(turn) => turn,
                    None => take_turn(home).await?,
                };
                if stops(home) != stops_before {
                    return Err(stopped_meanwhile());
                }
                // Another command may have launched a host before this one had its turn.
                let is_free = look(home).await.owner.is_none();
                if is_free && let Some(action) = launch_once(plan, turn).await? {
                    return Ok(action);
                }
            }
            StartDecision::WaitUntilReady if left.is_zero() => {
                return Err(fail(home, silent_owner(home)));
            }
            StartDecision::WaitUntilReady => drop(turn.take()),
            StartDecision::WaitUntilGone => {
                drop(turn.take());
                wait_until_gone(home, &found).await;
            }
            StartDecision::Refuse(StartRefusal::HomeInUse) if strange_looks < OWNER_LOOKS => {
                strange_looks += 1;
            }
            StartDecision::Refuse(refusal) => {
                let failure = refuse(refusal, &found, &wanted, home);
                record(home, &failure);
                return Err(failure);
            }
        }
    }
}

/// Launches a host. Returns `None` if another process took the home first.
async fn launch_once(plan: &HostPlan, turn: LifecycleLock) -> Result<Option<Action>, Failure> {
    let home = plan.home();
    let failure = match launch(plan, turn).await? {
        Launched::Ready => return Ok(Some(Action::Started)),
        Launched::Refused(body) => {
            let failure = Failure {
                exit: Exit::Failed,
                body,
            };
            if failure.is("home_in_use") && home_owner(home).is_some() {
                return Ok(None);
            }
            failure
        }
        Launched::Died(words) => Failure::new(Exit::Failed, "daemon_start_failed", words),
        Launched::Late(pid) => Failure::new(
            Exit::Failed,
            "daemon_not_ready",
            format!(
                "the host (pid {pid}) was started and does not answer after {} seconds; it goes on",
                DAEMON_START_MS / 1_000
            ),
        ),
    };
    Err(fail(home, failure))
}

async fn wait_until_gone(home: &Path, found: &Found) {
    let process = found.owner.map(|owner| OwnerProcess::of(home, owner));
    if let Some(Ok(Some(process))) = process {
        process.wait(Duration::from_millis(OWNER_LEAVING_MS)).await;
    }
}

/// Keeps the failure of a start that this process found, for `status` and `logs`. A wrong command line is no start, and
/// the files of a host that runs are its own.
pub(super) fn record(home: &Path, failure: &Failure) {
    if failure.exit == Exit::Failed && home_owner(home).is_none() {
        keep(home, failure);
    }
}

fn keep(home: &Path, failure: &Failure) {
    let (words, code) = (failure.body.error.clone(), failure.body.code.clone());
    FailureFiles::of(home).record(&FailureRecord::now(FailurePhase::Startup, words, code));
}

/// Keeps a failed start for `status` and `logs`, and names the log.
fn fail(home: &Path, mut failure: Failure) -> Failure {
    keep(home, &failure);
    let hint = failure.body.hint.take();
    failure.hint(hint.map_or_else(|| SEE_LOGS.to_owned(), |hint| format!("{hint}; {SEE_LOGS}")))
}

fn silent_owner(home: &Path) -> Failure {
    let owner = home_owner(home).map_or_else(
        || "the host".to_owned(),
        |owner| format!("the host (pid {})", owner.pid),
    );
    let message = format!("{owner} owns {} and does not answer", home.display());
    Failure::new(Exit::Failed, "daemon_not_ready", message)
        .hint("stop it with: holon daemon stop, and start it again")
}

fn stopped_meanwhile() -> Failure {
    let message = "the host was stopped while this start waited for it; nothing was started";
    Failure::new(Exit::Failed, "stopped_meanwhile", message)
        .hint("start it with: holon daemon start")
}

fn refuse(refusal: StartRefusal, found: &Found, wanted: &WantedHost, home: &Path) -> Failure {
    let pid = found.owner.map_or(0, |owner| owner.pid);
    let restart =
        "stop it and start it anew with: holon daemon restart and the options of this command";
    let (code, message, hint) = match refusal {
        StartRefusal::ConfigDiffers => (
            "config_differs",
            format!(
                "the host (pid {pid}) runs with another configuration{}",
                name_differences(found, wanted)
            ),
            restart.to_owned(),
        ),
        StartRefusal::ConfigUnknown => (
            "config_differs",
            format!("the host (pid {pid}) does not say with which configuration it runs"),
            restart.to_owned(),
        ),
        StartRefusal::SocketTaken => {
            let path = found.socket_path.clone();
            let error = holon_daemon::Error::SocketTaken { path };
            (
                error.code(),
                error.to_string(),
                error.hint().unwrap_or_default(),
            )
        }
        StartRefusal::HomeInUse => (
            "home_in_use",
            format!("process {pid}, which is no host, owns {}", home.display()),
            "wait until it has ended, or use another home".to_owned(),
        ),
    };
    Failure::new(Exit::Failed, code, message).hint(hint)
}

/// Names what differs between the running host and the one that is wanted, behind a colon.
fn name_differences(found: &Found, wanted: &WantedHost) -> String {
    let Some(record) = found.current_record() else {
        return String::new();
    };
    let mut names = record.config_marks.differing(&wanted.config_marks);
    if wanted.token_mark.is_some() && wanted.token_mark != record.token_mark {
        names.push("the token");
    }
    match names.as_slice() {
        [] => String::new(),
        names => format!(": {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_does_not_answer_is_to_be_stopped() {
        let home = tempfile::tempdir().unwrap();
        let failure = silent_owner(home.path());
        assert!(failure.is("daemon_not_ready"));
        assert!(failure.body.hint.unwrap().contains("holon daemon stop"));
    }
}
