//! `holon daemon start`: looks, decides, and launches a host unless one runs.

use super::inspect;
use super::launch::{Launched, launch};
use super::view::Action;
use crate::exit::{Exit, Failure};
use crate::host_plan::HostPlan;
use holon_daemon::lifecycle::{Found, OwnerProcess, StartDecision, StartRefusal, decide_start};
use holon_daemon::{FailureFiles, FailurePhase, FailureRecord, home_owner};
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
pub(super) async fn start(plan: &HostPlan) -> Result<Action, Failure> {
    let patience = Duration::from_millis(DAEMON_START_MS) * 2;
    match tokio::time::timeout(patience, settle(plan)).await {
        Ok(settled) => settled,
        Err(_) => Err(fail(plan.home(), silent_owner(plan.home()))),
    }
}

async fn settle(plan: &HostPlan) -> Result<Action, Failure> {
    let (home, wanted) = (plan.home(), plan.fingerprint());
    let answer_time = Duration::from_millis(DAEMON_START_MS);
    let mut ticks = tokio::time::interval(LOOK_INTERVAL);
    let mut strange_looks = 0;
    loop {
        ticks.tick().await;
        let found = inspect(home, answer_time).await;
        match decide_start(&found, &wanted) {
            StartDecision::Report => {
                FailureFiles::of(home).clear();
                return Ok(Action::AlreadyRunning);
            }
            StartDecision::Launch => {
                if let Some(action) = launch_once(plan).await? {
                    return Ok(action);
                }
            }
            StartDecision::WaitUntilReady => {}
            StartDecision::WaitUntilGone => wait_until_gone(home, &found).await,
            StartDecision::Refuse(StartRefusal::HomeInUse) if strange_looks < OWNER_LOOKS => {
                strange_looks += 1;
            }
            StartDecision::Refuse(refusal) => return Err(refuse(refusal, &found, home)),
        }
    }
}

/// Launches a host. Returns `None` if another process took the home first.
async fn launch_once(plan: &HostPlan) -> Result<Option<Action>, Failure> {
    let home = plan.home();
    let failure = match launch(plan).await? {
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

/// Keeps a failed start for `status` and `logs`, and names the log.
fn fail(home: &Path, mut failure: Failure) -> Failure {
    let (words, code) = (failure.body.error.clone(), failure.body.code.clone());
    FailureFiles::of(home).record(&FailureRecord::now(FailurePhase::Startup, words, code));
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
}

fn refuse(refusal: StartRefusal, found: &Found, home: &Path) -> Failure {
    let pid = found.owner.map_or(0, |owner| owner.pid);
    let restart =
        "stop it and start it with these options: holon daemon restart, with the same options";
    let (code, message, hint) = match refusal {
        StartRefusal::ConfigDiffers => (
            "config_differs",
            format!("the host (pid {pid}) runs with another configuration"),
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
