//! Runs the command of a service manager and reads its answer.

use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// Time for an answer; a start of the service waits for the host.
const PATIENCE: Duration = Duration::from_secs(90);

/// The answer of a service manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// It did what was asked. Holds its standard output.
    Done(String),
    /// It is not there, did not answer, or refused. Holds the reason.
    Refused(String),
}

/// Runs a command of a service manager.
pub(super) async fn ask(program: &str, args: &[&str]) -> Asked {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).kill_on_drop(true);
    let ran = match tokio::time::timeout(PATIENCE, command.output()).await {
        Err(_) => return Asked::Refused(format!("{program} did not answer")),
        Ok(Err(error)) => return Asked::Refused(format!("{program}: {error}")),
        Ok(Ok(ran)) => ran,
    };
    if ran.status.success() {
        return Asked::Done(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    // What it did before it failed stands first.
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Asked::Refused(format!("{program}: {}", last.unwrap_or("it failed")))
}
