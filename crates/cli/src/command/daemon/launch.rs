//! Starts the process of a host in the background and waits for its report.

use crate::exit::{Exit, Failure};
use crate::host_plan::HostPlan;
use holon_api::ErrorBody;
use holon_config::{Source, TokenOption};
use holon_daemon::home_owner;
use holon_daemon::lifecycle::LifecycleLock;
use holon_domain::limits::DAEMON_START_MS;
use holon_domain::model::ModelRef;
use serde_json::Value;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

/// Interval of the looks at the owner of the home.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The outcome of a launch.
#[derive(Debug)]
pub(super) enum Launched {
    Ready,
    /// The process has reported why it could not start.
    Refused(Box<ErrorBody>),
    /// The process has ended without a report.
    Died(String),
    /// The process runs, and has not reported in time.
    Late(u32),
}

/// Starts a host. It runs in a session of its own, with its log as standard error; the report comes through a pipe.
///
/// The turn ends when the host owns the home: from then on other commands see it there, and a stop can end it.
pub(super) async fn launch(plan: &HostPlan, turn: LifecycleLock) -> Result<Launched, Failure> {
    let mut child = spawn(plan).map_err(|error| spawn_failure(&error))?;
    give_token(&mut child, plan).await;
    let patience = Duration::from_millis(DAEMON_START_MS);
    let pid = child.id().unwrap_or_default();
    let reported = {
        let mut reporting = pin!(tokio::time::timeout(patience, read_report(&mut child)));
        tokio::select! {
            reported = reporting.as_mut() => reported,
            () = wait_for_owner(plan.home(), pid) => {
                drop(turn);
                reporting.await
            }
        }
    };
    match reported {
        Ok(Some(report)) => Ok(report),
        Ok(None) => Ok(Launched::Died(end_of(&mut child).await)),
        Err(_) => Ok(Launched::Late(pid)),
    }
}

/// Returns when this process owns the home and says that it is a host.
async fn wait_for_owner(home: &Path, pid: u32) {
    let mut ticks = tokio::time::interval(LOOK_INTERVAL);
    loop {
        ticks.tick().await;
        if home_owner(home).is_some_and(|owner| owner.pid == pid && owner.is_host) {
            return;
        }
    }
}

fn spawn(plan: &HostPlan) -> std::io::Result<Child> {
    let log = holon_daemon::open_log(&holon_daemon::log_path(plan.home()))
        .map_err(std::io::Error::other)?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["serve", "--background", "--home"])
        .arg(plan.home())
        .args(plan.options.to_args())
        .current_dir(plan.home())
        // The manager of a service that starts a host in the background does not manage that host.
        .env_remove("NOTIFY_SOCKET")
        .env_remove("WATCHDOG_USEC")
        .env_remove("WATCHDOG_PID")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    if plan.options.token == TokenOption::Given {
        command.args(["--token-file", "-"]).stdin(Stdio::piped());
    }
    // A script of the environment is named relative to the directory of the starter.
    if let Some(model) = &plan.settings.model
        && model.source == Source::Environment
    {
        command.env("HOLON_MODEL", model.value.to_string());
    }
    let fallbacks = &plan.settings.fallbacks;
    if fallbacks.source == Source::Environment {
        let names: Vec<String> = fallbacks.value.iter().map(ModelRef::to_string).collect();
        command.env("HOLON_MODEL_FALLBACKS", names.join(","));
    }
    command.spawn()
}

/// Hands over a token that was given. A process that has ended already does not read it.
async fn give_token(child: &mut Child, plan: &HostPlan) {
    if let (Some(mut stdin), Some(token)) = (child.stdin.take(), &plan.token) {
        drop(stdin.write_all(token.expose().as_bytes()).await);
    }
}

/// Reads the report; `None` if the process closed the pipe without one.
async fn read_report(child: &mut Child) -> Option<Launched> {
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take()?);
    stdout.read_line(&mut line).await.ok()?;
    let report: Value = serde_json::from_str(&line).ok()?;
    if report.get("ok") == Some(&Value::Bool(true)) {
        return Some(Launched::Ready);
    }
    serde_json::from_value(report)
        .ok()
        .map(|body| Launched::Refused(Box::new(body)))
}

async fn end_of(child: &mut Child) -> String {
    match child.wait().await {
        Ok(status) => format!("the host ended with {status} before it was ready"),
        Err(error) => format!("the host ended before it was ready: {error}"),
    }
}

fn spawn_failure(error: &std::io::Error) -> Failure {
    let message = format!("the host could not be started: {error}");
    Failure::new(Exit::Failed, "daemon_start_failed", message)
}
